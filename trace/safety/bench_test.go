package safety

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cleanLine is a tool result as agents write them, without any anchor.
func cleanLine(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"kind":"tool-call-end","runId":"01JABCDEFGHJKMNPQRSTVWXYZ0","timestamp":1760000000000,"iter":3,"seq":41,"toolName":"read_file","ok":true,"durationMs":12,"result":"`)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `func (r *Reader) read%d(ctx context.Context, n int) (int, error) {\n\tif n <= 0 {\n\t\treturn 0, \"short\"\n\t}\n`, i)
	}
	b.WriteString(`"}`)
	return b.Bytes()
}

// usageLine is an llm-exchange: anchors in its keys (tokens), no secret.
func usageLine() []byte {
	return []byte(`{"kind":"llm-exchange","runId":"01JABCDEFGHJKMNPQRSTVWXYZ0","timestamp":1760000000000,"iter":3,"seq":40,"model":"m-1","usage":{"input_tokens":4096,"output_tokens":512,"cache_read_input_tokens":2048},"url":"https://example.org/v1/messages","response":"` +
		strings.Repeat(`The next step reads the file and then runs the tests again.\n`, 40) + `"}`)
}

func BenchmarkLine(b *testing.B) {
	for _, c := range []struct {
		name string
		line []byte
	}{
		{"clean-1KiB", cleanLine(1 << 10)},
		{"clean-64KiB", cleanLine(64 << 10)},
		{"usage", usageLine()},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := Default().Session()
			dst := make([]byte, 0, len(c.line)+1024)
			if _, found := s.Line(dst, c.line); found != nil {
				b.Fatal("the line is not clean")
			}
			b.SetBytes(int64(len(c.line)))
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = s.Line(dst[:0], c.line)
			}
		})
		b.Run(c.name+"/copy", func(b *testing.B) {
			dst := make([]byte, 0, len(c.line)+1024)
			b.SetBytes(int64(len(c.line)))
			for b.Loop() {
				dst = append(dst[:0], c.line...)
			}
		})
	}
}

func BenchmarkText(b *testing.B) {
	text := string(cleanLine(4 << 10))
	s := Default().Session()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Text("narrative", text)
	}
}

func BenchmarkStream(b *testing.B) {
	text := string(cleanLine(4 << 10))
	s := Default().Session()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		st := s.Stream("narrative")
		for i := 0; i < len(text); i += 5 {
			st.Write(text[i:min(len(text), i+5)])
		}
		st.Close()
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		compile(allRules(), allAnchors())
	}
}

// recorded is text as agents write it: the sessions of the recordings where they
// are at hand, else the transcripts and traces of the fixtures, over and over.
func recorded(b *testing.B) (name string, lines [][]byte, size int) {
	b.Helper()
	name = "fixtures"
	patterns := []string{"../../fixtures/transcript/claude-code/*.jsonl", "../../fixtures/trace/*.jsonl"}
	for _, root := range []string{os.Getenv("RAX_DATA"), "../../../shared/data"} {
		if root != "" && isDir(filepath.Join(root, "claude-code")) {
			name, patterns = "sessions", []string{filepath.Join(root, "claude-code", "*.jsonl")}
			break
		}
	}
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			b.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			lines = append(lines, bytes.SplitAfter(data, []byte{'\n'})...)
		}
	}
	once := lines
	for ; ; lines = append(lines, once...) {
		size = 0
		for _, line := range lines {
			size += len(line)
		}
		if size == 0 {
			b.Fatal("no text found")
		}
		if size >= 2<<20 {
			return name, lines, size
		}
	}
}

// BenchmarkRecorded is the throughput on text as agents write it, beside a plain
// copy of the same bytes, and beside the program gitleaks where it is installed
// (its start, which every use of it pays, included).
func BenchmarkRecorded(b *testing.B) {
	name, lines, size := recorded(b)
	b.Run(name+"/rax", func(b *testing.B) {
		s := Default().Session()
		var dst []byte
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, line := range lines {
				dst, _ = s.Line(dst[:0], line)
			}
		}
	})
	b.Run(name+"/stream", func(b *testing.B) {
		s := Default().Session()
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, line := range lines {
				st := s.Stream("content")
				for at := 0; at < len(line); at += 24 {
					st.Write(string(line[at:min(len(line), at+24)]))
				}
				st.Close()
			}
		}
	})
	b.Run(name+"/copy", func(b *testing.B) {
		var dst []byte
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, line := range lines {
				dst = append(dst[:0], line...)
			}
		}
	})
	program, err := exec.LookPath("gitleaks")
	if err != nil {
		// The log of a skipped benchmark is not shown.
		fmt.Fprintln(os.Stderr, "BenchmarkRecorded/gitleaks is skipped: no such program on PATH")
		return
	}
	b.Run(name+"/gitleaks", func(b *testing.B) {
		whole := bytes.Join(lines, nil)
		b.SetBytes(int64(size))
		for b.Loop() {
			cmd := exec.Command(program, "stdin", "--no-banner", "--redact", "--exit-code", "0", "--log-level", "error")
			cmd.Stdin = bytes.NewReader(whole)
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
