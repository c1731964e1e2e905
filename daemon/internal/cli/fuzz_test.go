package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/question"
	"tenon/proto"
)

// FuzzMoment: a moment of a flag is one that the daemon can read.
func FuzzMoment(f *testing.F) {
	for _, s := range []string{"2h", "7d", "2026-01-31", "2026-01-31T12:00:00Z", "99999999999d", "-1h", "0000-00-00", "2540400h", "9223372036854775807d"} {
		f.Add(s)
	}
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := momentOf(text, now)
		if !ok {
			return
		}
		if back, err := time.Parse(time.RFC3339, at.UTC().Format(time.RFC3339)); err != nil || !back.Equal(at.Truncate(time.Second)) {
			t.Fatalf("%q is %v: %v", text, at, err)
		}
		if strings.HasSuffix(text, "d") && at.After(now) {
			t.Fatalf("%q is in the future: %v", text, at)
		}
	})
}

// FuzzField: what --field takes fits the form, and every mistake is told with the
// name of its field.
func FuzzField(f *testing.F) {
	f.Add("name=Ann", "age=20")
	f.Add("level=2", "tags=a, c")
	f.Add("age=1e400", "ok=Yes")
	f.Add("=", "name=a\x00\xff")
	f.Add("tags=,,", "age=020")
	q, err := question.Read(question.Elicitation, json.RawMessage(`{"message":"m","requestedSchema":{"type":"object","properties":{
		"name":{"type":"string","maxLength":20},"age":{"type":"integer","minimum":1},"ok":{"type":"boolean"},
		"level":{"type":"string","enum":["low","high"]},"tags":{"type":"array","items":{"type":"string","enum":["a","b","c"]}}}}}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		raw, err := contentOf(q, []string{a, b})
		if err != nil {
			if len(err.Error()) > 8*(len(a)+len(b))+2000 {
				t.Fatalf("%d bytes of error", len(err.Error()))
			}
			return
		}
		answer, err := json.Marshal(map[string]any{"action": "accept", "content": json.RawMessage(raw)})
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if _, err := q.Check(answer); err != nil {
			t.Fatalf("%q and %q are %s, which does not fit: %v", a, b, raw, err)
		}
	})
}

// FuzzPairs: a parameter is its name and all behind the first sign of equality.
func FuzzPairs(f *testing.F) {
	f.Add("a=b=c", "d=")
	f.Add("=", "")
	f.Add("a=1", "a=2")
	f.Fuzz(func(t *testing.T, a, b string) {
		got, err := pairs([]string{a, b})
		if err != nil {
			return
		}
		for name, value := range got {
			if name == "" || name+"="+value != a && name+"="+value != b {
				t.Fatalf("%q and %q are %q", a, b, got)
			}
		}
	})
}

// FuzzRunID: a beginning of an id names a run that begins so, and one only.
func FuzzRunID(f *testing.F) {
	f.Add("run_019a2b3c", "run_019a2b3c-1111-7000-8000-000000000001", "run_019a2b3c-2222-7000-8000-000000000001")
	f.Add("last", "run_1", "run_2")
	f.Add("run_", "", "run_")
	f.Fuzz(func(t *testing.T, word, one, two string) {
		got, err := pickRun(word, func() ([]proto.Run, error) { return []proto.Run{{ID: one}, {ID: two}}, nil })
		if err != nil {
			return
		}
		if got != word && word != "last" && !strings.HasPrefix(got, word) {
			t.Fatalf("%q names %q", word, got)
		}
		if word != "last" && got != word && one != two && strings.HasPrefix(one, word) && strings.HasPrefix(two, word) {
			t.Fatalf("%q of %q and %q is %q", word, one, two, got)
		}
	})
}
