package safety

import (
	"bytes"
	"encoding/base64"
)

// matchConnection takes the password of scheme://user:password@host.
func matchConnection(in *input, at, end int) (int, int, verdict) {
	if !alnum[in.before(at)] {
		return 0, 0, no
	}
	stop, v := in.run(end, &authority, maxValue)
	if v == more {
		return 0, 0, more
	}
	auth := in.b[end:stop]
	host := bytes.LastIndexByte(auth, '@')
	colon := bytes.IndexByte(auth, ':')
	if colon < 0 || host <= colon+1 {
		return 0, 0, no
	}
	start, stop := end+colon+1, end+host
	pass := in.b[start:stop]
	if placeholder(pass) || passwordWord(pass) || notSecret(pass) && pass[0] != '!' && pass[0] != '#' {
		return 0, 0, no
	}
	if m, dv := decide(in, start, true); dv != no && (dv == more || m.end >= stop) {
		return leave(dv)
	}
	return start, stop, yes
}

// leave is the verdict of a rule that leaves a value to another: no, unless
// the other needs more.
func leave(v verdict) (int, int, verdict) {
	if v == more {
		return 0, 0, more
	}
	return 0, 0, no
}

var authority = authorityClass()

func authorityClass() class {
	c := classOf("!~")
	for _, b := range []byte("/\"'`<>\\,()|") {
		c[b] = false
	}
	return c
}

// passwordWord reports a password that only says where one goes.
func passwordWord(pass []byte) bool {
	var buf [16]byte
	if len(pass) > len(buf) {
		return false
	}
	switch string(squeeze(buf[:0], pass)) {
	case "password", "pass", "passwd", "pwd", "secret", "token", "pw", "mypassword", "dbpassword", "userpassword", "apikey":
		return true
	}
	return distinct(pass) == 1
}

// worthConnection looks for the "@" of a URL with a password.
func worthConnection(raw []byte, _, end int) bool {
	for _, c := range raw[end:min(len(raw), end+maxValue)] {
		switch {
		case c == '@' || c == '\\':
			return true
		case c <= ' ' || c == '/' || c == '"' || c == '<':
			return false
		}
	}
	return false
}

// matchBearer takes the token of a bearer authorization.
func matchBearer(in *input, at, end int) (int, int, verdict) {
	if word[in.before(at)] {
		return 0, 0, no
	}
	start, v := in.run(end, &blanks, maxBlank)
	if v == more {
		return 0, 0, more
	}
	stop, v := in.run(start, &bearerSet, 4097)
	if v == more {
		return 0, 0, more
	}
	token := bytes.TrimRight(in.b[start:stop], ".")
	if len(token) < 16 || len(token) > 4096 || placeholder(token) || codeName(token) || !mixedRun(token, 6) || distinct(token) < 7 {
		return 0, 0, no
	}
	if m, dv := decide(in, start, true); dv != no && (dv == more || m.end >= start+len(token)) {
		return leave(dv)
	}
	return start, start + len(token), yes
}

// matchBasic takes the credentials of a basic authorization: base64 of
// printable text with a colon in it.
func matchBasic(in *input, at, end int) (int, int, verdict) {
	if word[in.before(at)] {
		return 0, 0, no
	}
	start, v := in.run(end, &blanks, maxBlank)
	if v == more {
		return 0, 0, more
	}
	stop, v := in.run(start, &base64Set, 1025)
	if v == more {
		return 0, 0, more
	}
	code := bytes.TrimRight(in.b[start:stop], "=")
	if len(code) < 8 || len(code) > 1024 {
		return 0, 0, no
	}
	plain, err := base64.RawStdEncoding.AppendDecode(nil, code)
	if err != nil || bytes.IndexByte(plain, ':') < 0 {
		return 0, 0, no
	}
	for _, c := range plain {
		if c < ' ' || c >= 0x7F {
			return 0, 0, no
		}
	}
	return start, stop, yes
}

