package history

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/proto"
)

// a secret is in no file.
func TestSecretsAreInNoFile(t *testing.T) {
	const secret = `p"4ss\wörd/+=&`
	dir := t.TempDir()
	s := open1(t, dir)
	s.Redactor().Add(secret, "123456789", "on")
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	s.RunStarted(Run{ID: "run_1", Session: "S", Code: "call(" + string(quoted) + ")", Started: time.Now()})
	i := Intent{Run: "run_1", Server: "no " + secret, Tool: "no " + secret} // as a program calls it
	s.Finish(s.Begin(i), i, Outcome{Status: "error", Message: "bad token " + secret, Input: []byte(`{"t":` + string(quoted) + `}`)})
	s.RunEnded(RunEnd{ID: "run_1", Status: "failed", Ended: time.Now(), Result: result(t, proto.RunResult{
		ID: "run_1", Value: json.RawMessage(`{"pin":123456789,"word":"turned on"}`), Stdout: "Authorization: Bearer abc.DEF-123_456xyz",
		Logs: []proto.Log{{Message: secret}},
	})})
	if _, err := s.PutOutput("run_1", []byte(secret)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put("run_1", secret+".yaml", "application/"+secret, []byte("key: "+secret)); err != nil {
		t.Fatal(err)
	}
	s.Audit("a", "b", secret)
	r, err := s.Show(bg, "run_1")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Result.Value); got != `{"pin":"[redacted]","word":"turned on"}` {
		t.Errorf("value %s: it must stay JSON, and ordinary words must stay", got)
	}
	if r.Result.Stdout != "Authorization: Bearer [redacted]" || r.Result.Logs[0].Message != Mask {
		t.Errorf("%q, %q", r.Result.Stdout, r.Result.Logs[0].Message)
	}
	noFileHas(t, dir, secret, string(quoted[1:len(quoted)-1]), "123456789")
}

