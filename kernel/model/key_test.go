package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rax-project/rax/kernel/model"
	"github.com/rax-project/rax/kernel/model/fake"
	"github.com/rax-project/rax/parsers/provider"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func TestKeyMissing(t *testing.T) {
	for spec, variable := range map[string]string{
		"openai:m": "OPENAI_API_KEY", "openai-responses:m": "OPENAI_API_KEY",
		"anthropic:m": "ANTHROPIC_API_KEY", "gemini:m": "GEMINI_API_KEY",
	} {
		_, err := model.Open(spec, model.Options{})
		var e *model.KeyError
		if !errors.As(err, &e) || e.Variable != variable || !strings.Contains(e.Hint(), variable) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if _, err := model.Open("ollama:m", model.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := model.Open("gemini:m", model.Options{Getenv: only("GOOGLE_API_KEY", "k")}); err != nil {
		t.Error(err)
	}
}

func TestKeyFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes on Windows")
	}
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := "fake" + "-" + "key"
	for _, c := range []struct{ name, text string }{
		{"alone", key + "\n"},
		{"crlf", "\ufeff" + key + "\r\n"},
		{"named", "# mine\nOPENAI_API_KEY=other\nexport ANTHROPIC_API_KEY=\"" + key + "\"\n"},
	} {
		s := serve(t, good())
		m, err := model.Open("anthropic:m", model.Options{
			Getenv: only("ANTHROPIC_BASE_URL", s.URL), KeyFile: write(c.name, c.text, 0o600),
		})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, _, err := ask(t, m, false, question()); err != nil {
			t.Errorf("%s: %v %q", c.name, err, s.Problems())
		}
	}
	secret := "very" + "-" + "secret"
	for _, c := range []struct {
		name, path, want, hint string
	}{
		{"open to the group", write("group", secret, 0o640), "mode 0640", "chmod 600"},
		{"open to all", write("all", secret, 0o604), "mode 0604", "chmod 600"},
		{"missing", filepath.Join(dir, "none"), "no such file", ""},
		{"a directory", dir, "no regular file", ""},
		{"empty", write("empty", "\n# nothing\n", 0o600), "ANTHROPIC_API_KEY is not set", ""},
		{"another's", write("other", "OPENAI_API_KEY="+secret, 0o600), "ANTHROPIC_API_KEY is not set", ""},
		{"two words", write("words", secret+" and more", 0o600), "a space", ""},
		{"huge", write("huge", strings.Repeat(secret, 1<<14), 0o600), "64 KiB", ""},
	} {
		_, err := model.Open("anthropic:m", model.Options{KeyFile: c.path})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", c.name, err)
		}
		var e *model.KeyFileError
		if c.hint != "" && (!errors.As(err, &e) || !strings.HasPrefix(e.Hint(), c.hint)) {
			t.Errorf("%s: hint of %v", c.name, err)
		}
	}
	// The environment comes first, and then the file is not even looked at.
	if _, err := model.Open("anthropic:m", model.Options{Getenv: only("ANTHROPIC_API_KEY", key), KeyFile: filepath.Join(dir, "none")}); err != nil {
		t.Error(err)
	}
}

// TestKeyStaysSecret looks for the key in everything that a failed request says,
// with servers that repeat it.
func TestKeyStaysSecret(t *testing.T) {
	everywhere(t, func(t *testing.T, spec string, stream bool) {
		s := serve(t)
		s.Key = "secret" + "-0123456789-" + "key"
		for _, step := range []fake.Step{
			{Status: 401, Message: "Incorrect API key provided: " + s.Key},
			{Status: 400, Body: `{"error":{"message":"` + s.Key + `","type":"` + s.Key + `","code":"` + s.Key + `","param":"` + s.Key + `"}}`},
			{Status: 500, Message: s.Key}, {Stop: fake.StopDrop}, {Status: 301, Header: map[string]string{"Location": "http://127.0.0.1:1/" + s.Key}, Body: "moved"},
			{Body: s.Key}, long(fake.StopCut), {Body: `{"error":"` + s.Key + `"}`},
			{Answer: fake.Answer{Text: "hello"}, Stop: fake.StopError, After: 2, Message: s.Key},
		} {
			s.Add(step)
			m := open(t, s, spec, func(o *model.Options) { o.MaxRetries = -1 })
			_, _, err := ask(t, m, stream, question())
			if err == nil {
				if !stream && step.Stop != "" {
					continue // a body knows no error in its middle
				}
				t.Fatalf("%+v: no error", step)
			}
			said := fmt.Sprintf("%v %+v %#v", err, err, err)
			var api *provider.APIError
			if errors.As(err, &api) {
				said += fmt.Sprintf("%+v", *api)
			}
			if spec != "ollama:m" && strings.Contains(said, s.Key) {
				t.Errorf("%+v: the key stands in %s", step, said)
			}
		}
	})
	for _, bad := range []string{"a key", "key\x01", "schlüssel", "k\ney"} {
		_, err := model.Open("openai:m", model.Options{Getenv: only("OPENAI_API_KEY", bad)})
		var e *model.KeyError
		if !errors.As(err, &e) || strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A redirect is not followed: the key would go along.
func TestRedirect(t *testing.T) {
	var stolen http.Header
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen = r.Header }))
	defer thief.Close()
	for _, status := range []int{301, 307, 308} {
		s := serve(t, fake.Step{Status: status, Body: "moved", Header: map[string]string{"Location": thief.URL}})
		_, _, err := ask(t, open(t, s, "anthropic:m"), false, question())
		var e *model.StatusError
		if !errors.As(err, &e) || e.Status != status || !strings.Contains(err.Error(), "redirect") {
			t.Errorf("%d: %v", status, err)
		}
	}
	if stolen != nil {
		t.Errorf("a redirect was followed with %q", stolen)
	}
}

