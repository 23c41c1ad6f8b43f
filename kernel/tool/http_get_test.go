package tool

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rax-project/rax/kernel"
)

func TestClassify(t *testing.T) {
	for address, want := range map[string]addressClass{
		"93.184.215.14": addressPublic, "8.8.8.8": addressPublic, "2606:2800:220:1::1": addressPublic,
		"2001:4860:4860::8888": addressPublic, "::ffff:8.8.8.8": addressPublic, "64:ff9b::808:808": addressPublic,
		"127.0.0.1": addressPrivate, "127.255.255.254": addressPrivate, "::1": addressPrivate,
		"10.1.2.3": addressPrivate, "172.16.0.1": addressPrivate, "172.31.255.255": addressPrivate,
		"192.168.1.1": addressPrivate, "100.64.0.1": addressPrivate, "fd12::1": addressPrivate,
		"::ffff:127.0.0.1": addressPrivate, "::ffff:10.0.0.1": addressPrivate, "::ffff:c0a8:1": addressPrivate,
		"64:ff9b::7f00:1": addressPrivate,
		"169.254.169.254": addressReserved, "::ffff:169.254.169.254": addressReserved, "64:ff9b::a9fe:a9fe": addressReserved,
		"fe80::1": addressReserved, "fe80::1%eth0": addressReserved, "fd00:ec2::254": addressReserved,
		"168.63.129.16": addressReserved, "100.100.100.200": addressReserved, "192.0.0.192": addressReserved,
		"0.0.0.0": addressReserved, "::": addressReserved, "0.1.2.3": addressReserved,
		"224.0.0.1": addressReserved, "255.255.255.255": addressReserved, "ff02::1": addressReserved,
		"198.18.0.1": addressReserved, "203.0.113.1": addressReserved, "240.0.0.1": addressReserved,
		"2002:7f00:1::": addressReserved, "2001::1": addressReserved, "2001:db8::1": addressReserved,
		"::127.0.0.1": addressReserved, "fec0::1": addressReserved, "172.32.0.1": addressPublic, "11.0.0.1": addressPublic,
	} {
		if got := classify(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is of class %d, want %d", address, got, want)
		}
	}
	for _, c := range []struct{ network, address string }{
		{"udp4", "8.8.8.8:53"}, {"unix", "/run/docker.sock"}, {"tcp4", "localhost:80"}, {"tcp4", ""}, {"tcp6", "[::ffff:127.0.0.1]:80"},
	} {
		if err := dialControl(false)(c.network, c.address, nil); !errors.Is(err, errAddress) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func fetcher(t *testing.T, allowPrivate bool) *Registry {
	t.Helper()
	return registry(t, Limits{}, httpGet(allowPrivate))
}

func TestHTTPGetRefused(t *testing.T) {
	reached := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := fetcher(t, false)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]", "127.1.2.3"} {
		_, err := call(t, r, "http_get", "url", "http://"+host+":"+port+"/")
		if err == nil {
			t.Errorf("%s was got", host)
		}
		// Where a host has no IPv6 at all, connecting fails by itself.
		if err != nil && !errors.Is(err, errAddress) && !strings.Contains(host, ":") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if reached {
		t.Error("the server on the loopback was reached")
	}
	for address, want := range map[string]string{
		"http://169.254.169.254/latest/meta-data/": "not public",
		"http://[fd00:ec2::254]/":                  "not public",
		"http://[fe80::1%25lo]/":                   "not public",
		"http://10.0.0.1/":                         "not public",
		"file:///etc/passwd":                       "only http",
		"gopher://127.0.0.1:6379/_x":               "only http",
		"ftp://127.0.0.1/":                         "only http",
		"/etc/passwd":                              "only http",
		"https://":                                 "no host",
		"http://user:pw@example.com/":              "user or password",
		"http://a b/":                              "not a URL",
		"http://%zz/":                              "not a URL",
		"":                                         "1 to 2000 characters",
		"http://example.com/" + strings.Repeat("x", 3000): "1 to 2000 characters",
	} {
		bad(t, r, want, "http_get", "url", address)
	}
	// Metadata stays refused where private networks are allowed.
	bad(t, fetcher(t, true), "not public", "http_get", "url", "http://169.254.169.254/")
}

// TestHTTPGetRebinding has a name that looks harmless and resolves to the
// loopback: the check is on the address that is connected to.
func TestHTTPGetRebinding(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var dialed atomic.Int32
	dialer := &net.Dialer{Control: dialControl(false), Resolver: &net.Resolver{PreferGo: true, Dial: loopbackDNS(t, &dialed)}}
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("harmless.example.com.", port))
	if err == nil {
		conn.Close()
		t.Fatal("connected")
	}
	if !errors.Is(err, errAddress) || dialed.Load() == 0 {
		t.Errorf("error %v after %d questions", err, dialed.Load())
	}
}

