package safety

import (
	"bytes"
	"fmt"
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
