package guest

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
)

// FuzzFailure: whatever a program throws, or writes in the prelude's place, it is a
// failure of a kind of the closed list, in words of bounded length.
func FuzzFailure(f *testing.F) {
	for _, s := range []string{
		`{"name":"TypeError","message":"x","stack":"    at f (program:1:2)","made":"A B"}`, `{"fault":"{\"kind\":\"ToolFailure\",\"message\":\"m\"}","message":"m and more"}`,
		`{"fault":"{\"kind\":\"nonsense\"}"}`, `{"thrown":"5"}`, `{"nothing":true}`, `null`, `{"name":"SyntaxError","cause":"c"}`, "\xff", `{"name":"` + strings.Repeat("é", 5000) + `"}`,
	} {
		f.Add(s, true)
	}
	p := Program{Name: "p.ts", Script: &script.Program{Mappings: "AAAA"}}
	f.Fuzz(func(t *testing.T, text string, unread bool) {
		e, stack := p.Thrown(ParseFailure(text), unread)
		if e == nil || e.Message == "" || len(e.Message) > 20_000+2*len(text) || strings.Count(stack, "\n") > 2*len(text)+100 {
			t.Fatalf("%q: %+v", text, e)
		}
		if _, err := json.Marshal(e.Wire()); err != nil {
			t.Fatal(err)
		}
		_ = fault.From(e).Kind.HTTPStatus()
	})
}

// FuzzInspect: the depth of JSON is that of its brackets, and an integer beyond what
// a double holds is never missed.
func FuzzInspect(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"[\"{"}]}`, `9007199254740993`, `[1e400]`, `"\\\""`, `[]`, `[12345678901234567890.5]`, `-9007199254740993`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		depth, big := Inspect(text) // what is no JSON must not break it either
		if !json.Valid(text) {
			return
		}
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		level, most := 0, 0
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			switch token := token.(type) {
			case json.Delim:
				if token == '{' || token == '[' {
					level++
				} else {
					level--
				}
				most = max(most, level)
			case json.Number:
				if digits := strings.TrimPrefix(token.String(), "-"); len(digits) > 16 && !strings.ContainsAny(digits, ".eE") && !big {
					t.Fatalf("%s is missed", token)
				}
			}
		}
		if depth != most {
			t.Fatalf("%s: depth %d, want %d", text, depth, most)
		}
	})
}

// FuzzKeep: what a program says is kept as JSON within its limits, and cut between
// characters.
func FuzzKeep(f *testing.F) {
	f.Add("info", "m", `{"a":1}`, 5)
	f.Add("\xff", strings.Repeat("é", 100), "{", 0)
	f.Fuzz(func(t *testing.T, level, message, attrs string, limit int) {
		limits := WithDefaults(engine.Limits{Capture: 200, Logs: 2, Depth: 5})
		out := &engine.Outcome{}
		k := Keeper{Limits: limits, Script: &script.Program{}, Host: &silent{}, Out: out}
		for range 4 {
			k.Log(level, message, attrs, message)
			k.Warn(level, message)
		}
		size := 0
		for _, l := range out.Logs {
			size += len(l.Message) + len(l.Attrs)
			if !utf8.ValidString(l.Message) || l.Attrs != nil && !json.Valid(l.Attrs) {
				t.Fatalf("%+v", l)
			}
		}
		if len(out.Logs) > limits.Logs || int64(size) > limits.Capture {
			t.Fatalf("%d logs of %d bytes", len(out.Logs), size)
		}
		limit = max(0, limit%1000)
		if s := Clip(Valid(message), limit); len(s) > limit+len("…")+20 || !utf8.ValidString(s) {
			t.Fatalf("%d bytes: %q", limit, s)
		}
	})
}
