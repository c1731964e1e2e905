package config

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkViewCached and BenchmarkDefine are on the way of every call.
func BenchmarkViewCached(b *testing.B) {
	s, dir, env := benchStore(b)
	for b.Loop() {
		if _, err := s.View(dir, "", env); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDefine(b *testing.B) {
	s, dir, env := benchStore(b)
	v, err := s.View(dir, "", env)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := v.Define("a", env, Placeholders{}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchStore(b *testing.B) (*Store, string, Env) {
	b.Helper()
	home := b.TempDir()
	s, err := Open(Options{StateDir: home, Home: home, UserFile: writeBench(b, home)})
	if err != nil {
		b.Fatal(err)
	}
	return s, home, Env{"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin", "TOKEN": "secret-token"}
}

func writeBench(b *testing.B, home string) string {
	b.Helper()
	file := filepath.Join(home, "config.jsonc")
	doc := `{"servers": {"a": {"command": ["sh", "-c", "x"], "env": {"TOKEN": "${TOKEN}"}, "cwd": "${workspace}"}}}`
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}
