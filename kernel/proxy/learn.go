package proxy

import (
	"sync"

	"github.com/rax-project/rax/parsers/rewrite"
)

// habit is what was learned about a model.
type habit struct {
	// argument says that it states nothing in blocks.
	argument bool
	// refused counts, by channel, the requests in a row that its provider
	// refused with the mandate and took without.
	refused [2]int
}

const (
	// maxModels bounds the models that are remembered.
	maxModels = 1000
	// maxRefusals is after how many a model is not asked in this way any more.
	maxRefusals = 2
)

// learned remembers the habits of models while the proxy runs.
type learned struct {
	mu     sync.Mutex
	models map[string]habit
}

func (l *learned) of(key string) habit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.models[key]
}

// change changes a habit.
func (l *learned) change(key string, f func(*habit)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, known := l.models[key]
	if f(&h); h == (habit{}) {
		delete(l.models, key)
	} else if known || len(l.models) < maxModels {
		l.models[key] = h
	}
}

// channel is how a model is asked for its reasons.
func (p *Proxy) channel(key string) rewrite.Channel {
	h := p.learned.of(key)
	block, argument := h.refused[rewrite.Block] < maxRefusals, h.refused[rewrite.Argument] < maxRefusals
	switch p.cfg.Mode {
	case ModeBlock:
		argument = false
	case ModeArgument:
		block = false
	case ModeAuto:
		block = block && !(h.argument && argument)
	default:
		block, argument = false, false
	}
	switch {
	case block:
		return rewrite.Block
	case argument:
		return rewrite.Argument
	}
	return rewrite.None
}
