package shelf

import (
	"encoding/json"
	"testing"
)

// FuzzParameter: a word of a command line that a type takes is JSON which the type
// takes too, and so is a default in a script's header.
func FuzzParameter(f *testing.F) {
	for _, kind := range []string{"string", "number", "integer", "boolean", "object", "string[]", "'a'|\"b\"|3", "any", "number[][]", "null", "(string)"} {
		for _, word := range []string{"a", "3", "1e400", "0x10", " true", `{"a":1}`, `["x"]`, `"\u0061"`, "[[1],[2.5]]", "Infinity", "\xff", ""} {
			f.Add(kind, word)
		}
	}
	f.Fuzz(func(t *testing.T, kind, word string) {
		typ, _ := ParseType(kind)
		_ = typ.TS() + typ.Words()
		value, err := typ.Read(word)
		if err != nil {
			return
		}
		if !json.Valid(value) || !typ.Fits(value) {
			t.Fatalf("%q of type %s is %s, which does not fit", word, typ.TS(), value)
		}
		h := Header{Params: []Param{{Name: "x", Type: typ}}}
		input, err := h.Input(map[string]string{"x": word}, nil)
		var got map[string]json.RawMessage
		if err != nil || json.Unmarshal(input, &got) != nil || len(got) != 1 || !typ.Fits(got["x"]) {
			t.Fatalf("%q: %s, %v", word, input, err)
		}
		if again, err := h.Input(nil, input); err != nil || string(again) != string(input) {
			t.Fatalf("%s, then %s, %v", input, again, err)
		}
	})
}

// FuzzInput: what a script gets has known members of the declared types, and all
// that are required, whatever JSON it was given.
func FuzzInput(f *testing.F) {
	f.Add("@param {number} n\n * @param {string} [s=x]", []byte(`{"n":1}`))
	f.Add("@param {'a'|'b'} n", []byte(`{"n":"\u0061","n":"c"}`))
	f.Add("", []byte(`[1]`))
	f.Add("@param {boolean[]} __proto__", []byte(`{"__proto__":[true]}`))
	f.Fuzz(func(t *testing.T, params string, given []byte) {
		h := ParseHeader("/**\n * " + params + "\n */\n")
		if !json.Valid(given) || len(h.Params) == 0 {
			return
		}
		input, err := h.Input(nil, given)
		if err != nil {
			return
		}
		var got map[string]json.RawMessage
		if json.Unmarshal(input, &got) != nil {
			t.Fatalf("%s", input)
		}
		for _, p := range h.Params {
			value, ok := got[p.Name]
			if !ok && p.Required || ok && p.Default == nil && !p.Type.Fits(value) {
				t.Fatalf("%s of %s: %s", p.Name, params, input)
			}
		}
	})
}
