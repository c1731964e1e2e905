package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzUnits: a duration or a size that is read is not below zero and within bounds,
// and Go's own form of it reads as the same again.
func FuzzUnits(f *testing.F) {
	for _, s := range []string{"10m", "30d", "1d12h", "0", "65535d2562047h", "1e300d", "-5s", "64KiB", "1.5MB", "NaN", "InfB", "1e18", "0x1p10K", " 5 MiB", "9999999999GiB", "5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil {
			if d < 0 {
				t.Fatalf("%q is %v", s, d)
			}
			if again, err := ParseDuration(d.String()); err != nil || again != d {
				t.Fatalf("%q is %v, and %q is %v, %v", s, d, d, again, err)
			}
			if plain, err := time.ParseDuration(s); err == nil && plain != d {
				t.Fatalf("%q is %v, elsewhere %v", s, d, plain)
			}
		} else if !strings.Contains(err.Error(), "unit") && !strings.Contains(err.Error(), "duration") {
			t.Fatalf("%q: %v", s, err)
		}
		if n, err := ParseSize(s); err == nil && n < 0 {
			t.Fatalf("%q is %d", s, n)
		}
	})
}

// FuzzWord: a word of a command that is read says the same when it is written again.
func FuzzWord(f *testing.F) {
	for _, s := range []string{"--x={name}", "{?a:--flag}", "{a...}", "{{}}", "{?a:{{}", "{a}{b...}{c...}", "}", "{é}", "${env:X}", "{?a:x\ny}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		pieces, err := ParseWord(word)
		if err != nil {
			if err.Error() == "" || len(err.Error()) > 4*len(word)+200 {
				t.Fatalf("%q: %v", word, err)
			}
			return
		}
		var b strings.Builder
		for _, p := range pieces {
			if p.Value == nil {
				b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(p.Literal))
				continue
			}
			if p.Value.Name == "" {
				t.Fatalf("%q: a placeholder without a name", word)
			}
			b.WriteString("{")
			if p.Value.Optional {
				b.WriteString("?")
			}
			b.WriteString(p.Value.Name)
			if p.Value.Repeated {
				b.WriteString("...")
			}
			if p.Value.HasText {
				b.WriteString(":" + p.Value.Text)
			}
			b.WriteString("}")
		}
		if b.String() != word {
			t.Fatalf("%q is %q", word, b.String())
		}
		again, err := ParseWord(braced(word))
		if err != nil && !strings.Contains(word, "{") {
			t.Fatalf("braced: %v, %v", again, err)
		}
	})
}

// FuzzTrustFile: a file that was damaged trusts nothing that it does not name, and
// what is accepted on top of it is trusted after the next start, and alone.
func FuzzTrustFile(f *testing.F) {
	for _, s := range []string{`{"version":1,"projects":{"/p":{"a":["x"]}}}`, `{"version":1}`, `{"version":2}`, `{"version":1,"projects":{"/p":null}}`, `null`, `[]`, `{"version":1,"projects":{"/p":{"a":null}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		path := filepath.Join(t.TempDir(), "trust.json")
		if err := os.WriteFile(path, doc, 0o600); err != nil {
			t.Fatal(err)
		}
		mine := []TrustItem{{File: "a", digest: "9d1f"}}
		old, err := openTrust(path)
		if err != nil {
			if old.covers("/p", mine) {
				t.Fatal("an unreadable file trusts")
			}
			return
		}
		if old.covers("/p", mine) && !strings.Contains(string(doc), "9d1f") && !strings.Contains(string(doc), `\u`) {
			t.Fatalf("%s trusts what it does not name", doc)
		}
		before := maps.Clone(old.projects)
		if err := old.accept("/p", mine); err != nil {
			t.Fatal(err)
		}
		again, err := openTrust(path)
		if err != nil || !again.covers("/p", mine) || again.covers("/p", []TrustItem{{File: "a", digest: "other"}}) || again.covers("/q", mine) != old.covers("/q", mine) {
			t.Fatalf("%v: %v", err, again.projects)
		}
		for root, files := range before {
			for file, digests := range files {
				if root != "/p" && !slices.Equal(again.projects[root][file], digests) {
					t.Fatalf("%s of %s is %v, was %v", file, root, again.projects[root][file], digests)
				}
			}
		}
	})
}
