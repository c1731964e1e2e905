package call

import (
	"context"
	"strings"
	"testing"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestTheCatalogueListsWhatWasNeverListedUnlessToldNotTo(t *testing.T) {
	r := newRig(t)
	req := r.request("", "")
	c, err := r.path.Catalog(context.Background(), req, proto.CatalogQuery{NoStart: true})
	if err != nil || len(r.shelf.taken) != 0 || !strings.Contains(c.Text, "tools.fake: not listed yet") {
		t.Fatalf("%+v, %v, %d starts", c, err, len(r.shelf.taken))
	}
	c, err = r.path.Catalog(context.Background(), req, proto.CatalogQuery{Since: c.Fingerprint})
	if err != nil || len(r.shelf.taken) != 1 || c.Total != 2 || !strings.Contains(c.Text, "tools.fake") {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := r.path.Catalog(context.Background(), req, proto.CatalogQuery{Budget: -1}); fault.KindOf(err) != fault.UsageError {
		t.Errorf("a negative budget: %v", err)
	}
}

func TestTypesOfPaths(t *testing.T) {
	r := newRig(t)
	other := *r.view.Servers["fake"]
	other.Name = "other"
	r.view.Servers["other"] = &other
	req := r.request("", "")
	types := func(paths ...string) string {
		t.Helper()
		got, err := r.path.Types(context.Background(), req, proto.TypesQuery{Paths: paths})
		if err != nil {
			t.Fatal(err)
		}
		return got.Text
	}
	one := types("fake.read_file")
	if !strings.Contains(one, "function read_file(") || strings.Contains(one, "function echo(") || len(r.shelf.taken) != 1 {
		t.Errorf("one tool, %d starts:\n%s", len(r.shelf.taken), one)
	}
	if text := types(`fake["read-file"]`, "tools.fake.echo"); !strings.Contains(text, "function read_file(") || !strings.Contains(text, "function echo(args: { text: string") {
		t.Errorf("two tools:\n%s", text)
	}
	if text := types("fake"); !strings.Contains(text, "function echo(") || strings.Contains(text, "other") || len(r.shelf.taken) != 1 {
		t.Errorf("one server, %d starts:\n%s", len(r.shelf.taken), text)
	}
	if text := types(); !strings.Contains(text, "readonly fake: typeof fake") || !strings.Contains(text, "readonly other:") {
		t.Errorf("all:\n%s", text)
	}
	for path, hint := range map[string]string{"fake.ecko": "fake.echo", "fak": "fake", "zzzzzzzz": "tenon ls"} {
		_, err := r.path.Types(context.Background(), req, proto.TypesQuery{Paths: []string{path}})
		if fault.KindOf(err) != fault.UnknownTool || !strings.Contains(fault.From(err).Hint, hint) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if text := r.path.Declarations(context.Background(), req); !strings.Contains(text, "declare function search(") || !strings.Contains(text, `readonly "read-file"`) {
		t.Errorf("for a checker:\n%s", text)
	}
}

// A server whose definition names the session has another one in each; that its
// list is known from elsewhere saves a start that is only for looking.
func TestAListOfTheSameServerElsewhereIsShown(t *testing.T) {
	r := newRig(t)
	definition := "def-1"
	r.path.o.Define = func(v *config.View, name string, _ config.Env, _ config.Placeholders) (*config.Definition, error) {
		return &config.Definition{ID: definition, Template: name, Server: v.Servers[name], Personal: true}, nil
	}
	req := r.request("", "")
	r.path.Search(context.Background(), req, proto.Search{Query: "echo"})
	definition = "def-2"
	elsewhere := *r.view
	req.View = &elsewhere
	found := r.path.Search(context.Background(), req, proto.Search{Query: "echo"})
	if found.Total != 1 || len(r.shelf.taken) != 1 {
		t.Errorf("%+v, %d starts", found, len(r.shelf.taken))
	}
}