// loopbackDNS answers each question for an IPv4 address with 127.0.0.1.
func loopbackDNS(t *testing.T, asked *atomic.Int32) func(context.Context, string, string) (net.Conn, error) {
	server, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Skipf("no UDP here: %v", err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			end := 12 // of the question
			for end < n && buffer[end] != 0 {
				end += int(buffer[end]) + 1
			}
			kind := buffer[end+2]
			reply := append([]byte{}, buffer[:end+5]...)
			copy(reply[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
			if kind == 1 {
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
			}
			_, _ = server.WriteTo(reply, from)
		}
	}()
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		asked.Add(1)
		return new(net.Dialer).DialContext(ctx, "udp4", server.LocalAddr().String())
	}
}

func TestHTTPGet(t *testing.T) {
	mux := http.NewServeMux()
	serve := func(path, contentType string, body []byte) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{contentType}
			if contentType == "" {
				w.Header()["Content-Type"] = nil
			}
			_, _ = w.Write(body)
		})
	}
	serve("/text", "text/plain; charset=utf-8", []byte("héllo"))
	serve("/json", "application/vnd.api+json", []byte(`{"a":1}`))
	serve("/latin", "text/html; charset=ISO-8859-1", []byte("caf\xe9"))
	serve("/utf16", "text/plain; charset=utf-16le", []byte("h\x00i\x00"))
	serve("/unlabelled", "", []byte("<html><body>x</body></html>"))
	serve("/image", "image/png", []byte("\x89PNG\r\n"))
	serve("/liar", "text/plain", []byte("a\x00b"))
	serve("/charset", "text/plain; charset=klingon", []byte("a"))
	serve("/broken", "text/; ;;", []byte("a"))
	serve("/empty", "text/plain", nil)
	serve("/big", "text/plain", bytes.Repeat([]byte("é"), maxBody))
	serve("/bigimage", "image/png", bytes.Repeat([]byte{0xff}, 2*maxBody))
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		z := gzip.NewWriter(w)
		chunk := bytes.Repeat([]byte("a"), 1<<20)
		for range 8 {
			if _, err := z.Write(chunk); err != nil {
				return
			}
		}
		z.Close()
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not here", http.StatusGone) })
	mux.HandleFunc("/agent", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.UserAgent(), " ", r.Header.Get("Cookie"), r.Header.Get("Authorization"))
	})
	mux.Handle("/moved", http.RedirectHandler("/text?token=x", http.StatusFound))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.Handle("/file", http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	mux.Handle("/metadata", http.RedirectHandler("http://169.254.169.254/latest/", http.StatusFound))
	mux.Handle("/mapped", http.RedirectHandler("http://[::ffff:169.254.169.254]/latest/", http.StatusFound))
	mux.Handle("/user", http.RedirectHandler("http://a:b@example.com/", http.StatusFound))
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1") // is not used
	r := fetcher(t, true)
	before := runtime.NumGoroutine()

	host := strings.TrimPrefix(server.URL, "http://")
	for path, want := range map[string]string{
		"/text":       "HTTP 200 OK, text/plain\n\nhéllo",
		"/json":       "HTTP 200 OK, application/vnd.api+json\n\n{\"a\":1}",
		"/latin":      "HTTP 200 OK, text/html\n\ncafé",
		"/utf16":      "HTTP 200 OK, text/plain\n\nhi",
		"/unlabelled": "HTTP 200 OK, text/html\n\n<html><body>x</body></html>",
		"/image":      "HTTP 200 OK, image/png\n[not text, not shown: 6 bytes]\n",
		"/liar":       "HTTP 200 OK, text/plain\n[not text, not shown: 3 bytes]\n",
		"/charset":    "HTTP 200 OK, text/plain\n[not text, not shown: 1 byte]\n",
		"/broken":     "HTTP 200 OK, an unreadable content type\n[not text, not shown: 1 byte]\n",
		"/empty":      "HTTP 200 OK, text/plain\n[empty]\n",
		"/bigimage":   "HTTP 200 OK, image/png\n[not text, not shown: more than 131072 bytes]\n",
		"/gone":       "HTTP 410 Gone, text/plain\n\nnot here\n",
		"/agent":      "HTTP 200 OK, text/plain\n\nrax (+https://github.com/rax-project/rax) ",
		"/moved":      "HTTP 200 OK, text/plain, redirected to http://" + host + "/text\n\nhéllo",
	} {
		if got := good(t, r, "http_get", "url", server.URL+path); got.Content != want || got.Truncated {
			t.Errorf("%s gives %q, want %q", path, got.Content, want)
		}
	}
	for _, path := range []string{"/big", "/bomb"} {
		got := good(t, r, "http_get", "url", server.URL+path)
		if !got.Truncated || len(got.Content) > maxBody+200 || !strings.Contains(got.Content, "[cut: the first 131072 bytes]") {
			t.Errorf("%s: truncated %v, %d bytes", path, got.Truncated, len(got.Content))
		}
	}
	bad(t, r, "more than 5 redirects", "http_get", "url", server.URL+"/loop")
	bad(t, r, "only http", "http_get", "url", server.URL+"/file")
	bad(t, r, "not public", "http_get", "url", server.URL+"/metadata")
	bad(t, r, "not public", "http_get", "url", server.URL+"/mapped")
	bad(t, r, "user or password", "http_get", "url", server.URL+"/user")
	server.CloseClientConnections()
	noneLeft(t, before)
}

