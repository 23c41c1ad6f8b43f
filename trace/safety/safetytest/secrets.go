// Package safetytest makes secrets for tests: one of every shape that the rules
// of package safety know. They are put together at run time, so that no scanner
// finds a whole one in the source, and they open nothing.
package safetytest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// The alphabets of secrets.
const (
	Letters  = "abcdefghijklmnopqrstuvwxyz"
	Capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	Digits   = "0123456789"
	Base62   = Letters + Capitals + Digits
	Base64u  = Base62 + "-_"
	Hex      = Digits + "abcdef"
)

// Random returns n characters of the alphabet, with a digit and both cases
// among the first four where the alphabet has them.
func Random(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	for i, part := range []string{Letters, Digits, Capitals} {
		if common := intersect(alphabet, part); common != "" && n > 8 {
			b[i] = common[r.IntN(len(common))]
		}
	}
	last := intersect(alphabet, Base62)
	b[n-1] = last[r.IntN(len(last))]
	return string(b)
}

func intersect(a, b string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(b, c) {
			return c
		}
		return -1
	}, a)
}

// Sample is a secret inside the least text that gives it away.
type Sample struct {
	// Rule is the name of the rule that finds it.
	Rule string
	// Before, Secret and After are the text. A rule may redact more than Secret.
	Before, Secret, After string
}

// Text is the secret with what stands around it.
func (s Sample) Text() string { return s.Before + s.Secret + s.After }

// KeyBlock is a private key of a kind ("RSA PRIVATE KEY") in armour, with that many lines.
func KeyBlock(r *rand.Rand, kind string, lines int) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + kind + "-----\n")
	for range lines {
		b.WriteString(Random(r, Base62+"+/", 64) + "\n")
	}
	b.WriteString("-----END " + kind + "-----")
	return b.String()
}

func jwt(r *rand.Rand) string {
	enc := base64.RawURLEncoding
	return enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		enc.EncodeToString([]byte(`{"sub":"`+Random(r, Base62, 12)+`","iat":1516239022}`)) + "." + Random(r, Base64u, 43)
}

