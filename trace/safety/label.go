package safety

import "bytes"

// The labelled rules read "a name that says secret, a separator, a value":
//
//	password: …    "apiKey" = "…"    --token …    <secret>…    \"token\":\"…\"
//
// and take the value alone. A name needs its whole identifier to agree
// (max_tokens, token_count and secretary do not), and a value has to look like
// one: code, types, paths, placeholders and prose are left alone.

const (
	maxLabelTail = 24  // rest of the identifier after the anchor
	maxLabelHead = 24  // and before it
	maxBlank     = 32  // blanks on each side of a separator
	maxValue     = 512 // a labelled value
)

// labelTails are what may follow an anchor in its identifier, without "_" and
// "-" and in lower case.
func labelTail(tail []byte) bool {
	switch string(tail) {
	case "", "key", "accesskey", "value", "val", "token", "secret", "prod", "dev", "test", "live", "staging", "raw", "plain", "env",
		"1", "2", "3", "production", "b64", "base64":
		return true
	}
	return false
}

// harmlessHeads are words before "token" or "secret" whose values give nothing away.
var harmlessHeads = [...]string{"page", "next", "continu", "cancel", "cursor", "sync", "pad", "eos", "bos", "unk", "mask", "stop", "idempoten", "clientrequest", "public", "num", "max", "min", "design", "trial"}

// labelAt checks the identifier around the anchor in [at, end). It returns the
// position after it and whether it is a label at all.
func labelAt(in *input, at, end int) (int, verdict) {
	stop, v := in.run(end, &wordDash, maxLabelTail)
	if v == more {
		return 0, more
	}
	var buf [maxLabelTail]byte
	if !labelTail(squeeze(buf[:0], in.b[end:stop])) {
		return 0, no
	}
	if head := labelHead(in, at); head < at {
		var buf [maxLabelHead]byte
		name := squeeze(buf[:0], in.b[head:at])
		for _, h := range harmlessHeads {
			if bytes.Contains(name, []byte(h)) {
				return 0, no
			}
		}
		// "mistoken", "undersecret": a longer word, not a longer identifier.
		if c := in.b[at-1]; 'a' <= c && c <= 'z' && in.b[at] >= 'a' && in.b[at] != 'p' && !compound(name) {
			return 0, no
		}
	}
	return stop, yes
}

// labelHead returns where the identifier around the anchor begins.
func labelHead(in *input, at int) int {
	head := at
	for head > in.floor && at-head < maxLabelHead && wordDash[in.b[head-1]] {
		head--
	}
	return head
}

// compound reports a head that identifiers write without a separator.
func compound(name []byte) bool {
	for _, h := range [...]string{"auth", "access", "refresh", "api", "client", "app", "bot", "db", "user", "my", "x", "id", "session", "bearer", "admin", "shared", "consumer", "webhook", "root", "jwt"} {
		if bytes.HasSuffix(name, []byte(h)) {
			return true
		}
	}
	return false
}

// squeeze appends name in lower case without "_" and "-".
func squeeze(dst, name []byte) []byte {
	for _, c := range name {
		if c != '_' && c != '-' {
			dst = append(dst, lower(c))
		}
	}
	return dst
}

// worthLabelled looks at the byte after the anchor: most of "tokens",
// "tokenizer" and "secretary" end here.
func worthLabelled(raw []byte, _, end int) bool {
	if end == len(raw) {
		return false
	}
	switch c := lower(raw[end]); {
	case 'a' <= c && c <= 'z':
		return bytes.IndexByte([]byte("akvtspdlreb"), c) >= 0 && (end+1 == len(raw) || c != 's' || lower(raw[end+1]) == 'e' || lower(raw[end+1]) == 't')
	case c == ',' || c == '.' || c == ';' || c == '(':
		return false
	}
	return true
}

func matchLabelled(in *input, at, end int) (int, int, verdict) {
	i, v := labelAt(in, at, end)
	if v != yes {
		return 0, 0, v
	}
	head := labelHead(in, at)
	flag := bytes.HasPrefix(in.b[head:], []byte("--"))
	password := lower(in.b[at]) == 'p' && lower(in.b[at+1]) != 'r'
	i, sep, v := separator(in, i, flag, in.before(head) == '<')
	if v != yes {
		return 0, 0, v
	}
	start, stop, quoted, v := value(in, i)
	if v != yes {
		return 0, 0, v
	}
	if sep == ':' && !quoted && start < stop {
		// A type annotation: the value follows it.
		j, bv := in.run(stop, &blanks, maxBlank)
		if bv == more {
			return 0, 0, more
		}
		if j > stop && j < len(in.b) && in.b[j] == '=' {
			if j, bv = in.run(j+1, &blanks, maxBlank); bv == more {
				return 0, 0, more
			}
			if start, stop, quoted, v = value(in, j); v != yes {
				return 0, 0, v
			}
		}
	}
	// A shell takes what follows PASSWORD= or --password as it stands.
	literal := quoted || flag || sep == '=' && upper[in.b[at]] && upper[in.b[at+1]] && in.b[start-1] == '='
	if start == stop || !secretValue(in.b[start:stop], password, literal) {
		return 0, 0, no
	}
	// A value that a rule of its own knows is left to that rule, so that one
	// secret has one name and one number wherever it stands.
	if m, dv := decide(in, start, true); dv != no && (dv == more || m.end >= stop) {
		return leave(dv)
	}
	return start, stop, yes
}

