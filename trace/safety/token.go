package safety

import (
	"bytes"
	"math"
)

// class is a set of bytes.
type class [256]bool

func classOf(ranges string) class {
	var c class
	for i := 0; i+1 < len(ranges); i += 2 {
		for b := int(ranges[i]); b <= int(ranges[i+1]); b++ {
			c[b] = true
		}
	}
	return c
}

// The classes are fixed tables: pairs of first and last byte.
var (
	alnum     = classOf("09AZaz")
	word      = classOf("09AZaz__")
	wordDash  = classOf("09AZaz__--")
	tokenDot  = classOf("09AZaz__--..")
	hexLower  = classOf("09af")
	upper     = classOf("09AZ")
	base64Set = classOf("09AZaz++//==")
	bearerSet = classOf("09AZaz__--..~~++//==")
	slackSet  = classOf("09AZaz--..%%++//==")
)

// tokenShape is a secret that its own prefix gives away: a literal, then a run
// of one class whose length lies in [min, max]. A longer run is something else,
// unless max is generous and so only there to bound the span.
type tokenShape struct {
	name     string
	severity Severity
	anchors  []string
	class    *class
	min, max int
	check    func(payload []byte) bool // nil: random enough
}

const generous = 255

// tokenShapes: the prefixes are those that the vendors document.
var tokenShapes = [...]tokenShape{
	{"anthropic-key", Critical, []string{"sk-ant-"}, &wordDash, 24, 512, nil},
	{"openrouter-key", Critical, []string{"sk-or-"}, &wordDash, 24, 512, nil},
	{"openai-key", Critical, []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"}, &wordDash, 24, 512, nil},
	{"openai-key", Critical, []string{"sk-"}, &wordDash, 20, 512, hasLongRun},
	{"langfuse-key", High, []string{"sk-lf-"}, &wordDash, 32, 64, nil},
	{"google-api-key", High, []string{"AIza"}, &wordDash, 35, 35, nil},
	{"google-oauth-token", High, []string{"ya29."}, &tokenDot, 20, 2048, nil},
	{"google-oauth-token", High, []string{"1//0"}, &wordDash, 40, 512, nil},
	{"google-client-secret", High, []string{"GOCSPX-"}, &wordDash, 24, 64, nil},
	{"aws-access-key", Critical, []string{"AKIA", "ASIA", "ABIA", "ACCA"}, &upper, 16, 16, nil},
	{"github-token", Critical, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, &word, 36, 512, nil},
	{"github-token", Critical, []string{"github_pat_"}, &word, 36, 255, nil},
	{"gitlab-token", Critical, []string{"glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-", "glwt-"}, &tokenDot, 20, 512, nil},
	{"slack-token", Critical, []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxo-", "xoxc-", "xoxd-", "xoxe.xoxb-", "xoxe.xoxp-", "xapp-", "xwfp-"}, &slackSet, 20, 512, hasDigit},
	{"stripe-key", Critical, []string{"sk_live_", "rk_live_"}, &alnum, 16, 256, nil},
	{"stripe-webhook-secret", High, []string{"whsec_"}, &base64Set, 24, 256, nil},
	{"twilio-key", High, twilioAnchors(), &hexLower, 31, 31, nil},
	{"npm-token", Critical, []string{"npm_"}, &alnum, 36, 36, nil},
	{"pypi-token", Critical, []string{"pypi-"}, &wordDash, 60, 1024, nil},
	{"huggingface-token", High, []string{"hf_", "api_org_"}, &alnum, 30, 64, nil},
	{"groq-key", High, []string{"gsk_"}, &alnum, 40, 128, nil},
	{"xai-key", High, []string{"xai-"}, &alnum, 60, 128, nil},
	{"perplexity-key", High, []string{"pplx-"}, &alnum, 40, 128, nil},
	{"replicate-token", High, []string{"r8_"}, &alnum, 36, 64, nil},
	{"databricks-token", High, []string{"dapi"}, &hexLower, 32, 32, nil},
	{"digitalocean-token", High, []string{"dop_v1_", "doo_v1_", "dor_v1_"}, &hexLower, 64, 64, nil},
	{"shopify-token", High, []string{"shpat_", "shpss_", "shpca_", "shppa_"}, &alnum, 32, 64, nil},
	{"linear-key", High, []string{"lin_api_"}, &alnum, 40, 64, nil},
	{"notion-token", High, []string{"ntn_"}, &alnum, 40, 64, nil},
	{"supabase-key", High, []string{"sbp_", "sb_secret_"}, &wordDash, 28, 64, nil},
	{"vault-token", High, []string{"hvs.", "hvb."}, &wordDash, 24, 512, nil},
	{"age-key", Critical, []string{"AGE-SECRET-KEY-1"}, &upper, 58, 58, nil},
	{"atlassian-token", High, []string{"ATATT3"}, &bearerSet, 60, 512, nil},
	{"docker-token", High, []string{"dckr_pat_"}, &wordDash, 24, 64, nil},
	{"figma-token", High, []string{"figd_"}, &wordDash, 36, 64, nil},
	{"grafana-token", High, []string{"glsa_", "glc_"}, &base64OrWord, 32, 512, nil},
	{"newrelic-key", High, []string{"NRAK-"}, &upper, 27, 27, nil},
	{"planetscale-token", High, []string{"pscale_tkn_", "pscale_pw_"}, &tokenDot, 32, 64, nil},
	{"postman-key", High, []string{"PMAK-"}, &wordDash, 59, 59, nil},
	{"rubygems-key", High, []string{"rubygems_"}, &hexLower, 48, 48, nil},
	{"sentry-token", High, []string{"sntrys_", "sntryu_"}, &base64OrWord, 40, 512, nil},
	{"tavily-key", High, []string{"tvly-"}, &wordDash, 24, 64, hasDigit},
}

var base64OrWord = classOf("09AZaz__++//==")

// twilioAnchors takes the first hex digit into the anchor, since an anchor has
// three bytes or more.
func twilioAnchors() []string {
	var list []string
	for _, c := range "0123456789abcdef" {
		list = append(list, "SK"+string(c))
	}
	return list
}

func (s *tokenShape) match(in *input, at, end int) (int, int, verdict) {
	if c := in.before(at); wordDash[c] || (c == '.' && s.class['.']) {
		return 0, 0, no
	}
	stop, v := in.run(end, s.class, s.max+1)
	if v == more {
		return 0, 0, more
	}
	payload := in.b[end:stop]
	if len(payload) > s.max && s.max >= generous {
		payload = payload[:s.max]
	}
	if len(payload) < s.min || len(payload) > s.max {
		return 0, 0, no
	}
	// A run that ends in the punctuation of a sentence does not hold it.
	for len(payload) > s.min && (payload[len(payload)-1] == '.' || payload[len(payload)-1] == '-') {
		payload = payload[:len(payload)-1]
	}
	if placeholder(payload) || (s.check != nil && !s.check(payload)) || distinct(payload) < 7 {
		return 0, 0, no
	}
	return at, end + len(payload), yes
}

// worthToken refuses an anchor in the middle of a word. The end of an escape
// (\n, \u001b) looks like one, so a backslash near by decides for the closer look.
func worthToken(raw []byte, at, _ int) bool {
	return at == 0 || !word[raw[at-1]] || bytes.IndexByte(raw[max(0, at-6):at], '\\') >= 0
}

func hasDigit(payload []byte) bool {
	return bytes.ContainsAny(payload, "0123456789")
}

// hasLongRun wants sixteen letters and digits in a row with a digit among
// them: "sk-" begins many a hyphenated name too.
func hasLongRun(payload []byte) bool { return mixedRun(payload, 16) }

// mixedRun reports a run of n letters and digits with at least one of each.
func mixedRun(payload []byte, n int) bool {
	run, digit, letter := 0, false, false
	for _, c := range payload {
		if !alnum[c] {
			run, digit, letter = 0, false, false
			continue
		}
		run++
		if c <= '9' {
			digit = true
		} else {
			letter = true
		}
		if run >= n && digit && letter {
			return true
		}
	}
	return false
}

func distinct(payload []byte) int {
	var seen class
	n := 0
	for _, c := range payload {
		if !seen[c] {
			seen[c] = true
			n++
		}
	}
	return n
}

// entropy is Shannon's, in bits a byte.
func entropy(payload []byte) float64 {
	var count [256]int
	for _, c := range payload {
		count[c]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(payload))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

var placeholders = [...]string{
	"example", "xxxx", "....", "****", "placeholder", "changeme", "change_me", "change-me",
	"your-", "your_", "yourapi", "yourtoken", "yoursecret", "yourkey", "my-secret-", "dummy", "redacted", "insert", "replace",
	"${", "{{", "}}", "…", "xxx-xxx", "0000000000", "1234567890abcdef", "[redacted:", "<your",
}

// placeholder reports a value that stands for a secret and is none, the
// documented examples of the vendors among them.
func placeholder(value []byte) bool {
	var buf [96]byte
	folded := buf[:0]
	for _, c := range value[:min(len(value), 1024)] {
		folded = append(folded, lower(c))
	}
	for _, p := range placeholders {
		if bytes.Contains(folded, []byte(p)) {
			return true
		}
	}
	return false
}
