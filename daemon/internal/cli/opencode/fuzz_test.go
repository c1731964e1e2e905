package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzEntries: whatever a host's files hold, what is found in them is tenon's own, and
// looking changes none of them.
func FuzzEntries(f *testing.F) {
	for _, s := range []string{
		`{"mcp":{"tenon":{"type":"local","command":["tenon","mcp"]}},"plugin":["opencode-tenon@1"]}`, `{"mcp":{"servers":{"a":{"command":"tenon"}}}}`,
		"// c\n{\"mcp\": {\"a\": {\"url\": \"http://127.0.0.1:1/mcp/x?codemode=false\"}}, }", `{"mcp":null}`, `[]`, `{"mcp":{"a":{"command":[null,3]}}}`, "{",
	} {
		f.Add([]byte(s), "file:///a%20b.js")
	}
	f.Add([]byte(`{"packages":{"":{"dependencies":{"opencode-ai":"1"}}}}`), "../x")
	f.Fuzz(func(t *testing.T, doc []byte, entry string) {
		dir := t.TempDir()
		file := filepath.Join(dir, "opencode.jsonc")
		for _, name := range []string{"opencode.jsonc", "package.json", "package-lock.json", "tenon.js", "off.json"} {
			if err := os.WriteFile(filepath.Join(dir, name), doc, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range Registrations([]string{file}, func([]string, string) bool { return true }) {
			if r.File != file || !strings.Contains(string(doc), "tenon") && !strings.Contains(string(doc), "mcp") && !strings.Contains(string(doc), `\u`) {
				t.Fatalf("%q: %+v", doc, r)
			}
		}
		_ = locked(dir)
		for _, path := range []string{dir, filepath.Join(dir, "tenon.js")} {
			if m, ok := madeBy(path); ok && m.host != V1 && m.host != V2 {
				t.Fatalf("%+v", m)
			}
		}
		if !strings.ContainsAny(entry, "\x00") {
			_, _, _ = named(entry, dir)
		}
		if _, err := Disabled(filepath.Join(dir, "off.json")).list(); err != nil && err.Error() == "" {
			t.Fatal("an error without words")
		}
		if left, err := os.ReadFile(file); err != nil || string(left) != string(doc) {
			t.Fatalf("reading has changed the file: %q, %v", left, err)
		}
	})
}
