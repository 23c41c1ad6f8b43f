package safety

import "bytes"

// matchTemplate takes a control token of a chat template: <|name|>, [INST],
// <<SYS>>, <start_of_turn> and their like.
func matchTemplate(in *input, at, end int) (int, int, verdict) {
	if in.b[end-1] == '>' || in.b[end-1] == ']' {
		return at, end, yes
	}
	bar := "|"
	if in.b[at+1] != '|' {
		bar = "｜"
	}
	end = at + 1 + len(bar)
	stop, v := in.run(end, &templateName, 48)
	if v == more {
		return 0, 0, more
	}
	if stop == end || stop-end == 48 {
		return 0, 0, no
	}
	if v = in.word(stop, bar+">"); v != yes {
		return 0, 0, v
	}
	return at, stop + len(bar) + 1, yes
}

// templateName includes what DeepSeek writes for a blank, "▁".
var templateName = classOf("09AZaz__--//::\xe2\xe2\x96\x96\x81\x81")

// matchPhrase takes role markup and the usual words of an injection. The verbs
// ("ignore all …") need the instructions close behind, and a word that says
// whose: those that came before, or the model's own.
func matchPhrase(in *input, at, end int) (int, int, verdict) {
	if word[in.before(at)] {
		return 0, 0, no
	}
	switch lower(in.b[at]) {
	case 'i', 'd', 'f', 'o': // the verbs
	default:
		return at, end, yes
	}
	stop := min(len(in.b), at+64)
	whose := false
	for i := at; i < stop; i++ {
		in.saw(i + 1)
		switch c := in.b[i]; {
		case c == '.' || c == '\n' || c == '"':
			return 0, 0, no
		case word[c] && !word[in.b[max(i-1, 0)]]:
			whose = whose || in.anyWord(i, "previous", "prior", "above", "earlier", "preceding", "your", "system")
			if whose && in.anyWord(i, "instruction", "prompt", "directive", "guideline", "rules") {
				return at, i, yes
			}
		}
	}
	if len(in.b) < at+80 { // the last word may go on
		return 0, 0, in.end(len(in.b))
	}
	return 0, 0, no
}

func (in *input) anyWord(i int, texts ...string) bool {
	for _, t := range texts {
		if in.word(i, t) == yes {
			return true
		}
	}
	return false
}

// worthEscape: ":\\" only counts when a slash follows the backslashes.
func worthEscape(raw []byte, at, end int) bool {
	if raw[at] != ':' || raw[end-1] == '/' {
		return true
	}
	rest := bytes.TrimLeft(raw[end:min(len(raw), end+16)], `\`)
	return len(rest) == 0 || rest[0] == '/'
}

// Injection notes what in a text would instruct a model that reads it: the
// usual phrases, role markup, tokens of chat templates, hidden Unicode. It is
// for tool outputs; the text itself is not changed.
func Injection(text string) []Finding {
	var found []Finding
	for _, f := range Default().Session().Text("", text).Findings {
		switch f.Rule {
		case "chat-template", "hidden-unicode", "role-markup", "instruction-override":
			found = append(found, f)
		}
	}
	return found
}