// Samples makes one secret of every shape.
func Samples(r *rand.Rand) []Sample {
	bare := func(rule, secret string) Sample { return Sample{Rule: rule, Secret: secret} }
	list := []Sample{
		bare("openai-key", "sk-"+Random(r, Base62, 48)),
		bare("openai-key", "sk-"+"proj-"+Random(r, Base64u, 124)),
		bare("openai-key", "sk-"+"proj-"+Random(r, Base64u, 40)+"_-"+Random(r, Base64u, 30)),
		bare("openai-key", "sk-"+"svcacct-"+Random(r, Base64u, 124)),
		bare("openai-key", "sk-"+Random(r, Hex, 32)),
		bare("anthropic-key", "sk-"+"ant-api03-"+Random(r, Base64u, 93)+"AA"),
		bare("anthropic-key", "sk-"+"ant-oat01-"+Random(r, Base64u, 86)),
		bare("anthropic-key", "sk-"+"ant-admin01-"+Random(r, Base64u, 93)),
		bare("openrouter-key", "sk-"+"or-v1-"+Random(r, Hex, 64)),
		bare("google-api-key", "AI"+"za"+Random(r, Base64u, 35)),
		bare("google-oauth-token", "ya"+"29."+Random(r, Base64u, 120)),
		bare("google-client-secret", "GOC"+"SPX-"+Random(r, Base64u, 28)),
		bare("aws-access-key", "AK"+"IA"+Random(r, Capitals+"234567", 16)),
		bare("aws-access-key", "AS"+"IA"+Random(r, Capitals+"234567", 16)),
		bare("gitlab-token", "gl"+"pat-"+Random(r, Base64u, 20)),
		bare("gitlab-token", "gl"+"ptt-"+Random(r, Hex, 40)),
		bare("github-token", "github"+"_pat_"+Random(r, Base62, 22)+"_"+Random(r, Base62, 59)),
		bare("slack-token", "xo"+"xb-"+Random(r, Digits, 12)+"-"+Random(r, Digits, 12)+"-"+Random(r, Base62, 24)),
		bare("slack-token", "xa"+"pp-1-A"+Random(r, Capitals+Digits, 10)+"-"+Random(r, Digits, 13)+"-"+Random(r, Hex, 64)),
		{"slack-webhook", "https://hooks.slack.com/", "services/T" + Random(r, Capitals+Digits, 8) + "/B" + Random(r, Capitals+Digits, 8) + "/" + Random(r, Base62, 24), ""},
		bare("stripe-key", "sk"+"_live_"+Random(r, Base62, 24)),
		bare("stripe-key", "rk"+"_live_"+Random(r, Base62, 99)),
		bare("stripe-webhook-secret", "wh"+"sec_"+Random(r, Base62, 32)),
		bare("twilio-key", "S"+"K"+Random(r, Hex, 32)),
		bare("sendgrid-key", "S"+"G."+Random(r, Base64u, 22)+"."+Random(r, Base64u, 43)),
		{"telegram-token", "1" + Random(r, Digits, 9) + ":", "A" + "A" + Random(r, Base64u, 33), ""},
		bare("npm-token", "np"+"m_"+Random(r, Base62, 36)),
		bare("pypi-token", "py"+"pi-AgEIcHlwaS5vcmc"+Random(r, Base64u, 120)),
		bare("huggingface-token", "h"+"f_"+Random(r, Base62, 34)),
		bare("groq-key", "gs"+"k_"+Random(r, Base62, 52)),
		bare("jwt", jwt(r)),
		{"bearer-token", "Authorization: Bearer ", Random(r, Base64u, 40), ""},
		{"bearer-token", "-H 'authorization: bearer ", Random(r, Hex, 32), "'"},
		{"basic-auth", "Authorization: Basic ", base64.StdEncoding.EncodeToString([]byte("aladdin:" + Random(r, Base62, 12))), ""},
		{"connection-string", "postgres://app:", Random(r, Base62, 16), "@db.internal:5432/app"},
		{"connection-string", "mongodb+srv://root:", Random(r, Letters, 9), "@cluster0.abc.mongodb.net/?w=majority"},
		{"connection-string", "redis://:", Random(r, Base62, 16), "@cache:6379/0"},
		{"azure-key", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=", Random(r, Base62+"+/", 86) + "==", ";EndpointSuffix=core.windows.net"},
		{"password", "Server=tcp:db;User ID=app;Password=", Random(r, Base62, 14), ";Encrypt=True"},
		{"private-key", "", KeyBlock(r, "RSA PRIVATE"+" KEY", 8), ""},
		{"private-key", "", KeyBlock(r, "OPENSSH PRIVATE"+" KEY", 6), ""},
		{"private-key", "", KeyBlock(r, "PGP PRIVATE"+" KEY BLOCK", 12), ""},
		{"private-key", "", KeyBlock(r, "PRIVATE"+" KEY", 1), ""},
		{"private-key", "", strings.ReplaceAll(KeyBlock(r, "EC PRIVATE"+" KEY", 3), "\n", " "), ""},
		{"password", "password: ", "hunt" + Random(r, Base62, 10), ""},
		{"password", `"db_password": "`, Random(r, Letters+Digits, 10), `"`},
		{"password", "PGPASSWORD=", Random(r, Base62, 12), " psql"},
		{"password", "MYSQL_PASSWORD=", Random(r, Letters, 12), " mysql"},
		{"password", "The password is ", Random(r, Base62, 12), "."},
		{"basic-auth", "curl -s -u admin:", Random(r, Base62, 12), " https://example.org"},
		{"basic-auth", "curl --user 'admin:", Random(r, Base62, 12), "' https://example.org"},
		{"secret", "api_key=", Random(r, Base62, 32), ""},
		{"secret", `apiKey: "`, Random(r, Base62, 32), `"`},
		{"secret", "client_secret = '", Random(r, Base64u+"~", 8) + Random(r, Base62, 24), "'"},
		{"secret", "export SERVICE_TOKEN=", Random(r, Base62, 24), ""},
		{"secret", "tool --token ", Random(r, Base62, 24), " --verbose"},
		{"secret", "https://example.org/?access_token=", Random(r, Base62, 24), "&page=2"},
		{"secret", "<clientSecret>", Random(r, Base62, 24), "</clientSecret>"},
		{"aws-secret-key", "aws_secret_access_key = ", Random(r, Base62+"/+", 32) + Random(r, Base62, 8), ""},
		{"aws-secret-key", `"SecretAccessKey": "`, Random(r, Base62+"/+", 32) + Random(r, Base62, 8), `"`},
		{"secret", `{"name": "API_TOKEN", "value": "`, Random(r, Base62, 24), `"}`},
		{"secret", "const apiKey: string = '", Random(r, Base62, 24), "'"},
	}
	for _, p := range []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"} {
		list = append(list, bare("github-token", p+Random(r, Base62, 36)))
	}
	return list
}

// NewRand is a source of randomness that gives the same secrets for the same seed.
func NewRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// window is how many characters are looked for, at every half of a window: any
// seventeen in a row hold one.
const window = 12

// Leaked reports whether a part of the secret stands in out, as it is or behind
// up to six levels of JSON escapes.
func (s Sample) Leaked(out string) bool {
	for _, level := range Levels(out) {
		if s.At(level) >= 0 {
			return true
		}
	}
	return false
}

// At gives where a part of the secret stands in out, or -1: seventeen characters
// of one of its lines, or most of a line that is shorter. The lines that open and
// close a key block are no secret.
func (s Sample) At(out string) int {
	for line := range strings.SplitSeq(s.Secret, "\n") {
		if strings.HasPrefix(line, "-----") {
			continue
		}
		n := min(window, len(line))
		for i := 0; n > 0 && i+n <= len(line); i += window / 2 {
			if at := strings.Index(out, line[i:i+n]); at >= 0 {
				return at
			}
		}
	}
	return -1
}

// Levels gives a text, and the text with one to six levels of JSON escapes taken
// away, as far as it has so many.
func Levels(out string) []string {
	levels := []string{out}
	for range 6 {
		plain := Unescape(out)
		if plain == out {
			break
		}
		out = plain
		levels = append(levels, out)
	}
	return levels
}

// Unescape takes one level of JSON escapes away, whatever the text is.
func Unescape(text string) string {
	if !strings.Contains(text, "\\") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if text[i] == 'u' && i+4 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+5], 16, 16); err == nil {
				b.WriteRune(rune(n))
				i += 4
				continue
			}
		}
		if k := strings.IndexByte("bfnrt", text[i]); k >= 0 {
			b.WriteByte("\b\f\n\r\t"[k])
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// Escape writes every ASCII character as a JSON escape.
func Escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
