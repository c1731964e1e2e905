package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func offer(keys ...string) *OfferedList {
	var list []Offered
	for _, k := range keys {
		list = append(list, Offered{k, json.RawMessage(fmt.Sprintf(`{"uri":%q}`, k))})
	}
	return NewOfferedList(list, "")
}

func TestWhatAServerOffersOutlivesTheDaemon(t *testing.T) {
	dir := t.TempDir()
	c := New(Options{Dir: dir})
	told := 0
	c.OnChange(func(string) { told++ })
	if c.Offer("d") != nil {
		t.Error("something is known of a server that never started")
	}
	h := Hello{Name: "docs", Instructions: "Be kind.", Capabilities: json.RawMessage(`{"resources":{"subscribe":true},"prompts":null}`)}
	c.Meet("d", h)
	if told != 0 {
		t.Error("a hello changes nothing that anybody lists")
	}
	c.LearnOffered("d", Resources, offer("a", "b"))
	c.LearnOffered("d", Resources, offer("a", "b"))
	c.LearnOffered("d", Templates, offer("a/{x}"))
	if told != 2 {
		t.Errorf("told %d times of two lists", told)
	}
	big := make([]string, 20_000)
	for i := range big {
		big[i] = strings.Repeat("x", 60) + fmt.Sprint(i)
	}
	c.LearnOffered("d", Prompts, offer(big...))

	again := New(Options{Dir: dir}).Offer("d")
	if again == nil || again.Hello.Instructions != "Be kind." || again.List(Resources).Fingerprint != offer("a", "b").Fingerprint || !again.List(Templates).Has("a/{x}") {
		t.Fatalf("kept: %+v", again)
	}
	if again.List(Prompts) != nil {
		t.Error("a list of more than 1 MiB was kept, and would pass for whole")
	}
	if !again.Hello.Can("resources.subscribe") || again.Hello.Can("resources.listChanged") || again.Hello.Can("prompts") || !again.Hello.Offers(Templates) || again.Hello.Offers(Prompts) {
		t.Errorf("capabilities: %s", again.Hello.Capabilities)
	}
	// What cannot be read is as good as nothing.
	if err := os.WriteFile(filepath.Join(dir, "d,offer.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if New(Options{Dir: dir}).Offer("d") != nil {
		t.Error("a broken file was believed")
	}
}

func TestATemplateIsHeldAgainstURIs(t *testing.T) {
	l := offer("demo://a/{id}", "file:///{+path}", "{", strings.Repeat("{x}", 5000))
	for uri, want := range map[string]bool{
		"demo://a/7": true, "demo://a/": true, "demo://b/7": false, "file:///x/y/z": true, "other://": false,
		"demo://a/" + strings.Repeat("y", 10_000): false,
	} {
		if got := l.Fits(uri); got != want {
			t.Errorf("%.40s: %v", uri, got)
		}
	}
	if (*OfferedList)(nil).Fits("x") || (*OfferedList)(nil).Has("x") {
		t.Error("no list has nothing")
	}
}

func TestACatalogueCountsWhatServersOfferBesidesTools(t *testing.T) {
	c := New(Options{})
	if Also("docs", nil) != "" {
		t.Error("something is said of a server of which nothing is known")
	}
	c.Meet("d", Hello{Capabilities: json.RawMessage(`{"resources":{},"prompts":{}}`)})
	if got := Also("docs", c.Offer("d")); got != `; resources, prompts (resources.list({server: "docs"}))` {
		t.Errorf("before a list is read: %q", got)
	}
	c.LearnOffered("d", Resources, offer("a", "b"))
	c.LearnOffered("d", Templates, NewOfferedList([]Offered{{"a/{x}", nil}}, "too many"))
	c.LearnOffered("d", Prompts, offer())
	also := Also("docs", c.Offer("d"))
	if also != `; 2 resources, over 1 template (resources.list({server: "docs"}))` {
		t.Errorf("got %q", also)
	}
	c.Meet("p", Hello{Capabilities: json.RawMessage(`{"prompts":{}}`)})
	c.LearnOffered("p", Prompts, offer("x"))
	if got := Also("p", c.Offer("p")); got != `; 1 prompt (prompts.list({server: "p"}))` {
		t.Errorf("got %q", got)
	}

	before := []Entry{listing(t, "docs", 4, 2), listing(t, "fs", 2, 1)}
	now := []Entry{before[0], before[1]}
	now[0].Also = also
	if text := Whole(now, 0).Text; !strings.Contains(text, "\ntools.docs: 4 tools"+also+"\n") || !strings.Contains(text, "\ntools.fs: 2 tools\n") {
		t.Error(text)
	}
	for _, budget := range []int{100, 150, 200, 300} {
		if c := Whole(now, budget); c.Tokens > budget {
			t.Errorf("budget %d: %d tokens", budget, c.Tokens)
		}
	}
	if Fingerprint(before) == Fingerprint(now) {
		t.Error("the fingerprint does not know it")
	}
	if got := Delta(before, now); !strings.Contains(got, "\ntools.docs: now also 2 resources") || strings.Contains(got, "tools.fs") {
		t.Errorf("the delta is %q", got)
	}
	if got := Delta(now, before); !strings.Contains(got, "tools.docs: nothing besides tools any more") {
		t.Errorf("the delta is %q", got)
	}
}
