package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rax-project/rax/debrief"
	"github.com/rax-project/rax/kernel/model/fake"
)

// TestProxy puts the program between a client and a provider: the client sees an
// answer without the reason, and the trace holds it.
func TestProxy(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := fake.New(fake.Step{Answer: fake.Answer{Text: "I add.\n" + sumBlock, Calls: []fake.Call{sumCall("call_a")}}})
	defer server.Close()
	dir := t.TempDir()
	cmd := &exec.Cmd{
		Path: binary, Args: []string{"rax", "proxy", "--listen", "127.0.0.1:0", "--upstream", "openai=" + server.URL + "/v1"},
		Env: append(os.Environ(), "RAX_TRACE_DIR="+dir, "HOME="+dir),
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	address := make([]byte, 256)
	n, err := stderr.Read(address)
	if err != nil {
		t.Fatal(err)
	}
	base := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(string(address[:n]))
	if base == "" {
		t.Fatalf("no address in %q", address[:n])
	}
	request := `{"model":"m","messages":[{"role":"user","content":"2+3?"}],"tools":[{"type":"function","function":{"name":"calculator","parameters":{"type":"object","properties":{"expression":{"type":"string"}}}}}]}`
	post, err := http.NewRequest(http.MethodPost, base+"/v1/chat/completions", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Authorization", "Bearer "+server.Key)
	post.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || bytes.Contains(body, []byte("rationale")) || !bytes.Contains(body, []byte("I add.")) {
		t.Errorf("status %d: %s %v", resp.StatusCode, body, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(stderr)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitDone && code != exitInterrupted {
		t.Errorf("exit %d: %s", code, rest)
	}
	c := rax(t, dir, nil, "diagnose", "debrief", "latest", "--json")
	var d debrief.Debrief
	if err := json.Unmarshal([]byte(c.stdout), &d); err != nil {
		t.Fatalf("%v\n%s%s", err, c.stderr, rest)
	}
	if got := statuses(d); !strings.HasPrefix(got, "calculator present") || d.Path[0].Rationale.Why != "the sum is needed" {
		t.Errorf("%s", c.stdout)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	for _, f := range files {
		if data, err := os.ReadFile(f); err != nil || bytes.Contains(data, []byte(server.Key)) {
			t.Errorf("the key is in the trace: %v", err)
		}
	}
}
