package provider

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/rax-project/rax/parsers"
)

// maxUsage bounds, in bytes, a usage object that is merged with every event.
const maxUsage = 16 << 10

// mergeUsage lays a later usage object over an earlier one: streams repeat it
// (OpenAI dialects) or send it in halves (Anthropic). Members that are null
// do not displace a value. Values keep their bytes.
func (b *builder) mergeUsage(u gjson.Result) {
	if !u.IsObject() {
		return
	}
	if b.usage == nil {
		b.usage = []byte(u.Raw)
		return
	}
	if len(b.usage) > maxUsage {
		b.warn("the usage object is too large to be merged")
		return
	}
	old := gjson.ParseBytes(b.usage)
	var w jsonWriter
	w.obj(func() {
		seen := map[string]bool{}
		write := func(k, v gjson.Result) {
			if !seen[k.Str] {
				seen[k.Str] = true
				w.key(k.Str).raw([]byte(v.Raw))
			}
		}
		later := map[string]gjson.Result{}
		u.ForEach(func(k, v gjson.Result) bool {
			if _, dup := later[k.Str]; !dup && v.Type != gjson.Null {
				later[k.Str] = v
			}
			return true
		})
		old.ForEach(func(k, v gjson.Result) bool {
			if n, ok := later[k.Str]; ok {
				v = n
			}
			write(k, v)
			return true
		})
		u.ForEach(func(k, v gjson.Result) bool { write(k, v); return true })
	})
	b.usage = w.buf
}

// usageOf normalises a usage object (see [parsers.Usage]). tokensAt is set to
// the JSON Pointer of the count of reasoning tokens, unless it is set already.
func usageOf(format Format, u *parsers.Usage, tokensAt *string, raw []byte) {
	if raw == nil {
		return
	}
	u.Raw = json.RawMessage(raw)
	v := gjson.ParseBytes(raw)
	count := func(paths ...string) *int64 {
		for _, path := range paths {
			if r := v.Get(path); r.Type == gjson.Number && r.Num >= 0 && r.Num < 1<<53 {
				n := r.Int()
				return &n
			}
		}
		return nil
	}
	reasoning := func(prefix, path, pointer string) {
		if u.Reasoning = count(path); u.Reasoning != nil && *tokensAt == "" {
			*tokensAt = prefix + pointer
		}
	}
	switch format {
	case AnthropicMessages:
		u.Input, u.Output = count("input_tokens"), count("output_tokens")
		u.CacheRead, u.CacheWrite = count("cache_read_input_tokens"), count("cache_creation_input_tokens")
		reasoning("/usage", "output_tokens_details.thinking_tokens", "/output_tokens_details/thinking_tokens")
		u.Input = sum(u.Input, u.CacheRead, u.CacheWrite)
		u.Total = sum(u.Input, u.Output)
	case BedrockConverse:
		u.Input, u.Output, u.Total = count("inputTokens"), count("outputTokens"), count("totalTokens")
		u.CacheRead = count("cacheReadInputTokens", "cacheReadInputTokenCount")
		u.CacheWrite = count("cacheWriteInputTokens", "cacheWriteInputTokenCount")
		u.Input = sum(u.Input, u.CacheRead, u.CacheWrite)
	case Gemini:
		u.Input = sum(count("promptTokenCount"), count("toolUsePromptTokenCount"))
		u.CacheRead, u.Total = count("cachedContentTokenCount"), count("totalTokenCount")
		reasoning("/usageMetadata", "thoughtsTokenCount", "/thoughtsTokenCount")
		u.Output = sum(count("candidatesTokenCount"), u.Reasoning)
	case OllamaNative:
		u.Input, u.Output = count("prompt_eval_count"), count("eval_count")
		u.Total = sum(u.Input, u.Output)
	case CohereV2:
		u.Input = count("tokens.input_tokens", "billed_units.input_tokens")
		u.Output = count("tokens.output_tokens", "billed_units.output_tokens")
		u.CacheRead = count("cached_tokens", "tokens.cached_tokens")
		u.Total = sum(u.Input, u.Output)
	case OpenAIResponses:
		u.Input, u.Output, u.Total = count("input_tokens"), count("output_tokens"), count("total_tokens")
		u.CacheRead = count("input_tokens_details.cached_tokens")
		u.CacheWrite = count("input_tokens_details.cache_write_tokens")
		reasoning("/usage", "output_tokens_details.reasoning_tokens", "/output_tokens_details/reasoning_tokens")
	case BedrockInvoke:
		u.Input = count("inputTextTokenCount", "prompt_token_count", "inputTokenCount")
		u.Output = count("totalOutputTextTokenCount", "generation_token_count", "tokenCount", "outputTokenCount")
		u.CacheRead, u.CacheWrite = count("cacheReadInputTokenCount"), count("cacheWriteInputTokenCount")
		u.Total = sum(u.Input, u.Output)
	default: // OpenAI Chat and its dialects
		u.Input, u.Output, u.Total = count("prompt_tokens"), count("completion_tokens"), count("total_tokens")
		u.CacheRead = count("prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens")
		u.CacheWrite = count("prompt_tokens_details.cache_write_tokens")
		reasoning("/usage", "completion_tokens_details.reasoning_tokens", "/completion_tokens_details/reasoning_tokens")
		if u.Reasoning == nil {
			reasoning("/usage", "reasoning_tokens", "/reasoning_tokens")
		}
	}
}

// sum adds counts; it is nil when the first is.
func sum(first *int64, more ...*int64) *int64 {
	if first == nil {
		return nil
	}
	n := *first
	for _, m := range more {
		if m != nil {
			n += *m
		}
	}
	return &n
}
