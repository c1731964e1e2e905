package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"tenon/daemon/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func tool(name, schema string) upstream.Tool {
	return upstream.Tool{Name: name, InputSchema: json.RawMessage(schema)}
}

func tools(names ...string) []upstream.Tool {
	out := make([]upstream.Tool, len(names))
	for i, n := range names {
		out[i] = tool(n, `{"type":"object"}`)
	}
	return out
}

func TestBaseSurvivesARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "catalog")
	c := New(Options{Dir: dir})
	if c.Base("d1") != nil {
		t.Fatal("nothing was learnt yet")
	}
	c.Learn("d1", "i1", 1, tools("echo", "pid"))
	again := New(Options{Dir: dir})
	l := again.Base("d1")
	if l == nil || l.Named("echo") == nil || l.Fresh {
		t.Fatalf("Base = %+v; want the persisted list, not fresh", l)
	}
	again.Learn("d1", "i9", 1, tools("echo", "pid"))
	if !again.Base("d1").Fresh {
		t.Error("a live instance confirmed the list")
	}
	info, err := os.Stat(filepath.Join(dir, "d1.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file: %v, %v; want mode 0600", info, err)
	}
}

func TestAPathIsNoDefinition(t *testing.T) {
	c := New(Options{Dir: t.TempDir()})
	c.Learn("../x", "i1", 1, tools("echo"))
	if c.Base("../x").Named("echo") == nil {
		t.Error("kept in memory all the same")
	}
	if _, ok := c.file("../x"); ok {
		t.Error("an odd id must not become a path")
	}
}

func TestOverlayIsSeenByItsInstanceOnly(t *testing.T) {
	c := New(Options{})
	var changes []string
	c.OnChange(func(d string) { changes = append(changes, d) })
	c.Learn("d", "a", 1, tools("load"))
	c.Learn("d", "b", 1, tools("load"))
	c.Learn("d", "a", 2, tools("load", "extra"))
	if c.For("d", "a").Named("extra") == nil {
		t.Error("the instance that announced the tool must show it")
	}
	if c.For("d", "b").Named("extra") != nil || c.For("d", "").Named("extra") != nil {
		t.Error("others must not see it")
	}
	c.Learn("d", "a", 3, tools("load"))
	if c.For("d", "a").Named("extra") != nil {
		t.Error("gone again")
	}
	if len(changes) != 3 { // base, extra, extra gone; not b's equal list
		t.Errorf("changes told: %v", changes)
	}
	if l := c.Learn("d", "a", 2, tools("load", "extra")); len(l.Tools) != 1 {
		t.Errorf("an older list came late and was believed: %+v", l.Tools)
	}
	c.Forget("a")
	if c.For("d", "a") != c.Base("d") {
		t.Error("a forgotten instance falls back to the base")
	}
}

func TestAnEntryThatIsNoToolIsLeftOutWithAWarning(t *testing.T) {
	dir := t.TempDir()
	list := append(tools("one"), upstream.Tool{Unusable: "tools[1] of the list is left out: it has no name"}, tool("two", `{"type":"object"}`))
	l := New(Options{Dir: dir}).Learn("d", "a", 1, list)
	again := New(Options{Dir: dir}).Base("d")
	for name, l := range map[string]*List{"learnt": l, "kept": again} {
		if len(l.Tools) != 2 || l.Named("two") == nil || l.Problem != "" || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0], "tools[1]") {
			t.Errorf("%s: %d tools, problem %q, warnings %q", name, len(l.Tools), l.Problem, l.Warnings)
		}
	}
	c := New(Options{Dir: dir})
	if l := c.Learn("d", "b", 1, tools("one", "two")); len(l.Warnings) != 0 {
		t.Errorf("mended, and still %q", l.Warnings)
	}
}

func TestDuplicateNamesKeepTheFormerList(t *testing.T) {
	c := New(Options{})
	c.Learn("d", "a", 1, tools("one", "two"))
	l := c.Learn("d", "a", 2, tools("three", "three"))
	if l.Named("one") == nil || l.Named("three") != nil {
		t.Error("the former list must stay whole")
	}
	if !strings.Contains(l.Problem, `"three"`) {
		t.Errorf("Problem = %q; want it to name the tool", l.Problem)
	}
	first := c.Learn("e", "z", 1, tools("x", "x"))
	if len(first.Tools) != 0 || first.Problem == "" {
		t.Errorf("a first list with duplicates: %+v", first)
	}
	if c.Learn("d", "a", 3, tools("three")).Problem != "" {
		t.Error("a good list clears the problem")
	}
}

