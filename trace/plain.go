package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Plain unpacks a gzip or zstd stream, told by its first bytes; any other stream
// it gives as it is.
func Plain(src io.Reader) (io.Reader, error) {
	in := bufio.NewReader(src)
	magic, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if torn(err) {
			return stopped{err}, nil
		}
		return z, err
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	default:
		return in, nil
	}
}

// stopped is a stream that stops in the middle of its compression header, where
// nothing was unpacked yet.
type stopped struct{ err error }

func (s stopped) Read([]byte) (int, error) { return 0, s.err }

// torn reports whether a decompressor says that its input stops too early.
func torn(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }
