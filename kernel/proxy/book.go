package proxy

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rax-project/rax/parsers"
	"github.com/rax-project/rax/parsers/provider"
)

// book knows the open runs and finds the run that a request belongs to.
type book struct {
	p  *Proxy
	mu sync.Mutex
	// runs are the open ones. The rest are ways to find one again.
	runs          []*run
	named         map[string]*run
	conversations map[string]*run
	chains        map[digest][]*turn
	calls         map[digest][]*turn
	answers       map[string]*turn
	// open counts the exchanges under way. unread are those that arrived and
	// have not looked for their run yet, by their numbers. changed is closed
	// when more is known, and made anew.
	open    int
	arrived int64
	unread  []int64
	changed chan struct{}
	begun   []RunInfo
	errs    []error
}

// turn is an exchange as the book remembers it.
type turn struct {
	run *run // nil until it is found
	// name is the run's, as the client says it, number the exchange's.
	name   string
	number int64
	// chain is the digest of the request's n messages.
	chain digest
	n     int
	// passed says that the answer has gone to the client, known that it is
	// recorded; the rest is set by then.
	passed *atomic.Bool
	known  bool
	failed bool // there is no answer, or not all of it
	said   said
	id     string
}

// RunInfo says which runs a proxy began.
type RunInfo struct {
	// ID is the run's id, by which its trace is found.
	ID string
	// Name is what the client called it; empty when it did not.
	Name string
}

func newBook(p *Proxy) *book {
	return &book{
		p: p, named: map[string]*run{}, conversations: map[string]*run{},
		chains: map[digest][]*turn{}, calls: map[digest][]*turn{}, answers: map[string]*turn{},
		changed: make(chan struct{}),
	}
}

// arrive numbers an exchange. Its request must be read, whatever comes of it,
// before a later one can be sure of what it goes on from.
func (b *book) arrive(x *roundTrip) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.arrived++
	x.number = b.arrived
	b.unread = append(b.unread, x.number)
}

// wasRead notes that an exchange has looked for its run.
func (b *book) wasRead(x *roundTrip) {
	if i := slices.Index(b.unread, x.number); i >= 0 {
		b.unread = slices.Delete(b.unread, i, i+1)
		b.tell()
	}
}

// tell wakes whoever waits for more.
func (b *book) tell() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// begin reads a request as it was sent and finds its run.
func (b *book) begin(x *roundTrip, sent []byte) {
	defer close(x.begun)
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wasRead(x)
	}()
	parsed, err := provider.ParseRequest(x.target.format, x.conversation(sent))
	if err != nil {
		if x.recorded() {
			b.p.cfg.Note("a request cannot be read and is not recorded")
		}
		return
	}
	x.parsed = parsed
	x.parsed.Model = cmp.Or(x.target.model, parsed.Model)
	links := chain(parsed.Messages)
	t := &turn{
		name: x.target.run, number: x.number, chain: links[len(parsed.Messages)], n: len(parsed.Messages), passed: &x.passed,
	}
	defer b.unlessEntered(t)
	place := b.join(x, t, links)
	if t.run != nil {
		x.turn = t
		t.run.begin(x, place)
	}
}

// unlessEntered forgets an exchange that is in no run.
func (b *book) unlessEntered(t *turn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.run == nil && slices.Contains(b.chains[t.chain], t) {
		forget(b.chains, t.chain, t)
		b.open--
		b.tell()
	}
}

