package call

import (
	"encoding/json"
	"testing"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/upstream"
)

// FuzzResults: whatever a server answers to a call, a read or a prompt, what a
// program gets is JSON or an error in words, and so is what is kept of it.
func FuzzResults(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"{\"a\":1}"}]}`, `{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}],"isError":true}`, `{"structuredContent":{"a":1}}`,
		`{"content":[{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}]}`, `{"content":null,"toolResult":3}`, `{"content":{}}`, `{"content":[null,3,"x",{}]}`,
		`{"contents":[{"uri":"a:b","mimeType":"application/json","text":"{}"}]}`, `{"contents":[{"uri":"a:b","text":"x"},{"uri":"a:c","blob":"!"}]}`, `{"contents":[]}`, `{"contents":[{"text":""}]}`,
		`{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"x"}},{"role":"user","content":{"type":"image","data":"AA==","mimeType":"image/png"}}]}`, `{"messages":[null]}`, `null`, `[]`,
		`{"isError":true,"content":[{"type":"text","text":"\u001b[2J"}],"structuredContent":{"error":"e"}}`,
	} {
		f.Add([]byte(s))
	}
	list := catalog.New(catalog.Options{}).Learn("d", "i", 1, []upstream.Tool{
		{Name: "plain"}, {Name: "typed", OutputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)},
	})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return // the connection has refused it
		}
		for _, tool := range []string{"plain", "typed"} {
			for _, outputs := range []string{"warn", "strict"} {
				c := &call{p: &Path{}, req: &Request{View: &config.View{}}}
				c.server, c.toolName, c.tool = &config.Server{Name: "s", Outputs: outputs}, tool, list.Named(tool)
				r, err := c.convert(raw)
				if err != nil {
					if err.Error() == "" {
						t.Fatal("an error without words")
					}
					continue
				}
				if !json.Valid(r.Value) || !json.Valid(r.Raw) {
					t.Fatalf("%s became %s", raw, r.Value)
				}
			}
		}
		c := &call{p: &Path{}, req: &Request{View: &config.View{}}}
		c.server = &config.Server{Name: "s"}
		for _, read := range []func(json.RawMessage) (json.RawMessage, error){c.contents, c.prompt} {
			v, err := read(raw)
			if err == nil && !json.Valid(v) || err != nil && err.Error() == "" {
				t.Fatalf("%s became %s, %v", raw, v, err)
			}
		}
	})
}
