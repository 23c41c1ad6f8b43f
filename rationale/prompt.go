package rationale

// prompt is constant to the byte: a prompt that changed between calls would
// break the provider's prompt cache. Every word of it is paid for on every call.
const prompt = `## Decision Rationale (MANDATORY — every tool call)
Every tool call you issue MUST be preceded by a rationale block in your text content: one block per call, in the order of the calls, numbered from 1 in each message.
<rationale call="1">{"why":"…","confidence":0.9}</rationale>
- why: your actual reason, one clause of at most 280 characters: the purpose of the call and the argument that matters most.
- optional: "confidence" 0 to 1; "refs" ["obs:1"], the observations it rests on; "alternatives" [{"option":"…","rejectedBecause":"…"}], options you weighed; "assumptions" [{"assumption":"…","because":"…"}].
Parallel calls, one block each:
<rationale call="1">{"why":"read app.toml to learn which port the server uses"}</rationale>
<rationale call="2">{"why":"list src/ to find the entry point","confidence":0.7}</rationale>
Plain JSON with double quotes, no code fence. No tool call, no block.
`

// Prompt returns the instruction that asks a model for one rationale block per
// tool call (seed 004). It is constant. It belongs at the end of the system
// prompt, and only when tools can be called.
func Prompt() string { return prompt }

// ArgumentPrompt asks for the rationale as an argument of each call. It is for
// models that return no text beside their calls, with [InjectArgument].
const ArgumentPrompt = `## Decision Rationale (MANDATORY — every tool call)
Every tool takes a "rationale" argument. Fill it first, in every call: "why" is your actual reason, one clause of at most 280 characters naming the purpose of the call and the argument that matters most; "confidence" is 0 to 1.
`

// ArgumentName is the name of the argument that [InjectArgument] adds.
const ArgumentName = "rationale"

// The descriptions inside the injected schema. The first also marks a property
// as rax's own: a tool may have a rationale property itself.
const (
	argumentDescription = "Why you make this call. Recorded for review and removed before the tool runs."
	whyDescription      = "Your actual reason in one clause, at most 280 characters."
	confidenceMeaning   = "How sure you are of this call, 0 to 1."
)