// forget takes a turn out of an index.
func forget(index map[digest][]*turn, key digest, t *turn) {
	index[key] = slices.DeleteFunc(index[key], func(other *turn) bool { return other == t })
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

// place says where a request goes on.
type place struct {
	after *turn // nil at the beginning of a run, or where it is not known
	// from is how many of its messages earlier exchanges hold.
	from  int
	fresh bool // the run is new
}

// maxWait is how long a request waits for the record of an answer which it
// names, and which has not been heard of.
const maxWait = 2 * time.Second

// join finds the run of a request, or begins one. It leaves t.run nil when the
// request is not to be recorded.
//
// A client may go on before its last answer is recorded: then this waits, beside
// the traffic, until it is.
func (b *book) join(x *roundTrip, t *turn, links []digest) place {
	late := time.NewTimer(maxWait)
	defer late.Stop()
	patient := true
	for {
		at, changed := b.tryJoin(x, t, links, patient)
		if changed == nil {
			return at
		}
		select {
		case <-changed:
		case <-late.C:
			patient = false
		}
	}
}

// tryJoin finds the run of a request, or gives the channel that is closed when
// more is known.
func (b *book) tryJoin(x *roundTrip, t *turn, links []digest, patient bool) (place, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, wait := b.match(x, links)
	sure := at.after != nil && (x.req.Previous != "" || at.from == lastAnswer(x.parsed.Messages) && at.from < len(x.parsed.Messages))
	if !sure && len(b.unread) > 0 && b.unread[0] < x.number {
		return at, b.changed // what it goes on from may be among those
	}
	if slices.Contains(b.unread, x.number) {
		// From here on later ones find it, even while it waits.
		b.chains[t.chain] = append(b.chains[t.chain], t)
		b.open++
		b.wasRead(x)
	}
	if wait == surely || wait == briefly && patient && b.open > 1 {
		return at, b.changed
	}
	b.enter(x, t, &at)
	return at, nil
}

// enter puts an exchange into the run that it belongs to.
func (b *book) enter(x *roundTrip, t *turn, at *place) {
	if at.after != nil {
		t.run = at.after.run
	} else {
		t.run = b.byName(x)
	}
	if t.run == nil && x.recorded() {
		t.run, at.fresh = b.begins(x), true
	}
	if t.run == nil {
		return
	}
	t.run.busy++
	t.run.turns = append(t.run.turns, t)
	if x.target.run != "" {
		b.named[x.target.run] = t.run
	}
	if x.req.Conversation != "" {
		b.conversations[x.req.Conversation] = t.run
	}
}

// byName is the run that the client named, or that of a conversation which the
// provider keeps.
func (b *book) byName(x *roundTrip) *run {
	if x.target.run != "" {
		return b.named[x.target.run]
	}
	if x.req.Conversation != "" {
		return b.conversations[x.req.Conversation]
	}
	return nil
}

// wait says whether more can be known of where a request goes on.
type wait int

const (
	no wait = iota
	briefly
	surely // as soon as an exchange under way is recorded
)

// match finds the exchange that a request goes on from. wait is one that may be
// it, once its answer is known.
//
//  1. A request that names the answer it goes on from says it itself.
//  2. Else the longest beginning of the conversation that was a request of its
//     own, and whose answer stands behind it.
//  3. The same request again after a failure is another try.
//  4. Else, as clients shorten long conversations: the one answer that made the
//     very calls that the request gives results for.
func (b *book) match(x *roundTrip, links []digest) (place, wait) {
	messages := x.parsed.Messages
	mine := func(t *turn) bool { return t.name == x.target.run && t.number < x.number }
	if x.req.Previous != "" {
		if t := b.answers[x.req.Previous]; t != nil && mine(t) {
			return place{after: t}, no
		}
		return place{}, briefly
	}
	for k := len(messages) - 1; k > 0; k-- {
		if messages[k].Role != provider.RoleAssistant || messages[k-1].Role == provider.RoleAssistant {
			continue
		}
		answer := saidIn(messages[k:])
		pending := false
		var loose []*turn
		for _, t := range slices.Backward(b.chains[links[k]]) {
			switch {
			case !mine(t):
			case !t.known:
				pending = true
			case t.failed:
			case t.said.is(answer):
				return place{after: t, from: k}, no
			case t.said.spoke() && answer.spoke():
				loose = append(loose, t) // a client may change what is only said
			}
		}
		switch {
		case pending:
			return place{}, surely
		case len(loose) == 1:
			return place{after: loose[0], from: k}, no
		}
	}
	n := len(messages)
	for _, t := range slices.Backward(b.chains[links[n]]) {
		if !mine(t) {
			continue
		}
		if !t.known && t.passed.Load() {
			return place{}, surely
		}
		if t.known && t.failed {
			return place{after: t, from: n}, no
		}
		break // the newest decides
	}
	last := lastAnswer(messages)
	if last == n {
		return place{}, no // nobody has answered yet
	}
	var found *turn
	if calls := saidIn(messages[last:]).calls; calls != (digest{}) {
		for _, t := range b.calls[calls] {
			if mine(t) && found != nil && found.run != t.run {
				return place{}, no
			} else if mine(t) {
				found = t
			}
		}
	}
	if found == nil {
		return place{}, briefly
	}
	return place{after: found}, no
}

// lastAnswer is where the last message of the assistant begins; the number of
// messages when there is none.
func lastAnswer(messages []provider.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != provider.RoleAssistant {
			continue
		}
		for i > 0 && messages[i-1].Role == provider.RoleAssistant {
			i--
		}
		return i
	}
	return len(messages)
}

