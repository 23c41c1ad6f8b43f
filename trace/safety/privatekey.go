package safety

import "bytes"

// minKeyBody is the least base64 that a key has: an Ed25519 key in PEM has 64.
const minKeyBody = 40

// matchPrivateKey takes a private key in PEM, OpenSSH or PGP armour, from its
// BEGIN line to its END line, whatever stands between (escaped newlines, line
// numbers, quotes and plus signs of source code). Where the end does not come
// within maxSpan, it takes the lines that look like base64.
func matchPrivateKey(in *input, at, end int) (int, int, verdict) {
	// Find "PRIVATE KEY…-----" on the same line first: certificates are common.
	head, v := in.run(end, &armourName, 48)
	if v == more {
		return 0, 0, more
	}
	n := armourEnd(in.b[end:head])
	if n < 0 {
		return 0, 0, no
	}
	head = end + n
	limit := at + maxSpan
	window := in.b[head:min(len(in.b), limit)]
	const endMark = "-----END "
	// A key holds no other key: so the look ahead stays linear.
	next := bytes.Index(window, []byte("-----BEGIN "))
	if next >= 0 {
		window = window[:next]
	}
	if i := bytes.Index(window, []byte(endMark)); i >= 0 {
		stop, tv := in.run(head+i+len(endMark), &armourName, 48)
		if tv == more {
			return 0, 0, more
		}
		if base64Bytes(window[:i]) < minKeyBody {
			return 0, 0, no // a heading, or a placeholder
		}
		return at, stop, yes
	}
	if next < 0 && len(in.b) < limit && !in.final {
		return 0, 0, more
	}
	in.saw(head + len(window))
	if next >= 0 {
		in.saw(head + next + len("-----BEGIN "))
	}
	if n := keyLines(window); n > 0 {
		return at, head + n, yes
	}
	return 0, 0, no
}

// armourEnd gives where the line ends that opens a private key, or -1. A key may
// follow on the same line: environment variables hold such.
func armourEnd(name []byte) int {
	i := bytes.Index(name, []byte("PRIVATE KEY"))
	if i < 0 {
		return -1
	}
	n := bytes.Index(name[i:], []byte("-----"))
	if n < 0 {
		return -1
	}
	return i + n + len("-----")
}

// armourName is what follows "-----BEGIN " up to and with the closing dashes.
var armourName = classOf("AZ09  --")

// base64Bytes counts the base64 in runs of sixteen or more.
func base64Bytes(body []byte) int {
	n, run := 0, 0
	for _, c := range body {
		if base64Set[c] {
			run++
			continue
		}
		if run >= 16 {
			n += run
		}
		run = 0
	}
	if run >= 16 {
		n += run
	}
	return n
}

// keyLines returns the length of the base64 at the beginning of body: words of
// twenty bytes or more, with short ones between them (headers, line numbers).
func keyLines(body []byte) int {
	last, run := 0, 0
	for i, c := range body {
		if base64Set[c] {
			run++
			if run >= 20 {
				last = i + 1
			}
			continue
		}
		run = 0
		if i-last > 200 {
			break
		}
	}
	if base64Bytes(body[:last]) < minKeyBody {
		return 0
	}
	return last
}
