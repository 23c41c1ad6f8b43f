package tool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/rax-project/rax/kernel"
)

// Bounds of a memory.
const (
	maxMemories   = 1000
	maxMemory     = 8 << 10 // bytes of a text
	maxMemorySize = 1 << 20 // bytes of all texts
	maxMemoryKey  = 200     // characters
)

// memory is what a model wants to remember during one run: texts by key. It is
// gone with the run.
type memory struct {
	mu      sync.Mutex
	entries map[string]memorized
	size    int
	stored  int // counts what was ever stored
}

type memorized struct {
	key, text string
	words     map[string]int
	// number orders by the time of storing.
	number int
}

func newMemory() *memory { return &memory{entries: map[string]memorized{}} }

type memoryStoreArgs struct {
	Key  string `json:"key" jsonschema:"what to remember it by; an existing text of this key is replaced"`
	Text string `json:"text" jsonschema:"what to remember"`
}

type memorySearchArgs struct {
	Query string `json:"query" jsonschema:"words to look for in keys and texts"`
	Limit int    `json:"limit,omitempty" jsonschema:"most texts to give; default 5"`
}

func (m *memory) tools() []kernel.Tool {
	store := Func("memory_store",
		"Remember a text under a key until the end of this run.",
		kernel.EffectNone,
		func(_ context.Context, a memoryStoreArgs) (kernel.ToolResult, error) {
			summary, err := m.store(a.Key, a.Text)
			return kernel.ToolResult{Content: summary, Summary: summary}, err
		},
		length("key", 1, maxMemoryKey), length("text", 1, maxMemory))
	search := Func("memory_search",
		"Search the texts remembered in this run for words; the best come first.",
		kernel.EffectNone,
		func(_ context.Context, a memorySearchArgs) (kernel.ToolResult, error) {
			if a.Limit == 0 {
				a.Limit = 5
			}
			return m.search(a.Query, a.Limit), nil
		},
		length("query", 1, 1000), between("limit", 1, 50))
	return []kernel.Tool{store, search}
}

func (m *memory) store(key, text string) (string, error) {
	if len(text) > maxMemory {
		return "", fmt.Errorf("the text is larger than %d bytes: remember its essence", maxMemory)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, replaces := m.entries[key]
	size := m.size + len(text) - len(old.text)
	switch {
	case !replaces && len(m.entries) == maxMemories:
		return "", fmt.Errorf("the memory is full with %d texts: replace one", maxMemories)
	case size > maxMemorySize:
		return "", errors.New("the memory is full: replace a text by a shorter one")
	}
	m.stored++
	m.size = size
	m.entries[key] = memorized{key, text, countWords(key + " " + text), m.stored}
	if replaces {
		return "replaced " + ref(key), nil
	}
	return "stored as " + ref(key), nil
}

// ref is the stable name by which a reason can cite a remembered text, such as
// "scratch:goal" (specification 004).
func ref(key string) string { return "scratch:" + shownPath(key) }

func (m *memory) search(query string, limit int) kernel.ToolResult {
	m.mu.Lock()
	defer m.mu.Unlock()
	words := slices.Sorted(maps.Keys(countWords(query))) // sums of floats depend on the order
	weights := make([]float64, len(words))
	for i, word := range words {
		weights[i] = m.rarity(word)
	}
	type hit struct {
		memorized
		score float64
	}
	var hits []hit
	for _, entry := range m.entries {
		score := 0.0
		for i, word := range words {
			if n := float64(entry.words[word]); n > 0 {
				score += weights[i] * n / (n + 1)
			}
		}
		if score > 0 {
			hits = append(hits, hit{entry, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		if a.score != b.score {
			if a.score > b.score {
				return -1
			}
			return 1
		}
		return b.number - a.number // the newer first
	})
	result := kernel.ToolResult{Summary: count(len(hits), "text"), Truncated: len(hits) > limit}
	var out strings.Builder
	for _, h := range hits[:min(len(hits), limit)] {
		fmt.Fprintf(&out, "[%s] %s\n", ref(h.key), h.text)
	}
	switch {
	case len(hits) == 0:
		result.Content = fmt.Sprintf("[no match among %s]\n", count(len(m.entries), "text"))
	case result.Truncated:
		result.Content = note(out.String(), fmt.Sprintf("%d of %d matches", limit, len(hits)))
	default:
		result.Content = out.String()
	}
	return result
}

// rarity weighs a word: one that stands everywhere tells little.
func (m *memory) rarity(word string) float64 {
	with := 0
	for _, entry := range m.entries {
		if entry.words[word] > 0 {
			with++
		}
	}
	return math.Log(1 + float64(len(m.entries))/float64(max(with, 1)))
}

// countWords counts words in lower case: what stands between characters that
// are neither letters nor digits.
func countWords(text string) map[string]int {
	words := map[string]int{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}) {
		words[word]++
	}
	return words
}
