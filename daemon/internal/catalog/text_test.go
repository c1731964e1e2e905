package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// listing is an entry with tools of so many properties each.
func listing(t testing.TB, server string, tools, properties int) Entry {
	t.Helper()
	var listed []upstream.Tool
	for i := range tools {
		parts := make([]string, properties)
		for j := range parts {
			parts[j] = fmt.Sprintf(`"parameter_%d":{"type":"string","description":"What it is for."}`, j)
		}
		listed = append(listed, upstream.Tool{
			Name: fmt.Sprintf("%s_tool_%d", server, i), Description: "Does a thing.\nAnd more.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{` + strings.Join(parts, ",") + `},"required":["parameter_0"]}`),
		})
	}
	l, problem := build(listed)
	if problem != "" {
		t.Fatal(problem)
	}
	return Entry{Server: server, Namespace: server, List: l}
}

func TestTheCatalogueFillsItsBudget(t *testing.T) {
	entries := []Entry{listing(t, "big", 60, 6), listing(t, "mid", 10, 3), listing(t, "small", 3, 1), {Server: "new", Namespace: "new"}}
	for _, budget := range []int{100, 200, 400, 1000, 2000, 20_000} {
		c := Whole(entries, budget)
		if c.Tokens > budget && budget > 100 || c.Total != 73 || c.Partial != (c.Shown < c.Total) {
			t.Errorf("budget %d: %d tokens, %d of %d shown, partial %v", budget, c.Tokens, c.Shown, c.Total, c.Partial)
		}
		for _, want := range []string{"tools.big: 60 tools", "tools.mid: 10 tools", "tools.small: 3 tools", "tools.new: not listed yet"} {
			if !strings.Contains(c.Text, want) {
				t.Errorf("budget %d: %q is missing", budget, want)
			}
		}
		if partial := strings.Contains(c.Text, fmt.Sprintf("Only %d of 73 tools are shown", c.Shown)); partial != c.Partial {
			t.Errorf("budget %d: partial is %v:\n%s", budget, c.Partial, c.Text)
		}
	}
	few := Whole(entries, 300).Text
	if !strings.Contains(few, "small_tool_2(") || strings.Contains(few, "big_tool_59(") {
		t.Errorf("the cheapest namespace comes first:\n%s", few)
	}
	if all := Whole(entries, 20_000).Text; !strings.Contains(all, "big_tool_59(args: { parameter_0: string; ") || !strings.Contains(all, " // Does a thing.\n") {
		t.Error("a large budget holds all signatures and descriptions")
	}
	if c := Whole(entries, 0); c.Tokens < DefaultBudget*3/4 || c.Tokens > DefaultBudget {
		t.Errorf("%d tokens of the usual budget are used", c.Tokens)
	}
}

func TestPinnedToolsComeFirst(t *testing.T) {
	entries := []Entry{listing(t, "big", 60, 6), listing(t, "small", 20, 1)}
	entries[0].Pinned = []string{"big_tool_41"}
	if text := Whole(entries, 250).Text; !strings.Contains(text, "big_tool_41(") || strings.Contains(text, "big_tool_1(") {
		t.Error(text)
	}
}

