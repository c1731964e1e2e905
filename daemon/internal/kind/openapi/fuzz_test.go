package openapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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

// FuzzResponse: whatever a service answers, the result is one that can be sent, and
// no secret that it was asked with stands in it.
func FuzzResponse(f *testing.F) {
	f.Add(200, "application/json", []byte(`{"a":"s3cr3t-v@lue"}`))
	f.Add(200, "image/png", []byte("\x89PNG"))
	f.Add(404, "text/plain", bytes.Repeat([]byte("s3cr3t-v@lue "), 1000))
	f.Add(500, "application/problem+json; x=", []byte("{\xff"))
	f.Add(200, "", []byte("123456789012"))
	const bearer, key = "s3cr3t-v@lue", "123456789012"
	spec := &config.OpenAPISpec{Bearer: bearer, Query: map[string]string{"key": key}}
	f.Fuzz(func(t *testing.T, status int, media string, body []byte) {
		if status < 100 || status > 599 {
			return
		}
		c := &client{spec: spec, mask: masker(spec)}
		r := c.result(&operation{name: "o", method: "GET", path: "/"}, &http.Response{
			StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {media}, "Retry-After": {string(body[:min(len(body), 50)])}}, Body: io.NopCloser(bytes.NewReader(body)),
		})
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), bearer) || strings.Contains(string(raw), key) {
			t.Fatalf("%d %s %q shows a secret: %s", status, media, body, raw)
		}
		if status >= 300 && (!r.IsError || len(raw) > 8*maxWords) {
			t.Fatalf("%d: %s", status, raw)
		}
	})
}
