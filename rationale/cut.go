package rationale

// Cut is a stretch of a text that is left out.
type Cut struct {
	// Span is in bytes from the beginning of the whole text.
	Span
	// With takes the place of what went: a line break, or nothing (see [Strip]).
	With string
}

// Cutter does what a [Stripper] does and tells what it leaves out, for whoever
// edits the place where the text stands. The zero Cutter is ready to use.
type Cutter struct {
	strip Stripper
	log   cutLog
}

// Write takes the next piece of text. It returns the cuts that have become
// known, in order, and how many bytes of the whole text are decided: what
// stands before and in no cut stays.
func (c *Cutter) Write(chunk string) (cuts []Cut, decided int) {
	c.strip.log = &c.log
	c.strip.Write(chunk)
	return c.log.take()
}

// Close decides the rest. The Cutter must not be used afterwards.
func (c *Cutter) Close() (cuts []Cut, decided int) {
	c.strip.log = &c.log
	c.strip.Close()
	return c.log.take()
}

// Cuts returns what [Strip] leaves out of a text.
func Cuts(text string) []Cut {
	var c Cutter
	first, _ := c.Write(text)
	last, _ := c.Close()
	return append(first, last...)
}

// ArgumentCutter does what an [ArgumentExtractor] does and tells what it leaves
// out. The zero ArgumentCutter is ready to use.
type ArgumentCutter struct {
	args ArgumentExtractor
	log  cutLog
}

// Write takes the next piece of the arguments; see [Cutter.Write].
func (c *ArgumentCutter) Write(chunk string) (cuts []Cut, decided int) {
	c.args.log = &c.log
	c.args.Write([]byte(chunk))
	return c.log.take()
}

// Close decides the rest. The ArgumentCutter must not be used afterwards.
func (c *ArgumentCutter) Close() (cuts []Cut, decided int) {
	c.args.log = &c.log
	c.args.Close()
	return c.log.take()
}

// ArgumentCuts returns what [ExtractArgument] leaves out of a call's arguments.
func ArgumentCuts(args string) []Cut {
	var c ArgumentCutter
	first, _ := c.Write(args)
	last, _ := c.Close()
	return append(first, last...)
}

// cutLog adds up decisions about a text, which are made in its order. A nil
// cutLog keeps nothing.
type cutLog struct {
	cuts    []Cut
	decided int
}

func (l *cutLog) keep(n int) {
	if l != nil {
		l.decided += n
	}
}

func (l *cutLog) drop(n int, with string) {
	if l == nil || n == 0 {
		return
	}
	span := Span{Start: l.decided, End: l.decided + n}
	l.decided += n
	if k := len(l.cuts) - 1; k >= 0 && l.cuts[k].End == span.Start && with == "" {
		l.cuts[k].End = span.End
		return
	}
	l.cuts = append(l.cuts, Cut{span, with})
}

// take gives out the cuts so far, once.
func (l *cutLog) take() ([]Cut, int) {
	cuts := l.cuts
	l.cuts = nil
	return cuts, l.decided
}
