package stdio

import (
	"encoding/json"
	"testing"
)

// FuzzValue: any value of a function is a result that can be sent, with the value as
// it was.
func FuzzValue(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `"text"`, `null`, `12345678901234567890`, `"\ud800"`, `[1, 2]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if !json.Valid(value) {
			return // the engine gives JSON
		}
		raw, err := json.Marshal(Value(value))
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		var got struct {
			Structured json.RawMessage `json:"structuredContent"`
			Content    []struct{ Type, Text string }
		}
		if err := json.Unmarshal(raw, &got); err != nil || len(got.Content) != 1 || got.Content[0].Type != "text" {
			t.Fatalf("%s became %s, %v", value, raw, err)
		}
		if s := objectSchema(value); s == nil {
			t.Fatalf("%s: no schema", value)
		}
	})
}