// noFileHas reads every file below dir.
func noFileHas(t *testing.T, dir string, forms ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, form := range forms {
			if bytes.Contains(data, []byte(form)) {
				t.Errorf("%s holds %q", path, form)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestKnownSecretsAreMaskedInEveryForm(t *testing.T) {
	const secret = `Tr0ub4dor&3/<é>"x`
	r := &Redactor{}
	r.Add(secret)
	inJSON, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(inJSON))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as it is":             secret,
		"JSON by Go":           string(inJSON),
		"JSON by JavaScript":   `"Tr0ub4dor&3/<é>\"x"`,
		"JSON in ASCII":        `"Tr0ub4dor&3/<\u00e9>\"x"`,
		"JSON within JSON":     string(twice),
		"query":                "https://x/?t=" + url.QueryEscape(secret),
		"path":                 "https://x/" + url.PathEscape(secret),
		"query, small letters": "https://x/?t=Tr0ub4dor%263%2f%3c%c3%a9%3e%22x",
		"base64":               base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 for addresses": base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"base64 with a user":   "token " + base64.StdEncoding.EncodeToString([]byte("me:"+secret+":tail")),
		"base64, shifted":      "token " + base64.StdEncoding.EncodeToString([]byte("user:"+secret)),
		"hexadecimal":          hex.EncodeToString([]byte(secret)),
	} {
		if got := r.Text("a " + text + " b"); !strings.Contains(got, Mask) || strings.Contains(got, "ub4dor") {
			t.Errorf("%s: %q becomes %q", name, text, got)
		}
	}
	if got := r.Text("Tr0ub4do is another word"); strings.Contains(got, Mask) {
		t.Errorf("a part of it that nobody cut is text: %q", got)
	}
	r.Add("warning") // shorter than 8 bytes
	if got := r.Text("a warning"); got != "a warning" {
		t.Errorf("%q", got)
	}
}

// Whoever cuts a text may cut a secret in two; the first part would be readable.
func TestNothingIsLeftOfASecretThatACutGoesThrough(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	r := &Redactor{}
	r.Add(secret)
	for n := range 64 {
		text := strings.Repeat("x", 20) + secret + strings.Repeat("y", 20_000)
		if got := r.Head(text, n); strings.Contains(got, "corr") || len(got) > n {
			t.Errorf("cut at %d: %q", n, got)
		}
	}
	for n := 4; n < len(secret); n++ {
		text := "said " + secret[:n] + "… [truncated: kept 9 of 99 bytes; tenon runs output run_1]"
		if got := r.Text(text); strings.Contains(got, secret[:4]) || !strings.HasPrefix(got, "said "+Mask+"… [truncated") {
			t.Errorf("%q", got)
		}
	}
	dir := t.TempDir()
	s := open1(t, dir)
	s.Redactor().Add(secret)
	s.RunStarted(Run{ID: "run_1", Code: strings.Repeat("x", MaxCode-10) + secret, Started: time.Now()})
	for _, pad := range []int{inputBytes - 10, 2*inputBytes - 10} {
		i := Intent{Run: "run_1", Server: "fake", Tool: "echo"}
		s.Finish(s.Begin(i), i, Outcome{Status: "ok", Input: []byte(strings.Repeat("x", pad) + secret)})
	}
	if err := s.Flush(bg); err != nil {
		t.Fatal(err)
	}
	noFileHas(t, dir, secret[:10])
}

func TestTokensAreMaskedAndTextIsNot(t *testing.T) {
	r := &Redactor{}
	picture := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0x89, 'P', 'N', 'G', 0x7b, 0x22, 0xff, 0x13}, 500))
	for text, want := range map[string]string{
		"ghp_0123456789abcdefghijABCDEFGHIJ012345":                                   Mask,
		"key sk-proj-0123456789abcdefABCDEF done":                                    "key " + Mask + " done",
		"sk-ant-api03-abcDEF123_456-ghiJKL789 .":                                     Mask + " .",
		"stripe sk_live_0123456789abcdefABCD":                                        "stripe " + Mask,
		"xoxb-123456789012-abcdefGHIJKL":                                             Mask,
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl":                          Mask,
		"AKIAIOSFODNN7EXAMPLE":                                                       Mask,
		"hf_abcdefghijklmnopqrstuvwxyzABCDEFGH":                                      Mask,
		"Authorization: bearer 0123456789abcdef":                                     "Authorization: bearer " + Mask,
		"Authorization: Basic dXNlcjpwYXNzd29yZDEy":                                  "Authorization: Basic " + Mask,
		"postgres://app:hunter2@db:5432/x and":                                       "postgres://app:" + Mask + "@db:5432/x and",
		"https://:pw@host/":                                                          "https://:" + Mask + "@host/",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- after": Mask + " after",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk":                       Mask,
		`"-----BEGIN PRIVATE KEY-----\nMIIE+/=\n-----END PRIVATE KEY-----\n"`:        `"` + Mask + `\n"`,
		// What is none stays, byte for byte.
		"the bearer authentication method":                            "",
		"basic understanding of things":                               "",
		"skating, task-list and ghost_writer":                         "",
		"sk-learn-compatible-estimator-checks":                        "",
		"commit 9daeafb9864cf43055ae93beb0afd6c7d144bfa4":             "",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d": "",
		"id 018f3a6e-7b1c-7c3a-9f60-2c3d4e5f6a7b":                     "",
		"npm_config_registry=https://registry.example:4873/":          "",
		"http://localhost:8080/a@b?x=y:z@w":                           "",
		"mailto:someone@example.com, see https://example.com":         "",
		"data:image/png;base64," + picture:                            "",
		"PneumonoultramicroscopicsilicovolcanoconiosisIsALongWord":    "",
		"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----":  "",
		"const eyJust = 1; let AKIAnything = gh_pages":                "",
	} {
		if want == "" {
			want = text
		}
		if got := r.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestSecretsOfAnOwnerTakeThePlaceOfItsFormerOnes(t *testing.T) {
	var r Redactor
	r.Add("fixed-secret-1")
	for _, token := range []string{"token-number-1", "token-number-2", "token-number-2", "token-number-3"} {
		r.Put("login", token, "short")
	}
	r.Put("another", "token-number-9")
	got := r.Text("fixed-secret-1 token-number-1 token-number-2 token-number-3 token-number-9 short")
	want := Mask + " token-number-1 " + Mask + " " + Mask + " " + Mask + " short"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