func TestNamesBecomeIdentifiers(t *testing.T) {
	for name, want := range map[string]string{
		"echo": "echo", "delete": "delete_", "3d-render": "_3d_render", "typeof": "typeof_", "await": "await_",
		"then": "then_", "constructor": "constructor_", "toString": "toString_", "arguments": "arguments_",
		"calendar.respondToEvent": "calendar_respondToEvent", "Create CIFS Share": "Create_CIFS_Share", "a/b": "a_b",
		"über": "über", "": "_", "__proto__": "__proto___", "log": "log",
	} {
		if got := Ident(name); got != want {
			t.Errorf("Ident(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestCollidingNamesStayDistinctInAnyOrder(t *testing.T) {
	a := Idents([]string{"a-b", "a_b", "a.b", "c"})
	if a[1] != "a_b" || a[3] != "c" {
		t.Errorf("a name that needs no change keeps it: %v", a)
	}
	if a[0] == a[2] || !strings.HasPrefix(a[0], "a_b_") || !strings.HasPrefix(a[2], "a_b_") {
		t.Errorf("the others get a digest: %v", a)
	}
	b := Idents([]string{"a.b", "c", "a_b", "a-b"})
	if b[0] != a[2] || b[3] != a[0] || b[2] != a[1] {
		t.Errorf("order must not matter: %v, %v", a, b)
	}
}

func TestNoServerCanTakeAScriptsGlobals(t *testing.T) {
	for _, name := range []string{"log", "default", "tools", "call", "search", "args", "session", "ToolError", "console"} {
		got := NamespaceNames([]string{name})[0]
		if got != name+"_" || !Bare(got) {
			t.Errorf("namespace of %q = %q (bare %v)", name, got, Bare(got))
		}
	}
	if got := NamespaceNames([]string{"fetch"})[0]; got != "fetch" || Bare(got) {
		t.Errorf("fetch: %q, bare %v; want it under tools only", got, Bare(got))
	}
	two := NamespaceNames([]string{"log", "log_"})
	if two[0] == two[1] || two[1] != "log_" {
		t.Errorf("log and log_: %v", two)
	}
}

func TestFlatNamesAreDistinctAndShort(t *testing.T) {
	if got := FlatName("fs", "read_file"); got != "fs_read_file" {
		t.Errorf("FlatName = %q", got)
	}
	long := FlatName("server", strings.Repeat("x", 90))
	if len(long) != 64 || long == FlatName("server", strings.Repeat("x", 91)) {
		t.Errorf("long name: %q", long)
	}
	if a, b := FlatName("s", "a.b"), FlatName("s", "a/b"); a == b || !strings.HasPrefix(a, "s_a_b_") {
		t.Errorf("lossy names: %q, %q", a, b)
	}
}

func TestNearestNames(t *testing.T) {
	have := []string{"take_screenshot", "take_snapshot", "navigate", "echo"}
	if got := Nearest("take_screnshot", have, 2); len(got) == 0 || got[0] != "take_screenshot" {
		t.Errorf("Nearest = %v", got)
	}
	if got := Nearest("screenshot", have, 3); len(got) == 0 || got[0] != "take_screenshot" {
		t.Errorf("Nearest = %v", got)
	}
	if got := Nearest("zzzzzzzz", have, 3); len(got) != 0 {
		t.Errorf("Nearest = %v, want none", got)
	}
}

func TestSignatures(t *testing.T) {
	for _, c := range []struct{ schema, output, want string }{
		{``, ``, "tools.ns.t(): Promise<unknown>"},
		{`{"type":"object","properties":{}}`, ``, "tools.ns.t(): Promise<unknown>"},
		{`{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"integer"}},"required":["path"]}`, ``,
			"tools.ns.t(args: { path: string; head?: number }): Promise<unknown>"},
		{`{"type":"object","properties":{"tags":{"type":"array","items":{"type":["string","null"]}}}}`, ``,
			"tools.ns.t(args?: { tags?: (string | null)[] }): Promise<unknown>"},
		{`{"type":"object","properties":{"issue_types[]":{"enum":["a",null,1,"a"]},"x":false,"y":true}}`, ``,
			`tools.ns.t(args?: { "issue_types[]"?: "a" | null | 1; x?: never; y?: unknown }): Promise<unknown>`},
		{``, `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`,
			"tools.ns.t(): Promise<{ ok: boolean }>"},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"}]}},"required":["a"]}`, ``,
			"tools.ns.t(args: { a: string | number }): Promise<unknown>"},
		{`{"properties":null,"type":"object"}`, ``, "tools.ns.t(): Promise<unknown>"},
	} {
		l, _ := build([]upstream.Tool{{Name: "t", InputSchema: json.RawMessage(c.schema), OutputSchema: json.RawMessage(c.output)}})
		if got := Signature("ns", l.Tools[0]); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.schema, got, c.want)
		}
	}
}

