package rationale

import "bytes"

// AddArgument puts a rationale object into a call's arguments, as their first
// member: what [ExtractArgument] undoes to the byte. Both must be valid JSON
// objects.
func AddArgument(args, rationale []byte) ([]byte, error) {
	for _, object := range [][]byte{args, rationale} {
		if _, err := parseObject(object); err != nil {
			return nil, err
		}
	}
	i := bytes.IndexByte(args, '{') + 1
	for isSpace(args[i]) {
		i++
	}
	out := make([]byte, 0, len(args)+len(rationale)+len(ArgumentName)+4)
	out = append(out, args[:i]...)
	out = append(out, '"')
	out = append(out, ArgumentName...)
	out = append(out, '"', ':')
	out = append(out, bytes.TrimSpace(rationale)...)
	if args[i] != '}' {
		out = append(out, ',')
	}
	return append(out, args[i:]...), nil
}

// ExtractArgument takes the member named rationale out of a call's arguments.
// The rest is args without that member, without the comma that parts it from
// its neighbour and the white space behind that comma; every other byte is as
// it was. Only the first such member of the outermost object is taken, however
// its name is escaped. When there is none, or args is no object, or ends inside
// the member, rest is args and found is false.
func ExtractArgument(args []byte) (rest, rationale []byte, found bool) {
	var x ArgumentExtractor
	rest = append(x.Write(args), x.Close()...)
	rationale, found = x.Rationale()
	return rest, rationale, found
}

// ArgumentExtractor does [ExtractArgument] for arguments that arrive piece by
// piece: the concatenated output is the rest, however they are cut. It holds
// back the member itself, and of other members a comma and a name at most. The
// zero ArgumentExtractor is ready to use.
type ArgumentExtractor struct {
	state argState
	// held are bytes that may be part of the member.
	held []byte
	// quote is where the name begins in held.
	quote int
	// behind says that a member stands in front of the one at hand.
	behind bool
	// value is where the member's value begins in held; -1 outside the member.
	value int
	found bool
	got   []byte
	// log is told what becomes of the text, for an [ArgumentCutter].
	log *cutLog

	depth           int
	quoted, escaped bool
	literal         bool
}

type argState int

const (
	argStart argState = iota
	argKey
	argInKey
	argColon
	argValue
	argInValue
	argAfter
	// argGap follows a removed first member, up to its comma.
	argGap
	// argGapSpace follows that comma.
	argGapSpace
	argPass
)

// maxKey is the length of the name with every character escaped, quotes
// included. A longer name is another.
const maxKey = len(ArgumentName)*len(`\u0000`) + 2

// Rationale returns the value of the member, valid after Close.
func (x *ArgumentExtractor) Rationale() ([]byte, bool) { return x.got, x.found }

// Write takes the next piece of the arguments and returns what is certain of
// the rest.
func (x *ArgumentExtractor) Write(chunk []byte) []byte {
	out := make([]byte, 0, len(chunk))
	for i := 0; i < len(chunk); i++ {
		if x.state == argPass {
			x.log.keep(len(chunk) - i)
			return append(out, chunk[i:]...)
		}
		out = x.step(out, chunk[i])
	}
	return out
}

// Close returns what was held back: the arguments end inside a member.
func (x *ArgumentExtractor) Close() []byte {
	x.state = argPass
	return x.flush(nil)
}

func (x *ArgumentExtractor) flush(out []byte) []byte {
	x.log.keep(len(x.held))
	out = append(out, x.held...)
	x.held = nil
	return out
}

// pass gives up: what is at hand is no JSON object.
func (x *ArgumentExtractor) pass(out []byte, c byte) []byte {
	x.state = argPass
	return x.show(x.flush(out), c)
}

func (x *ArgumentExtractor) show(out []byte, c byte) []byte {
	x.log.keep(1)
	return append(out, c)
}

