package safety

// ruleID is an index into rules.
type ruleID uint8

// rule is one thing the pipeline looks for. Every rule has a bounded span: its
// matcher decides within maxSpan bytes of its anchor, so that all of them can
// be used on streams.
type rule struct {
	name     string
	severity Severity
	action   Action
	kind     kind
	// match looks at an anchor that begins at position at and ends before end.
	// It returns a half-open range that begins no earlier than at. Nil: the
	// anchor only arms the prefilter.
	match func(in *input, at, end int) (int, int, verdict)
	// worth is a cheap look at raw bytes, escapes included: false only where
	// match would surely refuse. Nil is always worth it.
	worth func(raw []byte, at, end int) bool
}

// kind says what a rule is about and so which actions it can have.
type kind uint8

const (
	secret   kind = iota // redacted by a mark
	template             // defused by a space after its first character
	hidden               // taken out
	phrase               // only noted
	length               // cut
)

// maxSpan bounds the bytes from an anchor to the end of its match.
const maxSpan = 64 << 10

const (
	ruleLength ruleID = iota
	ruleHidden
	ruleTemplate
	ruleRole
	ruleOverride
	rulePrivateKey
	rulePassword
	ruleSecret
	ruleAWSSecret
	ruleConnection
	ruleBearer
	ruleBasic
	ruleJWT
	ruleTelegram
	ruleSendGrid
	ruleSlackHook
	ruleDiscordHook
	ruleAzureKey
	ruleUserOption
	ruleEscape
	ruleBlock
	ruleToken // the first of the token shapes
)

// labelled says that the words before a value make it a secret.
func (id ruleID) labelled() bool {
	return id == rulePassword || id == ruleSecret || id == ruleAWSSecret
}

// allRules is the rule set: the token shapes follow the written-out rules.
func allRules() []rule {
	list := []rule{
		ruleLength:      {name: "length", severity: Low, action: Sanitize, kind: length},
		ruleHidden:      {name: "hidden-unicode", severity: Medium, action: Sanitize, kind: hidden},
		ruleTemplate:    {name: "chat-template", severity: Medium, action: Sanitize, kind: template, match: matchTemplate},
		ruleRole:        {name: "role-markup", severity: Low, action: Warn, kind: phrase, match: matchPhrase},
		ruleOverride:    {name: "instruction-override", severity: Medium, action: Warn, kind: phrase, match: matchPhrase},
		rulePrivateKey:  {name: "private-key", severity: Critical, action: Block, match: matchPrivateKey},
		rulePassword:    {name: "password", severity: High, action: Redact, match: matchLabelled, worth: worthLabelled},
		ruleSecret:      {name: "secret", severity: High, action: Redact, match: matchLabelled, worth: worthLabelled},
		ruleAWSSecret:   {name: "aws-secret-key", severity: Critical, action: Redact, match: matchLabelled, worth: worthLabelled},
		ruleConnection:  {name: "connection-string", severity: High, action: Redact, match: matchConnection, worth: worthConnection},
		ruleBearer:      {name: "bearer-token", severity: High, action: Redact, match: matchBearer, worth: worthToken},
		ruleBasic:       {name: "basic-auth", severity: High, action: Redact, match: matchBasic, worth: worthToken},
		ruleJWT:         {name: "jwt", severity: High, action: Redact, match: matchJWT, worth: worthToken},
		ruleTelegram:    {name: "telegram-token", severity: High, action: Redact, match: matchTelegram},
		ruleSendGrid:    {name: "sendgrid-key", severity: High, action: Redact, match: matchSendGrid, worth: worthToken},
		ruleSlackHook:   {name: "slack-webhook", severity: High, action: Redact, match: matchHook},
		ruleDiscordHook: {name: "discord-webhook", severity: High, action: Redact, match: matchHook},
		ruleAzureKey:    {name: "azure-key", severity: High, action: Redact, match: matchAzure},
		ruleUserOption:  {name: "basic-auth", severity: High, action: Redact, match: matchUserOption},
		ruleEscape:      {name: "escape", worth: worthEscape},
		ruleBlock:       {name: "block"},
	}
	for i := range tokenShapes {
		shape := &tokenShapes[i]
		list = append(list, rule{
			name: shape.name, severity: shape.severity, action: Redact, worth: worthToken,
			match: func(in *input, at, end int) (int, int, verdict) { return shape.match(in, at, end) },
		})
	}
	return list
}

// allAnchors lists the literals of every rule.
func allAnchors() []anchor {
	var list []anchor
	add := func(id ruleID, fold bool, texts ...string) {
		for _, text := range texts {
			list = append(list, anchor{text, fold, id})
		}
	}
	for c := 'a'; c <= 'z'; c++ {
		add(ruleTemplate, true, "<|"+string(c))
	}
	add(ruleTemplate, false, "<｜", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<start_of_turn>", "<end_of_turn>", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]")
	add(ruleRole, true, "<system>", "</system>", "\n\nhuman:", "\n\nassistant:", "### system:", "[system]:")
	for _, verb := range []string{"ignore ", "disregard ", "forget ", "override "} {
		add(ruleOverride, true, verb+"all ", verb+"any ", verb+"every", verb+"the ", verb+"your ", verb+"previous ", verb+"prior ", verb+"above ", verb+"earlier ", verb+"my previous ")
	}
	add(ruleOverride, true, "new system prompt", "your new instructions", "reveal your system prompt", "print your system prompt")
	add(rulePrivateKey, false, "-----BEGIN ")
	add(rulePassword, true, "password", "passwd", "passphrase", "passcode", "pwd")
	add(ruleSecret, true, "secret", "token", "api_key", "api-key", "apikey", "api key", "access_key", "access-key", "accesskey",
		"private_key", "private-key", "privatekey", "encryption_key", "encryption-key", "signing_key", "signing-key", "master_key", "masterkey",
		"auth_key", "auth-key", "authkey", "credential", "authorization")
	add(ruleAWSSecret, true, "secret_access_key", "secret-access-key", "secretaccesskey")
	add(ruleConnection, false, "://")
	add(ruleBearer, true, "bearer ")
	add(ruleBasic, true, "basic ")
	add(ruleJWT, false, "eyJ")
	add(ruleTelegram, false, ":AA")
	add(ruleSendGrid, false, "SG.")
	add(ruleSlackHook, true, "hooks.slack.com/")
	add(ruleDiscordHook, true, "discord.com/api/webhooks/", "discordapp.com/api/webhooks/")
	add(ruleAzureKey, true, "accountkey=", "sharedaccesskey=", "?sig=", "&sig=")
	add(ruleUserOption, false, "-u ", "--user ")
	for i := range tokenShapes {
		add(ruleToken+ruleID(i), false, tokenShapes[i].anchors...)
	}

	// What a JSON escape may hide: ASCII, the hidden characters, slashes.
	add(ruleEscape, true, `\u002`, `\u003`, `\u004`, `\u005`, `\u006`, `\u007`, `\u200`, `\u202`, `\u206`, `\ufe0`, `\ufeff`, `\udb40`, `\u180e`, `:\/`, `:\\`)
	add(ruleBlock, false, blockClose)
	add(ruleHidden, false, hiddenAnchors()...)
	return list
}
