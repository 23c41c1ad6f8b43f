// Package fake is a server that speaks the wire formats of the providers, for
// tests: it answers with what a script of neutral steps says, in the format of
// the endpoint that was asked, as a body or as a stream, and with the faults that
// real servers have. It refuses what the real ones refuse.
//
//	server := fake.New(
//		fake.Step{Answer: fake.Answer{Calls: []fake.Call{{ID: "call_1", Name: "clock", Arguments: "{}"}}}},
//		fake.Step{Answer: fake.Answer{Text: "It is noon."}},
//	)
//	defer server.Close()
//	m, err := model.Open("anthropic:some-model", model.Options{Getenv: server.Getenv})
//
// It is written from the providers' documentation and shares no code with the
// parsers that read it. The module in sdktest proves it against the providers'
// own clients.
package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Answer is what the model is to say.
type Answer struct {
	Text string
	// Thinking is disclosed thinking, and Signature what signs it: Anthropic's
	// signature, Gemini's thoughtSignature, the encrypted_content of a Responses
	// item. The others sign nothing.
	Thinking  string
	Signature string
	Calls     []Call
	Usage     Usage
	// Finish is the finish reason in the provider's own words; empty means the
	// one that fits.
	Finish string
}

// Call is a tool call.
type Call struct {
	// ID is left out where the format has none. The formats that demand one get
	// one that is made.
	ID   string
	Name string
	// Arguments is the JSON text of an object. Where the wire has it in a string
	// it may be anything.
	Arguments string
}

// Usage counts tokens: Input holds the cached ones, and Output those of
// thinking. Each format gets them as it counts.
type Usage struct {
	Input, Output, Reasoning, CacheRead, CacheWrite int64
}

// Stop is how a response goes wrong.
type Stop string

// The stops. Those that speak of the rest come after Step.After pieces: events
// of a stream, or a tenth each of a body.
const (
	// StopDrop closes the connection without a response.
	StopDrop Stop = "drop"
	// StopSilent never sends a header.
	StopSilent Stop = "silent"
	// StopCut breaks the connection in place of the rest.
	StopCut Stop = "cut"
	// StopEnd ends the response in good order in place of the rest.
	StopEnd Stop = "end"
	// StopHang sends nothing any more.
	StopHang Stop = "hang"
	// StopError sends an error event in place of the rest of a stream.
	StopError Stop = "error"
)

// Step is how one request is answered.
type Step struct {
	Answer
	// Status from 400 on sends an error in the provider's shape, with Message.
	Status  int
	Message string
	// Header is added to the response, such as Retry-After.
	Header map[string]string
	// Body is sent as it is in place of what the format would have.
	Body  string
	Stop  Stop
	After int
}

// Request is a request that came in.
type Request struct {
	// Format is that of the endpoint, by its name in parsers/provider; empty
	// when there is none.
	Format string
	Host   string
	Path   string
	Header http.Header
	Body   []byte
	Stream bool
	// Problem is why it was refused; empty when it was not.
	Problem string
}

// Server is a fake of every provider at once. It may be used by several
// goroutines.
type Server struct {
	// URL is its address, without a path.
	URL string
	// Key is the API key that it wants.
	Key string

	http *httptest.Server
	quit chan struct{}
	once sync.Once

	mu       sync.Mutex
	steps    []Step
	served   int
	requests []Request
	issued   []issued
}

// issued is an answer that was given, for what must come back unchanged.
type issued struct {
	Answer
	number int
}

