package provider_test

import (
	"fmt"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
)

const body = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[
 {"type":"thinking","thinking":"A list will do.","signature":"c2ln"},
 {"type":"text","text":"I look. <rationale call=\"1\">{\"why\":\"to see what is open\"}</rationale>"},
 {"type":"tool_use","id":"t1","name":"list_issues","input":{"state":"open"}}],
 "stop_reason":"tool_use","usage":{"input_tokens":7,"output_tokens":5}}`

func ExampleParse() {
	format, err := provider.Detect([]byte(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := provider.Parse(format, []byte(body), provider.ParseOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	parsers.Attach(&answer, true)
	call := answer.Calls[0]
	pointer, _ := answer.Place(call.Capture.Part, call.Capture.Span)
	fmt.Println(format, call.Name, string(call.Arguments))
	fmt.Println(call.Capture.Status, call.Capture.Source, pointer)
	fmt.Println(call.Capture.Rationale.Why)
	// Output:
	// anthropic-messages list_issues {"state":"open"}
	// present block /content/1/text
	// to see what is open
}

func ExampleNewStream() {
	stream := provider.NewStream(provider.OllamaNative, provider.ParseOptions{
		OnDelta: func(d provider.Delta) { fmt.Printf("%s %q\n", d.Kind, d.Text) },
	})
	for _, chunk := range []string{
		`{"message":{"content":"","thinking":"Hm."},"do`, "ne\":false}\n",
		`{"message":{"content":"Yes."},"done":true,"done_reason":"stop"}`,
	} {
		if err := stream.Write([]byte(chunk)); err != nil {
			fmt.Println(err)
		}
	}
	answer, err := stream.Close()
	fmt.Println(answer.Text(), answer.Finish, answer.Cut, err)
	// Output:
	// thinking "Hm."
	// text "Yes."
	// Yes. stop false <nil>
}
