package safety

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var markPattern = regexp.MustCompile(`\[redacted:[a-z0-9-]+#[0-9]+\]`)

func quote(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// escapeAll writes every character of s as \uXXXX.
func escapeAll(s string) string {
	var b strings.Builder
	for _, c := range s {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

func TestEverySecretShapeIsRedactedEverywhere(t *testing.T) {
	for seed := range uint64(20) {
		for i, c := range samples(newRand(seed)) {
			places := map[string]func() (string, []Finding){
				"text": func() (string, []Finding) {
					r := Default().Session().Text("result", c.text())
					return r.Text, r.Findings
				},
				"prose": func() (string, []Finding) {
					r := Default().Session().Text("result", "I ran it (see: \""+c.text()+"\"), then went on.")
					return r.Text, r.Findings
				},
				"JSON string": func() (string, []Finding) {
					out, f := Default().Session().JSON(nil, "result", []byte(quote(t, c.text())))
					return string(out), f
				},
				"line": func() (string, []Finding) {
					out, f := Default().Session().Line(nil, []byte(`{"kind":"x","result":[1,{"out":`+quote(t, "a\tb\n"+c.text())+`}]}`))
					return string(out), f
				},
				"escaped JSON": func() (string, []Finding) {
					out, f := Default().Session().JSON(nil, "result", []byte(`["`+escapeAll(c.text())+`"]`))
					return string(out), f
				},
				"JSON in JSON": func() (string, []Finding) {
					inner := quote(t, map[string]string{"out": c.text()})
					out, f := Default().Session().JSON(nil, "args", []byte(quote(t, map[string]string{"args": inner})))
					return string(out), f
				},
				"escaped JSON in JSON in JSON": func() (string, []Finding) {
					inner := quote(t, `{"out":"`+escapeAll(c.text())+`"}`)
					out, f := Default().Session().JSON(nil, "args", []byte(quote(t, []string{inner})))
					return string(out), f
				},
				"invalid JSON": func() (string, []Finding) {
					out, f := Default().Session().JSON(nil, "args", []byte(`{"a": `+quote(t, c.text())))
					return string(out), f
				},
				"key": func() (string, []Finding) {
					out, f := Default().Session().JSON(nil, "args", []byte(`{`+quote(t, c.text())+`:1}`))
					return string(out), f
				},
			}
			for place, scrub := range places {
				out, findings := scrub()
				body := strings.Trim(c.secret, "=")
				if strings.Contains(out, body) || strings.Contains(out, strings.Trim(quote(t, body), `"`)) {
					t.Errorf("seed %d, sample %d %s in %s: the secret is still there", seed, i, c.rule, place)
				}
				if strings.Contains(unescapeAll(out), body) {
					t.Errorf("seed %d, sample %d %s in %s: the secret is still there, escaped", seed, i, c.rule, place)
				}
				named := false
				for _, f := range findings {
					named = named || f.Rule == c.rule
				}
				if !named {
					t.Errorf("seed %d, sample %d in %s: findings %v, want rule %s", seed, i, place, findings, c.rule)
				}
				if !markPattern.MatchString(out) {
					t.Errorf("seed %d, sample %d %s in %s: no mark in the output", seed, i, c.rule, place)
				}
			}
		}
	}
}

func unescapeAll(s string) string {
	for range 4 {
		s = string(unescape([]byte(s)).b)
	}
	return s
}

func TestWhatIsNoSecretIsUntouched(t *testing.T) {
	r := newRand(1)
	png := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(random(r, base62, 3000)))
	for _, text := range []string{
		"commit " + random(r, hexa, 40) + " by me",
		"image@sha256:" + random(r, hexa, 64),
		`"integrity": "sha512-` + random(r, base62+"+/", 86) + `=="`,
		"md5 " + random(r, hexa, 32), "etag: \"" + random(r, hexa, 32) + "\"",
		png, `<img src="` + png + `">`,
		"API_KEY=${API_KEY}", "curl -H \"Authorization: Bearer $TOKEN\"", `Authorization: Bearer ${TOKEN}`, "Bearer <your-api-key>", "api_key: <your-api-key>",
		"OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx", "password: ********", "password=***", `"password": "xxxxxxxx"`, "sk-ant-...", "sk-...", "sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"apiKey: process.env.OPENAI_API_KEY", `token = os.environ["GITHUB_TOKEN"]`, `api_key=os.getenv("API_KEY_2024_PROD")`, "password: import.meta.env.VITE_PW1",
		"function login(user: string, password: string): Promise<Token>", "password: str = None", "password?: string;", "private token: Token123Provider;",
		"token = getToken()", "const token = await getToken2(user)", "secret = secrets.token_hex(32)", "token := r.Header.Get(\"X-1\")", "password = user.password2", "apiKey = config.apis[0].key",
		"max_tokens: 4096", `"token_count": 123456789`, `{"input_tokens":1234567,"output_tokens":89}`, "tokens=1234567890ab", `"token_type":"bearer1234567"`, "tokenizer: cl100k_base_2024",
		"AKIA" + "IOSFODNN7" + "EXAMPLE", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY",
		"the secret: be patient", "the password is required", "the token is missing", "docker run -u 1000:1000 image", "git push -u origin main:main2/x", "password: the user must type it", "Password: required", `"password": "required"`, "Enter password:", `<input type="password" name="password1">`, "token: string;", `"token": "string"`,
		"secretary2024: someone9876", "task-" + random(r, base62, 32), "disk-abcdefghij1234567890", "sk-fading-circle-dot-container", "risk-assessment-2024-final-version-2",
		"basic understanding", "Basic Operations", "bearer of bad news", "a bearer certificate of 2024", "the token is abc",
		"http://localhost:8080/a@b", "https://example.org:443/x", "postgres://user:password@localhost/db", "postgres://user:${DB_PASSWORD}@host/db", "redis://user:<password>@host", "ssh://git@github.com:22/x",
		"-----BEGIN CERTIFICATE-----\n" + random(r, base62, 64) + "\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\n" + random(r, base62, 64) + "\n-----END PUBLIC KEY-----",
		"files that start with -----BEGIN RSA PRIVATE KEY----- are refused", "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
		`nextPageToken: "CAUQAA1234567890abcdef"`, "PWD=/home/me/project1", "pwd: ~/src/app2", "secretName: db-credentials-v2", "token = 0x53c23753", "PrivateKey: testP256PrivateKey",
		"if a < b && c > d {", "x <| y |> z", "visited[inst]", "[Institute] <system-reminder>", "ignore the linter", "Ignore all whitespace changes.",
	} {
		for name, out := range map[string]string{
			"text": Default().Session().Text("result", text).Text,
			"JSON": string(first(Default().Session().JSON(nil, "result", []byte(quote(t, text))))),
		} {
			want := text
			if name == "JSON" {
				want = quote(t, text)
			}
			if out != want {
				t.Errorf("%s: %q became %q", name, want, out)
			}
		}
	}
}

func first(b []byte, _ []Finding) []byte { return b }

func TestRandomIdentifiersAreUntouched(t *testing.T) {
	r := newRand(2)
	crockford := "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	pick := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range 10_000 {
		uuid := pick(hexa, 8) + "-" + pick(hexa, 4) + "-4" + pick(hexa, 3) + "-a" + pick(hexa, 3) + "-" + pick(hexa, 12)
		for _, id := range []string{
			pick(hexa, 40), pick(hexa, 7), uuid, strings.ToUpper(uuid), "01" + pick(crockford, 24),
			pick(hexa, 32), pick(hexa, 64), "sha256-" + pick(base62+"+/", 43) + "=", "sha512-" + pick(base62+"+/", 86) + "==", pick(base62, 22), "toolu_" + pick(base62, 24), "call_" + pick(base62, 24), "msg_" + pick(base62, 24), "chatcmpl-" + pick(base62, 29), "gen-1760000000-" + pick(base62, 20),
		} {
			if got := Default().Session().Text("result", "id "+id+" done"); got.Findings != nil {
				t.Fatalf("%s: %v", id, got.Findings)
			}
			line := `{"id":"` + id + `","callId":"` + id + `"}`
			if out, f := Default().Session().Line(nil, []byte(line)); f != nil || string(out) != line {
				t.Fatalf("%s: %v", line, f)
			}
		}
	}
}

func TestLabelledValuesInJSON(t *testing.T) {
	pass, key := "hunt"+"er2x9", random(newRand(3), base62, 24)
	for _, c := range []struct{ in, want string }{
		{`{"password":"` + pass + `"}`, `{"password":"[redacted:password#1]"}`},
		{`{"user": "me" , "Password" : "` + pass + `" }`, `{"user": "me" , "Password" : "[redacted:password#1]" }`},
		{`{"a":{"db_password":"` + pass + `"},"b":[1.50,null]}`, `{"a":{"db_password":"[redacted:password#1]"},"b":[1.50,null]}`},
		{`{"pass\u0077ord":"` + pass + `"}`, `{"pass\u0077ord":"[redacted:password#1]"}`},
		{`{"password":"` + escapeAll(pass) + `"}`, `{"password":"[redacted:password#1]"}`},
		{`{"apiKey":"` + key + `","max_tokens":4096}`, `{"apiKey":"[redacted:secret#1]","max_tokens":4096}`},
		{`{"name":"SERVICE_TOKEN","value":"` + key + `"}`, `{"name":"SERVICE_TOKEN","value":"[redacted:secret#1]"}`},
		{`{"env":[{"name":"HOME","value":"/root"},{"name":"DB_PASSWORD","value":"` + pass + `"}]}`, `{"env":[{"name":"HOME","value":"/root"},{"name":"DB_PASSWORD","value":"[redacted:password#1]"}]}`},
		{`{"password":"` + pass[:4] + "\u200B" + pass[4:] + `"}`, `{"password":"[redacted:password#1]"}`},
		{`{"SecretAccessKey":"` + key + `/abcdef1234567890"}`, `{"SecretAccessKey":"[redacted:aws-secret-key#1]"}`},
		{`{"password":"string","token":"abc","secret":null,"token_count":"12345678ab"}`, `{"password":"string","token":"abc","secret":null,"token_count":"12345678ab"}`},
		{`{"args":"{\"password\":\"` + pass + `\"}"}`, `{"args":"{\"password\":\"[redacted:password#1]\"}"}`},
		{`{"a":"{\"p\\u0061ssword\":\"` + pass + `\"}"}`, `{"a":"{\"p\\u0061ssword\":\"[redacted:password#1]\"}"}`},
	} {
		out, findings := Default().Session().JSON(nil, "args", []byte(c.in))
		if string(out) != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, out, c.want)
		}
		if changed := c.in != c.want; changed != (findings != nil) {
			t.Errorf("%s: findings %v", c.in, findings)
		}
	}
}

func TestNumbering(t *testing.T) {
	r := newRand(4)
	a, b := "sk-"+"proj-"+random(r, base62, 60), "sk-"+"proj-"+random(r, base62, 60)
	s := Default().Session()
	if got, want := s.Text("why", a+" "+b+" "+a).Text, "[redacted:openai-key#1] [redacted:openai-key#2] [redacted:openai-key#1]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// The same secret behind a label, in another text, in JSON.
	if got, want := s.Text("why", "OPENAI_API_KEY="+b).Text, "OPENAI_API_KEY=[redacted:openai-key#2]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out, _ := s.JSON(nil, "args", []byte(`{"api_key":"`+escapeAll(b)+`","u":"https://x:`+a+`@h/"}`))
	if got, want := string(out), `{"api_key":"[redacted:openai-key#2]","u":"https://x:[redacted:openai-key#1]@h/"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := Default().Session().Text("why", b).Text, "[redacted:openai-key#1]"; got != want {
		t.Errorf("another session: got %q, want %q", got, want)
	}
}
