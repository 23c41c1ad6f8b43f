package safety

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
)

// The secrets of the tests are made at run time, so that no scanner finds a
// whole one in the source.

const (
	letters  = "abcdefghijklmnopqrstuvwxyz"
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	numerals = "0123456789"
	base62   = letters + capitals + numerals
	base64u  = base62 + "-_"
	hexa     = numerals + "abcdef"
)

// random returns n characters of the alphabet, with a digit and both cases
// among the first four where the alphabet has them.
func random(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	for i, part := range []string{letters, numerals, capitals} {
		if common := intersect(alphabet, part); common != "" && n > 8 {
			b[i] = common[r.IntN(len(common))]
		}
	}
	last := intersect(alphabet, base62)
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

// sample is a secret inside the least text that gives it away.
type sample struct {
	rule, before, secret, after string
}

func (s sample) text() string { return s.before + s.secret + s.after }

func block(r *rand.Rand, kind string, lines int) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + kind + "-----\n")
	for range lines {
		b.WriteString(random(r, base62+"+/", 64) + "\n")
	}
	b.WriteString("-----END " + kind + "-----")
	return b.String()
}

func jwt(r *rand.Rand) string {
	enc := base64.RawURLEncoding
	return enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		enc.EncodeToString([]byte(`{"sub":"`+random(r, base62, 12)+`","iat":1516239022}`)) + "." + random(r, base64u, 43)
}

