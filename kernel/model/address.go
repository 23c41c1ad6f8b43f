package model

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// AddressError says that the address of a provider cannot be used. It does not
// repeat it: there may be a password in it.
type AddressError struct {
	// Variable is the environment variable that holds the address.
	Variable string
	Reason   string
}

func (e *AddressError) Error() string { return e.Variable + ": " + e.Reason }

// Hint says what an address looks like.
func (e *AddressError) Hint() string {
	if e.Variable == "OLLAMA_HOST" {
		return "give a host, host:port or URL, such as http://127.0.0.1:11434"
	}
	return "give a URL such as https://example.com/v1"
}

// addressOf gives the base URL of a service, without a slash at its end, and
// whether it is the provider's own.
func addressOf(s service, getenv func(string) string) (base *url.URL, own bool, err error) {
	text := strings.TrimSpace(getenv(s.baseVar))
	if text == "" {
		base, err = url.Parse(s.base)
		return base, true, err
	}
	if s.name == "ollama" {
		if text, err = ollamaURL(text); err != nil {
			return nil, false, &AddressError{s.baseVar, err.Error()}
		}
	}
	base, err = url.Parse(text)
	if err != nil {
		return nil, false, &AddressError{s.baseVar, "no URL"} // the error repeats the text
	}
	reason := ""
	switch {
	case base.Scheme != "http" && base.Scheme != "https":
		reason = "neither http nor https"
	case base.Hostname() == "":
		reason = "no host"
	case base.User != nil:
		reason = "a user or password does not belong into an address"
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		reason = "a query or fragment does not belong into an address"
	}
	if reason != "" {
		return nil, false, &AddressError{s.baseVar, reason}
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
	official, err := url.Parse(s.base)
	if err != nil {
		return nil, false, err
	}
	return base, strings.EqualFold(base.Hostname(), official.Hostname()), nil
}

// ollamaURL reads OLLAMA_HOST as Ollama's own client does: everything but the
// host may be missing, and the host too. The address that a server listens on
// everywhere with (0.0.0.0) means this machine.
func ollamaURL(text string) (string, error) {
	port := "11434"
	scheme, rest, ok := strings.Cut(text, "://")
	switch {
	case !ok:
		scheme, rest = "http", text
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	}
	rest, path, _ := strings.Cut(rest, "/")
	if strings.ContainsAny(rest, "@?#") {
		return "", fmt.Errorf("only host and port are expected")
	}
	host, given, err := net.SplitHostPort(rest)
	if err != nil {
		host = strings.Trim(rest, "[]")
	} else if given != "" {
		port = given
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("no port from 1 to 65535")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/" + path, nil
}
