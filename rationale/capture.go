package rationale

// Capture is the outcome of looking for the rationale of one tool call.
type Capture struct {
	// Status is never empty. Unasked is for callers to set: a reader of text
	// cannot know whether anything asked.
	Status Status
	// Source is set when Status is Present or Malformed.
	Source Source
	// Reason says why there is no readable rationale; set when Status is
	// Malformed.
	Reason string
	// Rationale is set when and only when Status is Present.
	Rationale *Rationale
	// Assumptions are those stated inside the rationale's object.
	Assumptions []Assumption
	// Part is the index of the part that it was read from; -1 when it was not
	// read from a part (see [Attach]).
	Part int
	// Span covers, in that part, the characters of the why between its quotes;
	// of a malformed one, the whole block.
	Span Span
	// Warnings name what was dropped or cut, in words for a person.
	Warnings []string
}

// Part is one text of a model message in which blocks are looked for.
type Part struct {
	Text string
	// Thinking marks private reasoning. Text is searched first, and a draft in
	// thinking never displaces a block in text.
	Thinking bool
}

// Unmatched is a block that belongs to no call of the message.
type Unmatched struct {
	// Part is the index of the part in which the block stands.
	Part int
	// Span covers the block.
	Span Span
	// Call is the number that the block states; 0 when it states none.
	Call int
	// Reason says why it belongs to no call.
	Reason string
}