// put shows c, or holds it back behind what is held already.
func (x *ArgumentExtractor) put(out []byte, c byte) []byte {
	if len(x.held) > 0 {
		x.held = append(x.held, c)
		return out
	}
	return x.show(out, c)
}

func (x *ArgumentExtractor) step(out []byte, c byte) []byte {
	space := isSpace(c)
	switch x.state {
	case argStart:
		switch {
		case c == '{':
			x.state = argKey
		case !space:
			return x.pass(out, c)
		}
		return x.show(out, c)

	case argKey:
		switch {
		case space:
			return x.put(out, c)
		case c == '"':
			x.state, x.escaped = argInKey, false
			if x.found {
				return x.show(out, c)
			}
			x.quote = len(x.held)
			x.held = append(x.held, c)
			return out
		}
		return x.pass(out, c)

	case argInKey:
		out = x.put(out, c)
		switch {
		case x.escaped:
			x.escaped = false
		case c == '\\':
			x.escaped = true
		case c == '"':
			x.state = argColon
			if len(x.held) > 0 && !isArgument(x.held[x.quote:]) {
				out = x.flush(out)
			}
			return out
		}
		if len(x.held)-x.quote > maxKey {
			out = x.flush(out)
		}
		return out

	case argColon:
		switch {
		case c == ':':
			x.state = argValue
		case !space:
			return x.pass(out, c)
		}
		return x.put(out, c)

	case argValue:
		if space {
			return x.put(out, c)
		}
		if c == ',' || c == '}' || c == ']' || c == ':' {
			return x.pass(out, c)
		}
		x.state, x.value = argInValue, len(x.held)
		x.depth, x.quoted, x.escaped, x.literal = 0, false, false, c != '"' && c != '{' && c != '['
		return x.inValue(out, c)

	case argInValue:
		return x.inValue(out, c)

	case argAfter:
		switch {
		case c == ',':
			x.state, x.behind = argKey, true
			if x.found {
				return x.show(out, c)
			}
			x.held = append(x.held, c)
			return out
		case c == '}':
			x.state = argPass
			return x.show(out, c)
		case space:
			return x.show(out, c)
		}
		return x.pass(out, c)

	case argGap:
		switch {
		case space:
			x.held = append(x.held, c)
			return out
		case c == ',':
			x.log.drop(len(x.held)+1, "")
			x.held = nil
			x.state = argGapSpace
			return out
		}
		return x.pass(out, c)

	case argGapSpace:
		if space {
			x.log.drop(1, "")
			return out
		}
		x.state = argKey
		return x.step(out, c)
	}
	return x.show(out, c)
}

// inValue follows a value to its end.
func (x *ArgumentExtractor) inValue(out []byte, c byte) []byte {
	switch {
	case x.literal:
		if c == ',' || c == '}' || c == ']' || isSpace(c) {
			return x.step(x.endValue(out), c)
		}
		return x.put(out, c)
	case x.escaped:
		x.escaped = false
		return x.put(out, c)
	case x.quoted && c == '\\':
		x.escaped = true
	case c == '"':
		x.quoted = !x.quoted
	case x.quoted:
	case c == '{', c == '[':
		x.depth++
	case c == '}', c == ']':
		x.depth--
	}
	out = x.put(out, c)
	if !x.quoted && x.depth == 0 {
		return x.endValue(out)
	}
	return out
}

// endValue ends the value at hand; what is still held is the member.
func (x *ArgumentExtractor) endValue(out []byte) []byte {
	x.state = argAfter
	if len(x.held) == 0 {
		return out
	}
	x.got, x.found = x.held[x.value:], true
	x.log.drop(len(x.held), "")
	x.held = nil
	if !x.behind {
		x.state = argGap
	}
	return out
}

// isArgument reports whether key, a JSON string in its quotes, is the name of
// the argument.
func isArgument(key []byte) bool {
	return string(key) == `"`+ArgumentName+`"` ||
		bytes.IndexByte(key, '\\') >= 0 && unquote(key) == ArgumentName
}
