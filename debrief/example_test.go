package debrief_test

import (
	"fmt"
	"log"
	"os"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/trace"
)

// Build folds a trace into one debrief for each root run.
func ExampleBuild() {
	in, err := os.Open("../fixtures/trace/aapl.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	runs, err := debrief.Build(trace.NewReader(in, "aapl.jsonl", trace.ReaderOptions{}).All())
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range runs[0].Path {
		fmt.Println(step.Action, step.Status, step.Rationale.Why)
	}
	fmt.Println(runs[0].Termination.By)
	// Output:
	// tool:web_search present needs fresh price data
	// tool:calculator present verify cited number
	// quality_threshold
}

// A Fold takes rows one by one, for programs that read the trace themselves.
func ExampleFold() {
	in, err := os.Open("../fixtures/trace/aapl.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	var fold debrief.Fold
	for rec, err := range trace.NewReader(in, "aapl.jsonl", trace.ReaderOptions{}).All() {
		if err != nil {
			log.Fatal(err)
		}
		row, err := trace.RowOf(rec)
		if err != nil {
			log.Fatal(err)
		}
		fold.Add(&row)
	}
	for _, d := range fold.Finish() {
		fmt.Printf("%s: %d of %d calls say why\n", d.RunID, d.Metrics.Present, d.Metrics.Asked())
	}
	// Output:
	// abc-123: 2 of 2 calls say why
}
