//go:build !race

package safetytest

// Race says that the race detector is on, which makes tests ten times slower and
// finds nothing in those of one goroutine: they try a part of the shapes then.
const Race = false