func TestRequestError(t *testing.T) {
	where := &net.DNSError{Err: "no such host", Name: "x.example", Server: "10.0.0.53:53", IsNotFound: true}
	for want, err := range map[string]error{
		"there is no host of this name":               &url.Error{Op: "Get", URL: "http://x.example/?key=1", Err: &net.OpError{Op: "dial", Err: where}},
		"the name of the host could not be looked up": &net.DNSError{Err: "server misbehaving", Server: "10.0.0.53:53"},
		"the address is not public; it is refused":    &url.Error{Err: &net.OpError{Op: "dial", Net: "tcp", Err: errAddress}},
		"stopped after 9 redirects":                   &url.Error{Err: errors.New("stopped after 9 redirects")},
	} {
		if got := requestError(err); got.Error() != want {
			t.Errorf("%v becomes %q, want %q", err, got, want)
		}
	}
}

func TestHTTPGetSlow(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "begun")
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	r := registry(t, Limits{}, WithTimeout(httpGet(true), 50*time.Millisecond))
	_, err := call(t, r, "http_get", "url", server.URL+"/?key=secret")
	if e := asError[*TimeoutError](t, err); strings.Contains(e.Error(), "secret") {
		t.Errorf("the error shows the query: %v", err)
	}
	if spec := httpGet(false).Spec(); spec.Timeout != httpTimeout || spec.Effects != kernel.EffectRead {
		t.Errorf("spec %+v", spec)
	}
}
