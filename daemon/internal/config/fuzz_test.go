package config

import (
	"errors"
	"strings"
	"testing"
)

// FuzzDocument: no document of any format breaks the reader, and a mistake
// always has a message.
func FuzzDocument(f *testing.F) {
	for _, doc := range []string{
		`{"servers": {"a": {"command": ["x"], "idleTimeout": "5m"}}, "import": ["claude"], "mcp": {"b": {"type": "local"}}}`,
		"servers:\n  a: {command: x}\nb: &x [1, *x]\n", "a: &a [b, b]\nc: [*a, *a]\n", "[servers.a]\ncommand = 'x'\n[[b]]\nc.d = {e = 1}\n", "---\n---\n", "\xef\xbb\xbf{}", "<<: {a: 1}",
		"? [a]\n: b", "a = [[[[1]]]]", "!!binary x: y", "a: !!int x",
	} {
		for format := range extensions {
			f.Add(format, []byte(doc))
		}
	}
	f.Fuzz(func(t *testing.T, format int, doc []byte) {
		if format < 0 || format >= len(extensions) {
			return
		}
		for _, src := range []source{
			{file: "/x/config" + extensions[format], format: FormatTenon},
			{file: "/x/.mcp" + extensions[format], format: FormatClaude, project: true},
			{file: "/x/opencode" + extensions[format], format: FormatOpencode},
		} {
			l, err := readLayer(src, doc)
			if err != nil {
				if badFile(src.file, err).Message == "" {
					t.Fatalf("an error without a message: %#v", err)
				}
				continue
			}
			if _, err := mergeSettings(settingsOf(l.doc)); err != nil && src.format == FormatTenon {
				t.Fatalf("a checked document cannot be merged: %v", err)
			}
			for _, s := range l.servers {
				_ = templateOf(s)
				_ = leadsBack(s, "127.0.0.1:1", "/s")
			}
			_ = trustItems(l, nil)
			_ = permissionsOf(l)
		}
	})
}

// FuzzExpand: text without a placeholder stays as it is, an error never shows
// a value, and the result is bounded.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${A}", "${A:-${B:-{env:C}}}", "$${A}", "{file:x}", "${", "{env:", "$$$${A}", "${A:-}}", "${SECRET}${B}", "${a b}", "${workspace}{env:SECRET}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const value = "s3cr3t-v@lue"
		x := &expander{env: Env{"A": "1", "SECRET": value}, home: "/h", dir: "/nonexistent", workspace: "/w"}
		out, err := x.expand(s, true)
		var m *missing
		switch {
		case err != nil && !errors.As(err, &m):
			t.Fatalf("%q: %v", s, err)
		case err != nil && strings.Contains(m.what+m.hint, value) && !strings.Contains(s, value):
			t.Fatalf("%q: the error shows a value: %v", s, err)
		case err == nil && !strings.ContainsAny(s, "${") && out != s:
			t.Fatalf("%q became %q", s, out)
		case len(out) > maxExpanded+len(value):
			t.Fatalf("%d bytes", len(out))
		}
	})
}
