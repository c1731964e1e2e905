package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tenon/daemon/internal/upstream"
)

// FuzzNames: tools of any names have identifiers that a program can write, no two
// the same, whatever the order; a flat name is one that every host takes.
func FuzzNames(f *testing.F) {
	f.Add("get-user", "get_user", "get user")
	f.Add("class", "class_", "")
	f.Add("é", "e\u0301", "\xff")
	f.Add(strings.Repeat("a", 200), strings.Repeat("a", 201), "1")
	f.Add("a_b7c8d9", "a-b", "a b")
	plain := regexp.MustCompile(`^[\p{L}_$][\p{L}\p{Nd}\p{Mn}\p{Mc}_$]*$`)
	flat := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	f.Fuzz(func(t *testing.T, a, b, c string) {
		names := []string{a, b, c}
		if a == b || b == c || a == c {
			return // a list has a name once
		}
		idents := Idents(names)
		for i, ident := range idents {
			if !plain.MatchString(ident) || reserved(ident) || !utf8.ValidString(ident) || slices.Index(idents, ident) != i || utf8.RuneCountInString(ident) > identLimit+2*64+1 {
				t.Fatalf("%q: %q", names, idents)
			}
		}
		turned := Idents([]string{c, a, b})
		if turned[0] != idents[2] || turned[1] != idents[0] || turned[2] != idents[1] {
			t.Fatalf("%q: %q, in another order %q", names, idents, turned)
		}
		for _, name := range []string{FlatName(a, b), FlatNameDigest(a, b)} {
			if !flat.MatchString(name) {
				t.Fatalf("%q.%q is %q", a, b, name)
			}
		}
		if FlatNameDigest(a, b) == FlatNameDigest(a, c) {
			t.Fatalf("%q and %q of %q are one name", b, c, a)
		}
		if Same(a, b) != Same(b, a) {
			t.Fatalf("%q and %q are alike one way only", a, b)
		}
	})
}

// FuzzStored: a file of an earlier daemon is a list like one that a server gave, or
// none; what is kept of it is read as the same.
func FuzzStored(f *testing.F) {
	for _, s := range []string{
		`{"format":1,"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`, `{"format":1,"tools":[{},{"name":"a"},{"name":"a"}]}`, `{"format":2}`, `null`,
		`{"format":1,"hello":{"capabilities":{"resources":{}}},"lists":{"resources":[{"uri":"a:b"}]},"keys":{"resources":["a:b"]}}`,
		`{"format":1,"lists":{"resources":[1,null]},"keys":{"resources":["a","b"]},"cut":{"resources":"x"}}`,
		`{"format":1,"tools":[{"name":"a","fingerprint":"f","results":3,"shape":{"kinds":1}}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		dir := t.TempDir()
		for _, name := range []string{"d.json", "d,offer.json"} {
			if err := os.WriteFile(filepath.Join(dir, name), doc, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := New(Options{Dir: dir})
		defer c.Close()
		if l := c.read("d"); l != nil {
			seen := map[string]bool{}
			for _, tool := range l.Tools {
				if tool.Name == "" || seen[tool.Name] || l.Named(tool.Name) == nil || l.Ident(tool.Ident) == nil {
					t.Fatalf("%s: %+v", doc, tool)
				}
				seen[tool.Name] = true
				tool.CheckInput([]byte(`{"a":1}`))
				_ = tool.Arguments() + tool.CommandLine("s")
			}
			c.write("d", l)
			if again := c.read("d"); again == nil || len(again.Tools) != len(l.Tools) {
				t.Fatalf("%s: %+v", doc, again)
			}
		}
		if o := c.readOffer("d"); o != nil {
			for _, k := range []Kind{Resources, Templates, Prompts} {
				if list := o.List(k); list != nil {
					for _, one := range list.List {
						if !list.Has(one.Key) || !json.Valid(one.Raw) {
							t.Fatalf("%s: %q", doc, one.Key)
						}
					}
				}
				_, _ = o.Fingerprint(k), o.Hello.Offers(k)
			}
			_ = Also("s", o)
		}
		r := returns{dir: dir, warn: func(string, ...any) {}}
		if err := os.WriteFile(r.file("i"), doc, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, all := range r.read("i").tools {
			for _, l := range all {
				if text := l.text(); len(text) > 0 && !json.Valid(text) {
					t.Fatalf("%s: %s", doc, text)
				}
			}
		}
	})
}

// FuzzSearch: whatever is asked of whatever tools, the items are tools of the list,
// each once, and pages do not overlap.
func FuzzSearch(f *testing.F) {
	f.Add("take a screenshot", "screenshot", "Takes a picture.\nOf the page.", 3, 0)
	f.Add("\"", "a\x00b", "", 0, 1)
	f.Add("tools.s.get", "get", strings.Repeat("word ", 300), -1, -1)
	f.Fuzz(func(t *testing.T, query, name, about string, limit, offset int) {
		list, _ := build([]upstream.Tool{
			{Name: name, Description: about, InputSchema: json.RawMessage(`{"type":"object","properties":{"uid":{"type":"string","description":"x"}}}`)},
			{Name: "other", Description: query, InputSchema: json.RawMessage(`{}`)},
		})
		if list == nil {
			return
		}
		x := NewIndex([]Entry{{Server: "s", Namespace: "s", List: list}})
		got := x.Search(query, "", limit, offset)
		if len(got.Items) > len(list.Tools) {
			t.Fatalf("%d items of %d tools", len(got.Items), len(list.Tools))
		}
		seen := map[string]bool{}
		for _, item := range got.Items {
			if seen[item.Path] || !x.Has(item.Path) {
				t.Fatalf("%q: %+v", query, got.Items)
			}
			seen[item.Path] = true
		}
		x.Find(query)
		x.FindScript(query)
	})
}