var (
	blanks = classOf("  \t\t")
	slash  = classOf(`\\`)
)

// separator reads what stands between a label and its value: closing quotes
// and brackets, blanks, the separator, blanks. With flag a blank alone
// separates, with tag a ">". It returns the first byte of the separator.
func separator(in *input, i int, flag, tag bool) (int, byte, verdict) {
	i, v := in.run(i, &slash, 8)
	if v == more {
		return 0, 0, more
	}
	quoted := false
	for n := 0; n < 2 && i < len(in.b) && bytes.IndexByte([]byte("\"'`])"), in.b[i]) >= 0; n++ {
		quoted = true
		i++
		in.saw(i + 1)
	}
	j, v := in.run(i, &blanks, maxBlank)
	if v == more || j == len(in.b) {
		return 0, 0, in.end(j)
	}
	if j > i {
		if v := in.word(j, "is "); v == more {
			return 0, 0, more
		} else if v == yes {
			j, v = in.run(j+3, &blanks, maxBlank)
			return j, 0, v
		}
	}
	sep := in.b[j]
	switch {
	case sep == ':' || sep == '=':
		j++
		if j == len(in.b) {
			return 0, 0, in.end(j)
		}
		in.saw(j + 2)
		if in.b[j] == '=' || in.b[j] == '>' { // := == =>
			j++
		}
		if j == len(in.b) {
			return 0, 0, in.end(j)
		}
		if in.b[j] == '=' || in.b[j] == ':' { // === or ::
			j++
		}
	case sep == '>' && tag:
		return j + 1, sep, yes
	case sep == ',' && quoted:
		return pairedValue(in, j+1)
	case flag && j > i:
		return j, '=', yes
	default:
		return 0, 0, no
	}
	j, v = in.run(j, &blanks, maxBlank)
	if v == more || j == len(in.b) {
		return 0, 0, in.end(j)
	}
	return j, sep, yes
}

// pairedValue reads the rest of {"name": "API_TOKEN", "value": "…"} from behind
// the comma.
func pairedValue(in *input, i int) (int, byte, verdict) {
	i, v := in.run(i, &blanksQuotes, maxBlank)
	if v == more {
		return 0, 0, more
	}
	const name = "value"
	if v = in.word(i, name); v != yes {
		return 0, 0, v
	}
	i, v = in.run(i+len(name), &quotes, 8)
	if v == more {
		return 0, 0, more
	}
	i, v = in.run(i, &blanks, maxBlank)
	if v == more || i == len(in.b) {
		return 0, 0, in.end(i)
	}
	if in.b[i] != ':' && in.b[i] != '=' {
		return 0, 0, no
	}
	i, v = in.run(i+1, &blanks, maxBlank)
	if v == more || i == len(in.b) {
		return 0, 0, in.end(i)
	}
	return i, ':', yes
}

var (
	blanksQuotes = classOf("  \t\t\n\n\r\r\"\"''\\\\")
	quotes       = classOf("\"\"''\\\\")
	bareValue    = bareValueClass()
)

// bareValueClass is what an unquoted value is made of.
func bareValueClass() class {
	c := classOf("!~")
	for _, b := range []byte("\"'`,;()[]{}<>|&\\") {
		c[b] = false
	}
	return c
}

// value reads the value at i: [start, stop) without its quotes.
func value(in *input, i int) (start, stop int, quoted bool, v verdict) {
	j, v := in.run(i, &slash, 8)
	if v == more || j == len(in.b) {
		return 0, 0, false, in.end(j)
	}
	if q := in.b[j]; q == '"' || q == '\'' || q == '`' {
		start, escaped := j+1, j > i
		for stop = start; stop-start <= maxValue; stop++ {
			if stop >= len(in.b) {
				if !in.final {
					return 0, 0, false, more
				}
				return start, len(in.b), true, yes // cut off in the middle
			}
			in.saw(stop + 1)
			switch c := in.b[stop]; {
			case c == q, c == '\\' && escaped:
				return start, stop, true, yes
			case c == '\\':
				stop++ // whatever it escapes
			case c == '\n' || c == '\r':
				return 0, 0, false, no
			}
		}
		return 0, 0, false, no
	}
	stop, v = in.run(i, &bareValue, maxValue+1)
	if v == more {
		return 0, 0, false, more
	}
	if stop-i > maxValue || (stop < len(in.b) && bytes.IndexByte([]byte("([{"), in.b[stop]) >= 0) {
		return 0, 0, false, no // a call, an index, a template
	}
	for stop > i && bytes.IndexByte([]byte(".:!?"), in.b[stop-1]) >= 0 {
		stop-- // the end of a sentence
	}
	return i, stop, false, yes
}
