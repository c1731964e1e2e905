package history

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
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
	i := Intent{Run: "run_1", Server: "fake", Tool: "echo"}
	s.Finish(s.Begin(i), i, Outcome{Status: "error", Message: "bad token " + secret, Input: []byte(`{"t":` + string(quoted) + `}`)})
	s.RunEnded(RunEnd{ID: "run_1", Status: "failed", Ended: time.Now(), Result: result(t, proto.RunResult{
		ID: "run_1", Value: json.RawMessage(`{"pin":123456789,"word":"turned on"}`), Stdout: "Authorization: Bearer abc.DEF-123_456xyz",
		Logs: []proto.Log{{Message: secret}},
	})})
	if _, err := s.PutOutput("run_1", []byte(secret)); err != nil {
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
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, form := range []string{secret, string(quoted[1 : len(quoted)-1]), "123456789"} {
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

func TestTokensAreMaskedAndTextIsNot(t *testing.T) {
	r := &Redactor{}
	for text, want := range map[string]string{
		"ghp_0123456789abcdefghijABCDEFGHIJ012345":                                   Mask,
		"key sk-proj-0123456789abcdefABCDEF done":                                    "key " + Mask + " done",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl":                          Mask,
		"AKIAIOSFODNN7EXAMPLE":                                                       Mask,
		"Authorization: bearer 0123456789abcdef":                                     "Authorization: bearer " + Mask,
		"the bearer authentication method":                                           "the bearer authentication method",
		"basic understanding of things":                                              "basic understanding of things",
		"skating, task-list and ghost_writer":                                        "skating, task-list and ghost_writer",
		"commit 9daeafb9864cf43055ae93beb0afd6c7d144bfa4":                            "commit 9daeafb9864cf43055ae93beb0afd6c7d144bfa4",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- after": Mask + " after",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
