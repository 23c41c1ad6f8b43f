package provider

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// APIError is an error that a provider reported: in a body of status 400 and
// above, in an error envelope of status 200, or in the middle of a stream.
type APIError struct {
	Format Format
	// Status is the HTTP status, or the one that the error states itself; 0
	// when there is none.
	Status int
	// Type and Code are the provider's own words ("invalid_request_error",
	// "model_not_found", "RESOURCE_EXHAUSTED", ...).
	Type string
	Code string
	// Message is the provider's text. It may repeat parts of the request and of
	// a key, so Error leaves it out: scrub it before it is shown.
	Message string
	// Param names the field of the request that is at fault.
	Param string
	// RetryAfter is how long the provider asks to wait; 0 when it does not say.
	RetryAfter time.Duration
}

func (e *APIError) Error() string {
	var b strings.Builder
	b.WriteString("provider error")
	if e.Status != 0 {
		fmt.Fprintf(&b, " %d", e.Status)
	}
	for i, word := range []string{e.Type, e.Code} {
		if word != "" && (i == 0 || word != e.Type) && word != strconv.Itoa(e.Status) {
			fmt.Fprintf(&b, " %s", safeWord(word))
		}
	}
	return b.String()
}

// safeWord keeps an error code as it is and anything longer or odder out.
func safeWord(s string) string {
	if len(s) > 64 {
		return "(odd code)"
	}
	for _, c := range []byte(s) {
		if !isNameByte(c) && c != '.' && c != ':' && c != '#' {
			return "(odd code)"
		}
	}
	return s
}

// errorOf reads the error envelopes of all formats:
//
//	{"error":{"message","type","code","param"}}         OpenAI and its kin
//	{"type":"error","error":{"type","message"}}          Anthropic
//	{"error":{"code":404,"message","status","details"}}  Gemini
//	{"error":"text"}                                     Ollama
//	{"message":"text"}, {"Message","__type"}             Bedrock, Cohere
//	{"object":"error","message","type","code"}           vLLM, Mistral
//	{"detail":...}                                       Mistral, FastAPI
//	{"code","message","param"}                           a Responses error event
func errorOf(format Format, root gjson.Result, opts ParseOptions) *APIError {
	e := &APIError{Format: format, Status: opts.Status, RetryAfter: opts.RetryAfter}
	if root.IsArray() { // Gemini wraps streamed errors in an array
		root = root.Get("0")
	}
	src := root.Get("error")
	switch {
	case src.IsObject():
	case src.Type == gjson.String:
		e.Message = src.Str
		src = root
	default:
		src = root
	}
	if e.Message == "" {
		for _, name := range []string{"message", "Message", "detail", "msg"} {
			if v := src.Get(name); v.Type == gjson.String {
				e.Message = v.Str
				break
			} else if v.IsObject() || v.IsArray() {
				e.Message = v.Raw
				break
			}
		}
	}
	if e.Type = str(src.Get("type")); e.Type == "error" {
		e.Type = "" // the type of the event
	}
	if e.Type == "" {
		e.Type = str(src.Get("__type"))
	}
	if s := str(src.Get("status")); s != "" && e.Type == "" {
		e.Type = s // Gemini's NOT_FOUND
	}
	code := src.Get("code")
	e.Code = str(code)
	if code.Type == gjson.Number {
		e.Code = code.Raw
	}
	e.Param = str(src.Get("param"))
	for _, v := range []gjson.Result{src.Get("status_code"), src.Get("status"), code, src.Get("http_code")} {
		if n := v.Int(); e.Status < 400 && v.Type == gjson.Number && n >= 400 && n < 600 {
			e.Status = int(n)
		}
	}
	if n, err := strconv.Atoi(e.Code); err == nil && e.Status < 400 && n >= 400 && n < 600 {
		e.Status = n
	}
	if e.RetryAfter == 0 {
		each(src.Get("details"), func(d gjson.Result) bool {
			if wait, err := time.ParseDuration(str(d.Get("retryDelay"))); err == nil && wait > 0 {
				e.RetryAfter = wait
			}
			return e.RetryAfter == 0
		})
	}
	return e
}

// isError reports whether a body of an unknown status is an error envelope.
func isError(root gjson.Result) bool {
	if root.IsArray() {
		root = root.Get("0")
	}
	e := root.Get("error")
	if e.IsObject() || (e.Type == gjson.String && e.Str != "") {
		return true
	}
	kind, object := str(root.Get("type")), str(root.Get("object"))
	return object == "error" || (kind == "error" && root.Get("message").Exists()) ||
		root.Get("__type").Exists() || bareMessage(root) || bareDetail(root)
}

// bareDetail reports whether an object is nothing but a detail, as FastAPI
// writes errors, and with it Mistral and vLLM.
func bareDetail(root gjson.Result) bool {
	n := 0
	root.ForEach(func(_, _ gjson.Result) bool { n++; return n < 2 })
	return n == 1 && root.Get("detail").Exists()
}

// bareMessage reports whether an object is nothing but a message, as Bedrock
// and Cohere write errors.
func bareMessage(root gjson.Result) bool {
	bare := str(firstOf(root, "message", "Message")) != ""
	root.ForEach(func(k, _ gjson.Result) bool {
		switch k.Str {
		case "message", "Message", "id", "code", "type", "status", "statusCode", "request_id":
		default:
			bare = false
		}
		return bare
	})
	return bare
}