// New starts a server on the loopback.
func New(steps ...Step) *Server {
	s := &Server{Key: "fake" + "-" + "key", steps: steps, quit: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close ends the server and whatever it keeps waiting.
func (s *Server) Close() {
	s.once.Do(func() { close(s.quit) })
	s.http.Close()
}

// Add appends steps.
func (s *Server) Add(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Getenv gives the environment variables by which the providers' clients find
// the server and its key.
func (s *Server) Getenv(name string) string {
	switch name {
	case "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY":
		return s.Key
	case "OPENAI_BASE_URL":
		return s.URL + "/v1"
	case "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST":
		return s.URL
	}
	return ""
}

// Requests are those that came in, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Problems are the reasons for which requests were refused.
func (s *Server) Problems() []string {
	var out []string
	for _, r := range s.Requests() {
		if r.Problem != "" {
			out = append(out, r.Problem)
		}
	}
	return out
}

// object is a JSON object.
type object = map[string]any

// wire is a format.
type wire interface {
	name() string
	// match tells whether the path is the format's endpoint.
	match(path string) bool
	// streams tells whether a stream is asked for.
	streams(r *http.Request, body object) bool
	// check finds what the provider would refuse; status 0 means nothing.
	check(r *http.Request, body object, s *Server) problem
	// answer and events write an answer, as a body and as the frames of a
	// stream. n is a number of its own, and model the one asked for.
	answer(n int, model string, a Answer) any
	events(n int, r *http.Request, body object, a Answer) []string
	failure(status int, message string) any
	failureEvent(message string) string
	contentType(r *http.Request) string
}

// problem is why a request is refused.
type problem struct {
	status  int
	message string
}

func refuse(format string, args ...any) problem {
	return problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

var wires = [...]wire{chat{}, responses{}, anthropic{}, gemini{}, ollama{}}

const maxRequest = 64 << 20

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		return // the client went away
	}
	var format wire
	for _, f := range wires {
		if f.match(r.URL.Path) {
			format = f
		}
	}
	req := Request{Host: r.Host, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: text}
	if format == nil || r.Method != http.MethodPost {
		req.Problem = "no such endpoint"
		s.record(req)
		http.Error(w, `{"error":"404 page not found"}`, http.StatusNotFound)
		return
	}
	req.Format = format.name()
	var body object
	var p problem
	switch {
	case json.Unmarshal(text, &body) != nil || body == nil:
		p = refuse("the body is no JSON object")
	case r.Header.Get("Content-Type") != "application/json" && format.name() != "ollama-native":
		p = refuse("the content type is not application/json")
	default:
		p = format.check(r, body, s)
	}
	if p.status != 0 {
		req.Problem = p.message
		s.record(req)
		send(w, p.status, nil, format.failure(p.status, p.message))
		return
	}
	req.Stream = format.streams(r, body)
	s.record(req)
	step, n, ok := s.step()
	if !ok {
		send(w, http.StatusBadRequest, nil, format.failure(http.StatusBadRequest, "the fake has no step left"))
		return
	}
	s.play(w, r, format, body, req.Stream, step, n)
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// step takes the next step. An answer is remembered before it is sent, so that
// what follows it finds it.
func (s *Server) step() (Step, int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served == len(s.steps) {
		return Step{}, 0, false
	}
	step := s.steps[s.served]
	s.served++
	if step.Status < 400 && step.Body == "" && step.Stop == "" {
		s.issued = append(s.issued, issued{step.Answer, s.served})
	}
	return step, s.served, true
}

func send(w http.ResponseWriter, status int, header map[string]string, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"the fake cannot write this"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	for name, value := range header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// play answers a request with a step.
func (s *Server) play(w http.ResponseWriter, r *http.Request, f wire, body object, stream bool, step Step, n int) {
	switch {
	case step.Stop == StopDrop:
		panic(http.ErrAbortHandler)
	case step.Stop == StopSilent:
		s.wait(r)
		return
	case step.Status >= 400 && step.Body == "":
		send(w, step.Status, step.Header, f.failure(step.Status, step.Message))
		return
	}
	var pieces []string
	kind := "application/json"
	switch {
	case step.Body != "":
		pieces = []string{step.Body}
	case stream:
		pieces, kind = f.events(n, r, body, step.Answer), f.contentType(r)
	default:
		text, err := json.Marshal(f.answer(n, str(body["model"]), step.Answer))
		if err != nil {
			text = []byte(`{"error":"the fake cannot write this"}`)
		}
		pieces = tenths(string(text))
	}
	w.Header().Set("Content-Type", kind)
	for name, value := range step.Header {
		w.Header().Set(name, value)
	}
	if step.Status != 0 {
		w.WriteHeader(step.Status)
	}
	flush := http.NewResponseController(w)
	for i, piece := range pieces {
		if step.Stop != "" && i == step.After {
			break
		}
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
		if stream || step.Stop != "" {
			_ = flush.Flush()
		}
	}
	_ = flush.Flush() // the header, where nothing else was sent
	switch step.Stop {
	case StopCut:
		panic(http.ErrAbortHandler)
	case StopHang:
		s.wait(r)
	case StopError:
		_, _ = io.WriteString(w, f.failureEvent(step.Message))
	}
}

// wait blocks until the client goes away or the server is closed.
func (s *Server) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.quit:
	}
}

func tenths(s string) []string {
	var out []string
	for i := range 10 {
		out = append(out, s[len(s)*i/10:len(s)*(i+1)/10])
	}
	return out
}

// pieces cuts a text into a few, between characters.
func pieces(s string) []string {
	const size = 7 // characters
	var out []string
	runes := []rune(s)
	for len(runes) > size {
		out = append(out, string(runes[:size]))
		runes = runes[size:]
	}
	if len(runes) > 0 {
		out = append(out, string(runes))
	}
	return out
}

// line is a value as JSON.
func line(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return `{"error":"the fake cannot write this"}`
	}
	return string(text)
}

// callID is the id of a call, made where the step has none.
func callID(prefix string, n, i int, c Call) string {
	if c.ID != "" {
		return c.ID
	}
	return fmt.Sprintf("%s%d_%d", prefix, n, i)
}

// created is the time of every answer, in seconds.
const created = 1767225600
