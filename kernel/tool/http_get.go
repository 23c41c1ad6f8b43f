package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rax-project/rax/kernel"
	"golang.org/x/text/encoding/htmlindex"
)

type httpGetArgs struct {
	URL string `json:"url" jsonschema:"address that begins with https:// or http://"`
}

const (
	httpTimeout  = 30 * time.Second
	maxRedirects = 5
	maxBody      = 128 << 10 // bytes, after decompression
	maxURL       = 2000
)

func httpGet(allowPrivate bool) kernel.Tool {
	client := &http.Client{
		Transport: &http.Transport{
			// No proxy: it would connect in our place, past the check.
			DialContext: (&net.Dialer{
				Timeout: 10 * time.Second,
				Control: dialControl(allowPrivate),
			}).DialContext,
			DisableKeepAlives:      true, // no connection outlives its call
			MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout:    10 * time.Second,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return checkURL(r.URL)
		},
	}
	t := Func("http_get",
		"Get a web page or a text over HTTP. Other content is described, not shown; addresses in private networks are refused unless allowed.",
		kernel.EffectRead,
		func(ctx context.Context, a httpGetArgs) (kernel.ToolResult, error) {
			return get(ctx, client, a.URL)
		},
		length("url", 1, maxURL))
	return WithTimeout(t, httpTimeout)
}

func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("only http:// and https:// addresses can be got")
	case u.Hostname() == "":
		return errors.New("the address names no host")
	case u.User != nil:
		return errors.New("an address with a user or password is refused")
	}
	return nil
}

func get(ctx context.Context, client *http.Client, address string) (kernel.ToolResult, error) {
	u, err := url.Parse(address)
	if err != nil {
		return kernel.ToolResult{}, errors.New("the address is not a URL")
	}
	if err := checkURL(u); err != nil {
		return kernel.ToolResult{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return kernel.ToolResult{}, errors.New("the address is not a URL")
	}
	request.Header.Set("User-Agent", "rax (+https://github.com/rax-project/rax)")
	request.Header.Set("Accept", "text/*, application/json, application/xml;q=0.9, */*;q=0.5")
	response, err := client.Do(request)
	if err != nil {
		return kernel.ToolResult{}, requestError(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return kernel.ToolResult{}, requestError(err)
	}
	return show(response, body), nil
}

// requestError drops the URL, whose query may hold a key, and explains a
// refusal.
func requestError(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var lookup *net.DNSError
	switch {
	case errors.Is(err, errAddress):
		return errAddress // net.OpError would tell what a name resolves to
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return errors.New("there is no host of this name")
	case errors.As(err, &lookup) && !lookup.IsTimeout:
		return errors.New("the name of the host could not be looked up")
	}
	return err
}

// show words a response.
func show(response *http.Response, body []byte) kernel.ToolResult {
	status := fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	status = strings.TrimSpace(status)
	cut := len(body) > maxBody
	body = body[:min(len(body), maxBody)]
	contentType := response.Header.Get("Content-Type")
	if contentType == "" {
		contentType = http.DetectContentType(body)
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		media = "an unreadable content type"
	}
	head := "HTTP " + status + ", " + media
	if from := response.Request.URL; response.Request.Response != nil {
		// Without the query, which may hold a signature.
		head += ", redirected to " + shownPath(cutRunes(from.Scheme+"://"+from.Host+from.EscapedPath(), 300))
	}
	result := kernel.ToolResult{Summary: status, Truncated: cut}
	text, ok := decodeText(media, params["charset"], body)
	switch {
	case len(body) == 0:
		result.Content = head + "\n[empty]\n"
	case !ok && cut:
		result.Content = fmt.Sprintf("%s\n[not text, not shown: more than %d bytes]\n", head, maxBody)
		result.Truncated = false // nothing of it is shown
	case !ok:
		result.Content = fmt.Sprintf("%s\n[not text, not shown: %s]\n", head, count(len(body), "byte"))
	case cut:
		result.Content = note(head+"\n\n"+text, fmt.Sprintf("cut: the first %d bytes", maxBody))
	default:
		result.Content = head + "\n\n" + text
	}
	return result
}

// decodeText returns a body as UTF-8 if it is text by its declared type and by
// its looks.
func decodeText(media, charset string, body []byte) (string, bool) {
	if !isText(media) {
		return "", false
	}
	if charset != "" && !strings.EqualFold(charset, "utf-8") {
		encoding, err := htmlindex.Get(charset)
		if err != nil {
			return "", false
		}
		if body, err = encoding.NewDecoder().Bytes(body); err != nil {
			return "", false
		}
	}
	if bytes.IndexByte(body, 0) >= 0 {
		return "", false
	}
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return string(body), true
}

func isText(media string) bool {
	switch media {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript",
		"application/x-ndjson", "application/jsonl", "application/yaml", "application/x-yaml",
		"application/toml", "application/sql", "application/graphql", "application/x-sh",
		"application/x-www-form-urlencoded":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") ||
		strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+yaml")
}
