package openapi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"tenon/daemon/internal/config"
)

// FuzzDocument: no document breaks the reader, every schema is JSON, and every
// tool has a name of its own.
func FuzzDocument(f *testing.F) {
	for _, name := range []string{"shop.yaml", "tracker.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("openapi: 3.0.0\npaths:\n  /a: {$ref: '#/paths/~1a'}\n  /b: {get: {parameters: [{$ref: '#/x'}], requestBody: {content: {a/b: 3}}, responses: {200: {$ref: '#/paths'}}}}\nx: [1]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 16<<10 {
			return
		}
		for _, name := range []string{"a.yaml", "a.json"} {
			d, err := parseDocument(name, text)
			if err != nil {
				if err.Error() == "" {
					t.Fatal("an error without a message")
				}
				continue
			}
			all, _ := d.operations(hidden(&config.OpenAPISpec{}))
			names := map[string]bool{}
			for _, o := range all {
				if names[o.name] || o.name == "" {
					t.Fatalf("two tools, or none, are called %q", o.name)
				}
				names[o.name] = true
				if !json.Valid(o.input) || o.output != nil && !json.Valid(o.output) {
					t.Fatalf("%s: %s, %s", o.name, o.input, o.output)
				}
				if _, err := o.request(t.Context(), "http://h.example", json.RawMessage(`{"id":[1,{"a":2}],"body":{"a":[1]},"x":{}}`)); err != nil && err.Error() == "" {
					t.Fatal("an error without a message")
				}
			}
			_, _, _ = d.base(&config.OpenAPISpec{}, nil)
		}
	})
}