func TestAddresses(t *testing.T) {
	secret := "hunter" + "2"
	for _, c := range []struct{ spec, variable, value, want string }{
		{"openai:m", "OPENAI_BASE_URL", "http://user:" + secret + "@h/v1", "user or password"},
		{"openai:m", "OPENAI_BASE_URL", "http://h/v1?key=" + secret, "query"},
		{"openai:m", "OPENAI_BASE_URL", "http://h/v1#" + secret, "fragment"},
		{"openai:m", "OPENAI_BASE_URL", "ftp://h/" + secret, "neither http nor https"},
		{"openai:m", "OPENAI_BASE_URL", "http:///" + secret, "no host"},
		{"openai:m", "OPENAI_BASE_URL", "http://h:x" + secret, "no URL"},
		{"openai:m", "OPENAI_BASE_URL", "http://%zz" + secret, "no URL"},
		{"ollama:m", "OLLAMA_HOST", "h:99999", "port"},
		{"ollama:m", "OLLAMA_HOST", "h:port", "port"},
		{"ollama:m", "OLLAMA_HOST", "u:" + secret + "@h", "host and port"},
	} {
		_, err := model.Open(c.spec, model.Options{Getenv: only(c.variable, c.value)})
		var e *model.AddressError
		if !errors.As(err, &e) || e.Variable != c.variable || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", c.value, err)
		}
	}
}

// reached is a round tripper that notes where requests would go.
type reached struct{ url string }

var errReached = errors.New("reached")

func (r *reached) RoundTrip(req *http.Request) (*http.Response, error) {
	r.url = req.URL.String()
	return nil, errReached
}

func TestWhereRequestsGo(t *testing.T) {
	for _, c := range []struct{ spec, variable, value, want string }{
		{"openai:m", "OPENAI_BASE_URL", "", "https://api.openai.com/v1/chat/completions"},
		{"openai-responses:m", "OPENAI_BASE_URL", "https://h/v1/", "https://h/v1/responses"},
		{"anthropic:m", "ANTHROPIC_BASE_URL", "", "https://api.anthropic.com/v1/messages"},
		{"anthropic:m", "ANTHROPIC_BASE_URL", "https://h/a%20b", "https://h/a%20b/v1/messages"},
		{"gemini:a/../b?c", "GOOGLE_GEMINI_BASE_URL", "", "https://generativelanguage.googleapis.com/v1beta/models/a%2F..%2Fb%3Fc:generateContent"},
		{"ollama:m", "OLLAMA_HOST", "", "http://127.0.0.1:11434/api/chat"},
		{"ollama:m", "OLLAMA_HOST", "h", "http://h:11434/api/chat"},
		{"ollama:m", "OLLAMA_HOST", "h:1", "http://h:1/api/chat"},
		{"ollama:m", "OLLAMA_HOST", ":1", "http://127.0.0.1:1/api/chat"},
		{"ollama:m", "OLLAMA_HOST", "0.0.0.0", "http://127.0.0.1:11434/api/chat"},
		{"ollama:m", "OLLAMA_HOST", "[::1]:2", "http://[::1]:2/api/chat"},
		{"ollama:m", "OLLAMA_HOST", "::1", "http://[::1]:11434/api/chat"},
		{"ollama:m", "OLLAMA_HOST", "https://h/p/", "https://h:443/p/api/chat"},
		{"ollama:m", "OLLAMA_HOST", "http://h", "http://h:80/api/chat"},
	} {
		to := &reached{}
		m, err := model.Open(c.spec, model.Options{
			HTTP: &http.Client{Transport: to}, MaxRetries: -1,
			Getenv: func(name string) string {
				if name == c.variable {
					return c.value
				}
				return "k"
			},
		})
		if err != nil {
			t.Errorf("%s: %v", c.value, err)
			continue
		}
		if _, err := m.Complete(context.Background(), question(), nil); !errors.Is(err, errReached) || to.url != c.want {
			t.Errorf("%s %q: %s, want %s (%v)", c.spec, c.value, to.url, c.want, err)
		}
	}
}

// TestProxy asks, in a process of its own, for a host that only the proxy of the
// environment knows.
func TestProxy(t *testing.T) {
	if os.Getenv("RAX_TEST_PROXIED") != "" {
		m, err := model.Open("ollama:m", model.Options{Getenv: only("OLLAMA_HOST", "http://ollama.invalid:80"), MaxRetries: -1})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := m.Complete(t.Context(), question(), nil)
		if err != nil || reply.Answer.Text() != "hello" {
			t.Fatalf("%q, %v", reply.Answer.Text(), err)
		}
		return
	}
	s := serve(t, good())
	cmd := exec.Command(os.Args[0], "-test.run=^TestProxy$")
	cmd.Env = append(os.Environ(), "RAX_TEST_PROXIED=1", "HTTP_PROXY="+s.URL, "http_proxy="+s.URL, "NO_PROXY=", "no_proxy=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %s", err, out.String())
	}
	if r := s.Requests(); len(r) != 1 || r[0].Host != "ollama.invalid:80" && r[0].Host != "ollama.invalid" {
		t.Errorf("the proxy got %d requests", len(r))
	}
}