// begins begins a run. At the limit the one that was silent longest ends.
func (b *book) begins(x *roundTrip) *run {
	if len(b.runs) >= b.p.cfg.Limits.Runs {
		var oldest *run
		for _, r := range b.runs {
			if r.busy == 0 && (oldest == nil || r.last.Before(oldest.last)) {
				oldest = r
			}
		}
		if oldest != nil {
			b.drop(oldest)
		}
	}
	r := newRun(b.p, x)
	if r == nil {
		return nil
	}
	b.runs = append(b.runs, r)
	b.begun = append(b.begun, RunInfo{ID: r.base.RunID, Name: r.name})
	return r
}

// finish records the answer of an exchange.
func (b *book) finish(x *roundTrip) {
	<-x.begun
	t := x.turn
	if t == nil {
		return
	}
	var a parsers.Answer
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if t.said != (said{}) {
			b.calls[t.said.calls] = append(b.calls[t.said.calls], t)
		}
		if t.id != "" {
			b.answers[t.id] = t
		}
		t.known = true
		t.run.busy--
		t.run.last = x.end
		b.open--
		b.tell()
	}()
	failed := true
	defer func() { t.failed = failed }() // before the one above
	if a, failed = t.run.finish(x); !failed {
		t.said, t.id = saidBy(a, x.req.Injected), a.ID
	}
}

// drop ends a run and forgets how to find it.
func (b *book) drop(r *run) {
	for _, t := range r.turns {
		forget(b.chains, t.chain, t)
		forget(b.calls, t.said.calls, t)
		if b.answers[t.id] == t {
			delete(b.answers, t.id)
		}
	}
	for _, m := range []map[string]*run{b.named, b.conversations} {
		for name, other := range m {
			if other == r {
				delete(m, name)
			}
		}
	}
	b.runs = slices.DeleteFunc(b.runs, func(other *run) bool { return other == r })
	if err := r.end(); err != nil {
		b.errs = append(b.errs, err)
	}
}

// sweep ends the runs that have been silent since a time.
func (b *book) sweep(since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range slices.Clone(b.runs) {
		if r.busy == 0 && !r.last.After(since) {
			b.drop(r)
		}
	}
}

// close ends all runs and returns what went wrong with their traces.
func (b *book) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range slices.Clone(b.runs) {
		b.drop(r)
	}
	return errors.Join(b.errs...)
}

// flush waits until nothing is under way.
func (b *book) flush() {
	for {
		b.mu.Lock()
		done, changed := b.open == 0 && len(b.unread) == 0, b.changed
		b.mu.Unlock()
		if done {
			return
		}
		<-changed
	}
}

// Runs lists the runs that the proxy began, in order.
func (p *Proxy) Runs() []RunInfo {
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	return slices.Clone(p.book.begun)
}
