package safety

import "bytes"

// secretValue judges the value behind a label. Passwords may be short words
// with a digit; keys and tokens have to look random.
func secretValue(v []byte, password, quoted bool) bool {
	if len(v) < 6 || len(v) > maxValue || bytes.ContainsAny(v, " \t\n") || placeholder(v) || notSecret(v) {
		return false
	}
	if !quoted && (codeName(v) || identifier(v)) {
		return false
	}
	digits, letter, symbol := 0, false, false
	for _, c := range v {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case alnum[c] || c >= 0x80:
			letter = true
		case bytes.IndexByte([]byte("_-./:"), c) < 0:
			symbol = true
		}
	}
	if password {
		switch {
		case symbol && (digits > 0 || letter), digits > 0 && letter, digits == len(v) && digits <= 32:
			return distinct(v) > 3
		}
		return quoted && len(v) >= 8 && letter && lowerWord(v) && distinct(v) > 5
	}
	return letter && digits > 0 && len(v) >= 8 && distinct(v) > 5 && entropy(v) >= 2.5 && randomPart(v)
}

// identifier reports an unquoted name that says itself what it holds:
// testP256PrivateKey, password2.
func identifier(v []byte) bool {
	var buf [64]byte
	if len(v) > len(buf) || '0' <= v[0] && v[0] <= '9' {
		return false
	}
	for _, c := range v {
		if !word[c] {
			return false
		}
	}
	name := squeeze(buf[:0], v)
	for _, w := range [...]string{"key", "token", "secret", "password", "passwd", "credential", "cert"} {
		if bytes.Contains(name, []byte(w)) {
			return true
		}
	}
	return false
}

// randomPart wants a stretch that no name is made of: letters and digits mixed
// eight in a row, a UUID, or base64, whose plus signs and slashes cut such runs
// short.
func randomPart(v []byte) bool {
	if mixedRun(v, 8) || base64Key(v) {
		return true
	}
	return len(v) == 36 && v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-'
}

// base64Key reports a value that is base64 of random bytes: of the length of an
// AWS secret key, padded, or long, with digits and both cases in it.
func base64Key(v []byte) bool {
	body := bytes.TrimRight(v, "=")
	padded := len(body) < len(v) && len(v)%4 == 0 && len(v) >= 24
	if !padded && len(v) != 40 && len(v) < 48 {
		return false
	}
	digits, capitals, small := 0, 0, 0
	for _, c := range body {
		switch {
		case !base64Set[c] && c != '-' && c != '_':
			return false
		case '0' <= c && c <= '9':
			digits++
		case upper[c]:
			capitals++
		case alnum[c]:
			small++
		}
	}
	return digits > 0 && capitals > 1 && small > 1 && entropy(v) >= 3.8
}

// lowerWord reports one word without separators that is not itself a label.
func lowerWord(v []byte) bool {
	var buf [64]byte
	folded := buf[:0]
	for _, c := range v {
		if !alnum[c] && c < 0x80 {
			return false
		}
		folded = append(folded, lower(c))
	}
	for _, w := range [...]string{"password", "passwd", "passphrase", "secret", "token", "string", "required", "optional", "credential",
		"invalid", "undefined", "disabled", "enabled", "missing", "incorrect", "current", "input", "field", "hidden", "null", "none", "text", "value", "confirm", "forgot", "reset", "contras", "kennwort", "passwort", "admin"} {
		if bytes.Contains(folded, []byte(w)) {
			return false
		}
	}
	return true
}

// notSecret reports the shapes that stand where a secret would: variables,
// look-ups, paths, addresses, formats.
func notSecret(v []byte) bool {
	switch v[0] {
	case '$':
		return !bytes.HasPrefix(v, []byte("$2")) || len(v) < 40 // bcrypt is no variable
	case '/', '+':
		return !mixedRun(v, 16) // a path; base64 may begin so too
	case '~':
		return len(v) < 2 || v[1] == '/'
	case '(', '[', '{', '<', ':', '&':
		return true
	case '%', '@', '#', '*', '!', '^':
		return len(v) < 8 || !mixedRun(v, 3) || bytes.ContainsAny(v, "(){}%/")
	}
	if hex := bytes.TrimPrefix(v, []byte("-")); len(hex) < 34 && bytes.HasPrefix(hex, []byte("0x")) {
		return true // a constant
	}
	if bytes.HasPrefix(v, []byte("./")) || bytes.HasPrefix(v, []byte("../")) || bytes.Contains(v, []byte("://")) {
		return true
	}
	for _, lookup := range [...]string{"process.env", "os.environ", "os.getenv", "env.", "secrets.", "config.", "settings.", "self.", "this.", "vault:", "op:/", "ssm:", "arn:aws", "${", "$(", "data:", "sha256-", "sha512-", "sha1-", "sha256:", "urn:"} {
		if bytes.HasPrefix(v, []byte(lookup)) {
			return true
		}
	}
	return bytes.Contains(v, []byte("$(")) || bytes.Contains(v, []byte("%s")) || bytes.Contains(v, []byte("\\u{"))
}

// codeName reports an unquoted path of identifiers (user.password2,
// self->token, a::b) or a call.
func codeName(v []byte) bool {
	dots := 0
	part := 0
	for i, c := range v {
		switch {
		case c == '.' || c == ':' || (c == '-' && i+1 < len(v) && v[i+1] == '>'):
			if part == 0 && i > 0 && v[i-1] != ':' {
				return false
			}
			dots++
			part = 0
		case c == '>' && i > 0 && v[i-1] == '-':
		case word[c] && !(part == 0 && '0' <= c && c <= '9'):
			part++
		default:
			return false
		}
	}
	return dots > 0 && !mixedRun(v, 12)
}