// matchUserOption takes the password of curl's "-u name:password". The option
// means other things elsewhere (-u 1000:1000), so the password must look like one.
func matchUserOption(in *input, at, end int) (int, int, verdict) {
	if c := in.before(at); c != ' ' && c != '\n' && c != 0 {
		return 0, 0, no
	}
	stop, v := in.run(end, &bareValue, maxValue)
	quoted := stop == end && stop < len(in.b) && (in.b[stop] == '\'' || in.b[stop] == '"')
	if quoted {
		stop, v = in.run(end+1, &bareValue, maxValue)
	}
	if v == more {
		return 0, 0, more
	}
	colon := bytes.IndexByte(in.b[end:stop], ':')
	if colon < 1 || stop-end-colon < 2 {
		return 0, 0, no
	}
	start := end + colon + 1
	pass := in.b[start:stop]
	if !hasDigit(pass) || bytes.IndexByte(pass, '/') >= 0 || !secretValue(pass, true, quoted) || !mixedRun(pass, 2) {
		return 0, 0, no
	}
	if m, dv := decide(in, start, true); dv != no && (dv == more || m.end >= stop) {
		return leave(dv)
	}
	return start, stop, yes
}

// matchJWT takes a signed or encrypted token: base64url parts whose header and,
// when signed, claims begin as JSON objects do.
func matchJWT(in *input, at, _ int) (int, int, verdict) {
	if c := in.before(at); wordDash[c] || c == '.' { // a slash stands before it in links
		return 0, 0, no
	}
	stop, v := in.run(at, &tokenDot, 16<<10)
	if v == more {
		return 0, 0, more
	}
	parts := bytes.SplitN(in.b[at:stop], []byte{'.'}, 6)
	if len(parts) < 2 || len(parts[0]) < 10 {
		return 0, 0, no
	}
	// Claims of a JWS are an object too; a JWE has five parts and none.
	if bytes.HasPrefix(parts[1], []byte("eyJ")) && len(parts[1]) >= 10 {
		parts = parts[:min(3, len(parts))]
	} else if len(parts) < 5 || len(parts[3]) < 10 {
		return 0, 0, no
	}
	token := bytes.TrimRight(bytes.Join(parts[:min(5, len(parts))], []byte{'.'}), ".")
	if placeholder(token) {
		return 0, 0, no
	}
	// The specimen of jwt.io: subject 1234567890, John Doe.
	if bytes.HasPrefix(parts[1], []byte("eyJzdWIiOiIxMjM0NTY3ODkwIiwi")) {
		return 0, 0, no
	}
	return at, at + len(token), yes
}

// matchTelegram takes the secret half of 123456789:AA….
func matchTelegram(in *input, at, end int) (int, int, verdict) {
	digits := 0
	for at-digits > in.floor && digits < 12 && '0' <= in.b[at-digits-1] && in.b[at-digits-1] <= '9' {
		digits++
	}
	if digits < 8 || digits > 10 {
		return 0, 0, no
	}
	stop, v := in.run(end, &wordDash, 34)
	if v == more {
		return 0, 0, more
	}
	if stop-end != 33 || placeholder(in.b[end:stop]) || distinct(in.b[end:stop]) < 7 {
		return 0, 0, no
	}
	return at + 1, stop, yes
}

// matchSendGrid takes SG.<id>.<secret>.
func matchSendGrid(in *input, at, end int) (int, int, verdict) {
	if wordDash[in.before(at)] {
		return 0, 0, no
	}
	dot, v := in.run(end, &wordDash, 65)
	if v == more {
		return 0, 0, more
	}
	if dot == len(in.b) || in.b[dot] != '.' || dot-end < 16 {
		return 0, 0, no
	}
	stop, v := in.run(dot+1, &wordDash, 129)
	if v == more {
		return 0, 0, more
	}
	payload := in.b[end:stop]
	if n := stop - dot - 1; n < 32 || n > 128 || placeholder(payload) || distinct(payload) < 7 {
		return 0, 0, no
	}
	return at, stop, yes
}

// matchHook takes the path of a webhook: who has it may post.
func matchHook(in *input, _, end int) (int, int, verdict) {
	stop, v := in.run(end, &urlPath, maxValue)
	if v == more {
		return 0, 0, more
	}
	path := in.b[end:stop]
	if len(path) < 24 || bytes.IndexByte(path, '/') < 0 || placeholder(path) || !mixedRun(path, 8) {
		return 0, 0, no
	}
	return end, stop, yes
}

var urlPath = classOf("09AZaz__--//")

// matchAzure takes AccountKey=, SharedAccessKey= and the signature of a SAS URL.
func matchAzure(in *input, _, end int) (int, int, verdict) {
	stop, v := in.run(end, &base64Percent, maxValue)
	if v == more {
		return 0, 0, more
	}
	key := in.b[end:stop]
	if len(key) < 40 || len(key) == maxValue || placeholder(key) || distinct(key) < 10 {
		return 0, 0, no
	}
	return end, stop, yes
}

var base64Percent = classOf("09AZaz++//==%%__--")