func searchIndex(t *testing.T) *Index {
	t.Helper()
	browser, _ := build([]upstream.Tool{
		{Name: "take_screenshot", Description: "Take a picture of the page."},
		{Name: "navigate", Description: "Open an address", InputSchema: json.RawMessage(`{"properties":{"url":{"type":"string"}}}`)},
		{Name: "closeTab", Description: "Close it"},
	})
	files, _ := build([]upstream.Tool{
		{Name: "read_file", Description: "Read a file from disk"},
		{Name: "delete", Description: "Remove a file"},
	})
	return NewIndex([]Entry{{Server: "browser", Namespace: "browser", List: browser}, {Server: "my-fs", Namespace: "my_fs", List: files}, {Server: "idle", Namespace: "idle"}})
}

func TestSearchRanksAndPages(t *testing.T) {
	x := searchIndex(t)
	for query, want := range map[string]string{
		"screenshot":         "tools.browser.take_screenshot",
		"screenshots":        "tools.browser.take_screenshot",
		"picture page":       "tools.browser.take_screenshot",
		"url":                "tools.browser.navigate",
		"close tab":          "tools.browser.closeTab",
		"naviga":             "tools.browser.navigate",
		"tools.my_fs.delete": "",
		"my_fs.delete_":      "tools.my_fs.delete_",
		"my-fs/delete":       "tools.my_fs.delete_",
		`my_fs["delete"]`:    "tools.my_fs.delete_",
	} {
		got := x.Search(query, "", 0, 0)
		if want == "" {
			continue
		}
		if len(got.Items) == 0 || got.Items[0].Path != want {
			t.Errorf("Search(%q) = %+v, want %s first", query, got.Items, want)
		}
	}
	if got := x.Search("my_fs.delete_", "", 0, 0); got.Total != 1 {
		t.Errorf("an exact path is a lookup: %+v", got)
	}
	if got := x.Search("file", "browser", 0, 0); got.Total != 0 {
		t.Errorf("namespace must narrow: %+v", got.Items)
	}
	seen := map[string]bool{}
	for offset := 0; ; {
		page := x.Search("", "", 2, offset)
		for _, item := range page.Items {
			seen[item.Path] = true
		}
		if page.Total != 5 || page.Remaining != 5-offset-len(page.Items) {
			t.Errorf("page at %d: total %d, remaining %d", offset, page.Total, page.Remaining)
		}
		if page.Next == nil {
			break
		}
		offset = page.Next.Offset
	}
	if len(seen) != 5 {
		t.Errorf("an empty query lists every tool once: %v", seen)
	}
	if got := x.Search("", "", 10, 99); len(got.Items) != 0 || got.Next != nil {
		t.Errorf("beyond the end: %+v", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	c := New(Options{Dir: t.TempDir()})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for r := range 20 {
				l := c.Learn("d", fmt.Sprint("i", i), uint64(r), tools("a", fmt.Sprint("t", r%3)))
				l.Named("a").CheckInput([]byte(`{}`))
				c.For("d", "i1")
			}
			c.Forget(fmt.Sprint("i", i))
		}()
	}
	wg.Wait()
}