// A model that reads the names must not take them for tools of its own.
func TestTheCatalogueSaysWhereItsNamesLive(t *testing.T) {
	text := Whole([]Entry{listing(t, "fs", 2, 1)}, 0).Text
	for _, want := range []string{"inside programs", "never as tools of their own", "`await tools.fs.fs_tool_0({ parameter_0: \"…\" })`"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestADeltaTellsWhatChanged(t *testing.T) {
	var told Told
	before := []Entry{listing(t, "fs", 8, 2), listing(t, "old", 2, 1)}
	first := told.Tell(before, proto.CatalogQuery{})
	if first.Delta {
		t.Fatal("the first is whole")
	}
	same := told.Tell(before, proto.CatalogQuery{Since: first.Fingerprint})
	if !same.Delta || same.Text != "No tool has changed.\n" || same.Fingerprint != first.Fingerprint || same.Tokens > 8 {
		t.Errorf("nothing changed: %+v", same)
	}

	var changed []upstream.Tool
	for _, one := range before[0].List.Tools[1:] {
		changed = append(changed, one.Tool)
	}
	changed[0].Description = "Does another thing."
	changed[1].InputSchema = json.RawMessage(`{"type":"object","properties":{"all":{"type":"boolean"}}}`)
	changed = append(changed, upstream.Tool{Name: "extra"})
	l, _ := build(changed)
	now := []Entry{{Server: "fs", Namespace: "fs", List: l}, {Server: "gh", Namespace: "gh"}}
	c := told.Tell(now, proto.CatalogQuery{Since: first.Fingerprint})
	if !c.Delta || c.Fingerprint == first.Fingerprint || c.Tokens >= Whole(now, 0).Tokens || c.Shown != 3 {
		t.Fatalf("%+v", c)
	}
	for _, want := range []string{
		"\n- tools.fs.fs_tool_0", "\n~ tools.fs.fs_tool_1(args: { parameter_0: string; parameter_1?: string }) // changed: description",
		"\n~ tools.fs.fs_tool_2(args?: { all?: boolean }) // changed: arguments", "\n+ tools.fs.extra()",
		"\nnew: tools.gh, not listed yet", "\ngone: tools.old",
	} {
		if !strings.Contains(c.Text, want) {
			t.Errorf("%q is missing in\n%s", want, c.Text)
		}
	}
	if strings.Contains(c.Text, "fs_tool_5") {
		t.Errorf("what did not change is not said again:\n%s", c.Text)
	}
	if c := told.Tell(now, proto.CatalogQuery{Since: "unknown"}); c.Delta {
		t.Error("nobody knows that catalogue: it is told whole")
	}
	var many []Entry
	for i := range 40 {
		many = append(many, listing(t, fmt.Sprintf("server_number_%d", i), 1, 1))
	}
	first = told.Tell(many, proto.CatalogQuery{})
	if c := told.Tell(many[:1], proto.CatalogQuery{Since: first.Fingerprint}); c.Delta {
		t.Errorf("the whole is shorter than what is gone: %s", c.Text)
	}
}

func TestOnlySoManyCataloguesAreRemembered(t *testing.T) {
	var told Told
	entries := func(i int) []Entry { return []Entry{listing(t, fmt.Sprintf("s%d", i), 30, 2)} }
	first := told.Tell(entries(0), proto.CatalogQuery{})
	for i := range maxTold {
		told.Tell(entries(i+1), proto.CatalogQuery{})
	}
	if len(told.known) > maxTold || len(told.order) > maxTold {
		t.Errorf("%d are remembered", len(told.known))
	}
	if c := told.Tell(entries(1), proto.CatalogQuery{Since: first.Fingerprint}); c.Delta {
		t.Error("the oldest is forgotten")
	}
}

func BenchmarkCatalogue1000Tools(b *testing.B) {
	entries := make([]Entry, 20)
	for i := range entries {
		entries[i] = listing(b, fmt.Sprintf("server%d", i), 50, 6)
	}
	Whole(entries, 0) // the signatures are kept with the tools
	var told Told
	since := told.Tell(entries, proto.CatalogQuery{}).Fingerprint
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Whole(entries, 0)
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			told.Tell(entries, proto.CatalogQuery{Since: since})
		}
	})
	b.Run("index", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewIndex(entries)
		}
	})
	index := NewIndex(entries)
	b.Run("search", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			index.Search("thing of server7", "", 10, 0)
		}
	})
}

func TestTokensAreCountedAsATokenizerSplits(t *testing.T) {
	for text, want := range map[string]int{ // as o200k_base counts
		"":              0,
		"tools.fs.read": 3,
		"read_file(args: { path: string; head?: number })":                    13,
		"\n  echo(args: { message: string }) // Echoes back the input string": 17,
		`"success" | "info"`: 7,
		"12345 tools":        3,
		"camelCaseName":      3,
		"a\n\nb":             3,
	} {
		if got := Tokens(text); got < want-1 || got > want+1 {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestAListNamesWhatTheServerDefinesOtherwise(t *testing.T) {
	c := New(Options{})
	was := []upstream.Tool{tool("read", `{"type":"object"}`), tool("write", `{"type":"object"}`)}
	c.Learn("d", "i1", 1, was)
	now := []upstream.Tool{tool("read", `{"type":"object","properties":{"anything":{}}}`), tool("write", `{"type":"object"}`), tool("extra", `{}`)}
	now[1].Description = "Writes."
	want := `the server now defines tool "read" otherwise: arguments|the server now defines tool "write" otherwise: description`
	if got := strings.Join(c.Learn("d", "i1", 2, now).Warnings, "|"); got != want {
		t.Errorf("got %s", got)
	}
	if got := c.Learn("d", "i2", 1, was).Warnings; len(got) != 0 {
		t.Errorf("another instance, the list as it was: %q", got)
	}
	if got := c.Learn("d", "i3", 1, now).Warnings; len(got) != 2 {
		t.Errorf("a fresh instance with other definitions: %q", got)
	}
}
