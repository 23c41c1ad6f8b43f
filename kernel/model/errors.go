package model

import (
	"fmt"
	"time"
)

// UnreachableError says that no response came from a server.
type UnreachableError struct {
	Provider string
	// Address is the server's scheme and host.
	Address string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s at %s cannot be reached: %v", e.Provider, e.Address, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Hint says what to look at.
func (e *UnreachableError) Hint() string {
	if e.Provider == "ollama" {
		return "is ollama running? start it with: ollama serve; or set OLLAMA_HOST"
	}
	for _, s := range services() {
		if s.name == e.Provider {
			return "is the network up? another address can be set with " + s.baseVar
		}
	}
	return ""
}

// TimeoutError says that nothing came from a server for too long.
type TimeoutError struct {
	Provider string
	// Waiting says for what: "response" or "the rest of the response".
	Waiting string
	After   time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%s: no %s within %s", e.Provider, e.Waiting, e.After)
}

// Timeout is true, as net.Error has it.
func (e *TimeoutError) Timeout() bool { return true }

// The values of TimeoutError.Waiting.
const (
	waitHeader = "response"
	waitRest   = "more of the response"
)

// CutError says that an answer stopped before its end.
type CutError struct {
	Provider string
	// Err is what broke the connection; nil when it was closed in good order.
	Err error
}

func (e *CutError) Error() string {
	s := e.Provider + ": the answer stopped before its end"
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *CutError) Unwrap() error { return e.Err }

// SizeError says that a response was longer than the limit.
type SizeError struct {
	Provider string
	Limit    int64 // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s: the response is longer than %d bytes", e.Provider, e.Limit)
}

// StatusError is an HTTP status that is neither an answer nor an error of the
// provider, such as a redirect.
type StatusError struct {
	Provider string
	Status   int
}

func (e *StatusError) Error() string {
	if e.Status >= 300 && e.Status < 400 {
		return fmt.Sprintf("%s: status %d, a redirect, which is not followed", e.Provider, e.Status)
	}
	return fmt.Sprintf("%s: status %d is no answer", e.Provider, e.Status)
}