// samples makes one secret of every shape.
func samples(r *rand.Rand) []sample {
	bare := func(rule, secret string) sample { return sample{rule: rule, secret: secret} }
	list := []sample{
		bare("openai-key", "sk-"+random(r, base62, 48)),
		bare("openai-key", "sk-"+"proj-"+random(r, base64u, 124)),
		bare("openai-key", "sk-"+"proj-"+random(r, base64u, 40)+"_-"+random(r, base64u, 30)),
		bare("openai-key", "sk-"+"svcacct-"+random(r, base64u, 124)),
		bare("openai-key", "sk-"+random(r, hexa, 32)),
		bare("anthropic-key", "sk-"+"ant-api03-"+random(r, base64u, 93)+"AA"),
		bare("anthropic-key", "sk-"+"ant-oat01-"+random(r, base64u, 86)),
		bare("anthropic-key", "sk-"+"ant-admin01-"+random(r, base64u, 93)),
		bare("openrouter-key", "sk-"+"or-v1-"+random(r, hexa, 64)),
		bare("google-api-key", "AI"+"za"+random(r, base64u, 35)),
		bare("google-oauth-token", "ya"+"29."+random(r, base64u, 120)),
		bare("google-client-secret", "GOC"+"SPX-"+random(r, base64u, 28)),
		bare("aws-access-key", "AK"+"IA"+random(r, capitals+"234567", 16)),
		bare("aws-access-key", "AS"+"IA"+random(r, capitals+"234567", 16)),
		bare("gitlab-token", "gl"+"pat-"+random(r, base64u, 20)),
		bare("gitlab-token", "gl"+"ptt-"+random(r, hexa, 40)),
		bare("github-token", "github"+"_pat_"+random(r, base62, 22)+"_"+random(r, base62, 59)),
		bare("slack-token", "xo"+"xb-"+random(r, numerals, 12)+"-"+random(r, numerals, 12)+"-"+random(r, base62, 24)),
		bare("slack-token", "xa"+"pp-1-A"+random(r, capitals+numerals, 10)+"-"+random(r, numerals, 13)+"-"+random(r, hexa, 64)),
		{"slack-webhook", "https://hooks.slack.com/", "services/T" + random(r, capitals+numerals, 8) + "/B" + random(r, capitals+numerals, 8) + "/" + random(r, base62, 24), ""},
		bare("stripe-key", "sk"+"_live_"+random(r, base62, 24)),
		bare("stripe-key", "rk"+"_live_"+random(r, base62, 99)),
		bare("stripe-webhook-secret", "wh"+"sec_"+random(r, base62, 32)),
		bare("twilio-key", "S"+"K"+random(r, hexa, 32)),
		bare("sendgrid-key", "S"+"G."+random(r, base64u, 22)+"."+random(r, base64u, 43)),
		{"telegram-token", "1" + random(r, numerals, 9) + ":", "A" + "A" + random(r, base64u, 33), ""},
		bare("npm-token", "np"+"m_"+random(r, base62, 36)),
		bare("pypi-token", "py"+"pi-AgEIcHlwaS5vcmc"+random(r, base64u, 120)),
		bare("huggingface-token", "h"+"f_"+random(r, base62, 34)),
		bare("groq-key", "gs"+"k_"+random(r, base62, 52)),
		bare("jwt", jwt(r)),
		{"bearer-token", "Authorization: Bearer ", random(r, base64u, 40), ""},
		{"bearer-token", "-H 'authorization: bearer ", random(r, hexa, 32), "'"},
		{"basic-auth", "Authorization: Basic ", base64.StdEncoding.EncodeToString([]byte("aladdin:" + random(r, base62, 12))), ""},
		{"connection-string", "postgres://app:", random(r, base62, 16), "@db.internal:5432/app"},
		{"connection-string", "mongodb+srv://root:", random(r, letters, 9), "@cluster0.abc.mongodb.net/?w=majority"},
		{"connection-string", "redis://:", random(r, base62, 16), "@cache:6379/0"},
		{"azure-key", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=", random(r, base62+"+/", 86) + "==", ";EndpointSuffix=core.windows.net"},
		{"password", "Server=tcp:db;User ID=app;Password=", random(r, base62, 14), ";Encrypt=True"},
		{"private-key", "", block(r, "RSA PRIVATE"+" KEY", 8), ""},
		{"private-key", "", block(r, "OPENSSH PRIVATE"+" KEY", 6), ""},
		{"private-key", "", block(r, "PGP PRIVATE"+" KEY BLOCK", 12), ""},
		{"private-key", "", block(r, "PRIVATE"+" KEY", 1), ""},
		{"password", "password: ", "hunt" + random(r, base62, 10), ""},
		{"password", `"db_password": "`, random(r, letters+numerals, 10), `"`},
		{"password", "PGPASSWORD=", random(r, base62, 12), " psql"},
		{"password", "MYSQL_PASSWORD=", random(r, letters, 12), " mysql"},
		{"password", "The password is ", random(r, base62, 12), "."},
		{"basic-auth", "curl -s -u admin:", random(r, base62, 12), " https://example.org"},
		{"basic-auth", "curl --user 'admin:", random(r, base62, 12), "' https://example.org"},
		{"secret", "api_key=", random(r, base62, 32), ""},
		{"secret", `apiKey: "`, random(r, base62, 32), `"`},
		{"secret", "client_secret = '", random(r, base64u+"~", 8) + random(r, base62, 24), "'"},
		{"secret", "export SERVICE_TOKEN=", random(r, base62, 24), ""},
		{"secret", "tool --token ", random(r, base62, 24), " --verbose"},
		{"secret", "https://example.org/?access_token=", random(r, base62, 24), "&page=2"},
		{"secret", "<clientSecret>", random(r, base62, 24), "</clientSecret>"},
		{"aws-secret-key", "aws_secret_access_key = ", random(r, base62+"/+", 32) + random(r, base62, 8), ""},
		{"aws-secret-key", `"SecretAccessKey": "`, random(r, base62+"/+", 32) + random(r, base62, 8), `"`},
		{"secret", `{"name": "API_TOKEN", "value": "`, random(r, base62, 24), `"}`},
		{"secret", "const apiKey: string = '", random(r, base62, 24), "'"},
	}
	for _, p := range []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"} {
		list = append(list, bare("github-token", p+random(r, base62, 36)))
	}
	return list
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }
