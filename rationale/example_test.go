package rationale_test

import (
	"fmt"

	"github.com/rax-project/rax/rationale"
)

func ExampleParseBlocks() {
	text := `I need both.
<rationale call="1">{"why":"the config holds the port","confidence":0.9}</rationale>
<rationale call="2">{'why': 'list the files'}</rationale>`
	for _, b := range rationale.ParseBlocks(text) {
		if b.Rationale == nil {
			fmt.Printf("call %d: unreadable: %s\n", b.Call, b.Reason)
			continue
		}
		fmt.Printf("call %d: %q (%.1f)\n", b.Call, b.Why.In(text), *b.Rationale.Confidence)
	}
	// Output:
	// call 1: "the config holds the port" (0.9)
	// call 2: unreadable: not valid JSON
}

func ExampleAssumptions() {
	text := "I assume the user wants USD because no currency given. Should I assume a date? I'll assume today."
	for _, a := range rationale.Assumptions(text) {
		fmt.Printf("%q, because %q\n", a.Text, a.Why)
	}
	// Output:
	// "the user wants USD", because "no currency given"
	// "today", because ""
}

func ExampleAttach() {
	parts := []rationale.Part{
		{Text: `<rationale call="1">{"why":"a draft"}</rationale>`, Thinking: true},
		{Text: `<rationale call="1">{"why":"the config holds the port"}</rationale>`},
	}
	captures, _ := rationale.Attach(parts, 2)
	for i, c := range captures {
		fmt.Println(i+1, c.Status, c.Span.In(parts[max(c.Part, 0)].Text))
	}
	// Output:
	// 1 present the config holds the port
	// 2 missing
}

func ExampleStrip() {
	fmt.Println(rationale.Strip("Let me look.\n<rationale call=\"1\">{\"why\":\"x\"}</rationale>\nDone."))
	// Output:
	// Let me look.
	// Done.
}

func ExampleExtractArgument() {
	rest, stated, _ := rationale.ExtractArgument([]byte(`{"rationale": {"why": "read it first"}, "path": "a.txt"}`))
	fmt.Printf("%s\n%s\n", rest, stated)
	// Output:
	// {"path": "a.txt"}
	// {"why": "read it first"}
}
