package policy

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// FuzzApprovals: of a damaged file nothing is allowed that it does not name whole,
// and one more approval loses none of the others.
func FuzzApprovals(f *testing.F) {
	for _, s := range []string{`[{"dir":"/p","key":"fs_read","server":"fs","tool":"read","fingerprint":"f"}]`, `[{}]`, `null`, `{}`, `[null]`, `[{"dir":"/p","server":"fs","tool":"read"}]`, `[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "approvals.json"), doc, 0o600); err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.DiscardHandler)
		m := NewMemory(dir, log)
		before := m.List()
		if m.Allowed("/p", "fs", "other-tool-9d1f", "f") {
			t.Fatalf("%s allows what it does not name", doc)
		}
		if err := m.Remember(Approval{Dir: "/new-9d1f", Key: "k", Server: "fs", Tool: "read", Fingerprint: "f"}); err != nil {
			t.Fatal(err)
		}
		again := NewMemory(dir, log)
		if !again.Allowed("/new-9d1f", "fs", "read", "f") || again.Allowed("/new-9d1f", "fs", "read", "changed") {
			t.Fatal("what was remembered is not what is remembered")
		}
		for _, a := range before {
			if !again.Allowed(a.Dir, a.Server, a.Tool, a.Fingerprint) && m.Allowed(a.Dir, a.Server, a.Tool, a.Fingerprint) {
				t.Fatalf("lost %+v", a)
			}
		}
	})
}
