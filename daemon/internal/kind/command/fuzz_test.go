package command

import (
	"encoding/json"
	"strings"
	"testing"

	"tenon/daemon/internal/config"
)

// FuzzWords: a value is one argument of the command, whatever is in it, and begins
// with no dash where that would make it an option.
func FuzzWords(f *testing.F) {
	f.Add("{a}", []byte(`{"a":"--rm -rf; $(x)\n"}`), []byte(`{"properties":{"b":{"default":1}}}`))
	f.Add("--x={a}", []byte(`{"a":{"b":[1, 2]}}`), []byte(`true`))
	f.Add("{?a:--flag}", []byte(`{"a":false}`), []byte(`{}`))
	f.Add("{a...}", []byte(`{"a":["1",null,{}]}`), []byte(`{}`))
	f.Add("{?a}{b}", []byte(`{"a":"","b":"-x"}`), []byte(`{"properties":3}`))
	f.Fuzz(func(t *testing.T, template string, given, schema []byte) {
		pieces, err := config.ParseWord(template)
		if err != nil || !json.Valid(given) || !json.Valid(schema) {
			return // both were read before
		}
		args, err := readArguments(given, schema)
		if err != nil {
			return
		}
		w := word(pieces)
		out, err := w.words(args, true)
		if err != nil {
			return
		}
		loose, err := w.words(args, false)
		if err != nil || len(loose) != len(out) {
			t.Fatalf("guarded %q, else %q, %v", out, loose, err)
		}
		own := len(pieces) > 0 && (pieces[0].Value == nil || pieces[0].Value.HasText) // the configuration's own dash
		repeated := false
		for _, p := range pieces {
			repeated = repeated || p.Value != nil && p.Value.Repeated
			own = own || p.Value != nil && p.Value.HasText || p.Value == nil
		}
		if !repeated && len(out) > 1 {
			t.Fatalf("%q is several: %q", template, out)
		}
		for _, one := range out {
			if strings.ContainsRune(one, 0) && !strings.ContainsRune(template, 0) {
				t.Fatalf("%q: NUL in %q", template, one)
			}
			if strings.HasPrefix(one, "-") && !own {
				t.Fatalf("%q of %s is an option: %q", template, given, one)
			}
		}
	})
}
