package history

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"
)

// FuzzJournal: what a dead daemon wrote is read as it was meant, whatever names it
// holds, and damage before or behind a line costs no other line.
func FuzzJournal(f *testing.F) {
	f.Add("run_1", "fs", "read", "ok", []byte("half a li"))
	f.Add("r\"\n", "\xff", "é\u2028", "", []byte("{}\nnull\n{\"id\":3,\"type\":\"call\"}"))
	f.Add("", "", "", "x", []byte(`{"id":1,"type":"run"}`))
	f.Fuzz(func(t *testing.T, run, server, tool, outcome string, damage []byte) {
		at := time.UnixMilli(1_700_000_000_000)
		i := Intent{Run: run, Session: server, Server: server, Tool: tool, Instance: tool, Call: 3, Started: at}
		text := i.line(nil, 11)
		text = Run{ID: run, Session: server, Cwd: tool, Started: at}.line(text, 12)
		text = RunEnd{ID: run, Status: outcome, Kind: tool, Calls: 2, Ended: at}.line(text, 13)
		text = doneLine(text, 11, outcome, at)
		if bytes.Count(text, []byte("\n")) != 4 {
			t.Fatalf("four records are %q", text)
		}
		intents, status, _ := readJournal(bytes.NewReader(text))
		valid := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
		call := intents[11]
		if len(intents) != 3 || len(status) != 1 || call.Type != "call" || call.At != at.UnixMilli() || call.Call != 3 || intents[12].Type != "run" || intents[13].Calls != 2 {
			t.Fatalf("%+v %+v", intents, status)
		}
		if valid(call.Server) != call.Server || len([]rune(call.Server)) != len([]rune(server)) || status[11] != unbroken(outcome) {
			t.Fatalf("%q became %q, %q", server, call.Server, status[11])
		}
		// Damage that names no record of ours.
		for line := range bytes.Lines(damage) {
			var e entry
			if json.Unmarshal(line, &e) == nil && e.Type != "" {
				return
			}
		}
		hurt := append(append(bytes.Clone(damage), '\n'), text...)
		hurt = append(hurt, damage...)
		again, ends, _ := readJournal(bytes.NewReader(hurt))
		if !maps.Equal(again, intents) || !maps.Equal(ends, status) {
			t.Fatalf("with damage: %+v %+v", again, ends)
		}
	})
}

// unbroken is s as JSON holds it: each byte that is no UTF-8 is replaced.
func unbroken(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// FuzzRedact: JSON stays JSON, what is known to be secret is not in it, and there is
// nothing left to do the second time.
func FuzzRedact(f *testing.F) {
	for _, seed := range []string{`{"token":"abc","a":[{"PASSWORD":{"x":"y"}}]}`, `{"a":1,"a":"s3cr3t-v@lue"}`, `"Bearer abcdefghijklmn0p"`, `{"url":"https://u:p4ssw0rd@h.example/"}`, `[1234567890123,12345678901234]`, `{"authorization":"\\\""}`, "s3cr3t-v…", `1e999`} {
		f.Add(seed)
	}
	secrets := []string{"s3cr3t-v@lue", "12345678901234"}
	f.Fuzz(func(t *testing.T, text string) {
		var r Redactor
		r.Add(secrets...)
		for how, mask := range map[string]func(string) string{
			"json": func(s string) string { return r.JSON([]byte(s)) }, "text": r.Text, "head": func(s string) string { return r.Head(s, 40) },
		} {
			out := mask(text)
			switch {
			case how == "json" && json.Valid([]byte(text)) && !json.Valid([]byte(out)):
				t.Fatalf("%s became %s", text, out)
			case strings.Contains(out, secrets[0]) || strings.Contains(out, secrets[1]):
				t.Fatalf("%s shows a secret", out)
			case how == "head" && len(out) > 40:
				t.Fatalf("%d bytes", len(out))
			case how != "head" && mask(out) != out:
				t.Fatalf("%s: %q, then %q", how, out, mask(out))
			}
		}
	})
}
