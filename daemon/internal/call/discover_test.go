package call

import (
	"context"
	"strings"
	"testing"

	"tenon/daemon/internal/catalog"
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

func TestDescribeTellsOfToolsServersAndScripts(t *testing.T) {
	r := newRig(t)
	r.path.o.Scripts = func(context.Context, Request) []catalog.Script {
		return []catalog.Script{{Name: "deploy", Signature: `run("deploy", { stage: string })`, Description: "Deploys."}}
	}
	ctx, req := context.Background(), r.request("", "")
	for path, want := range map[string]Description{
		"fake.echo":           {Path: "tools.fake.echo", Server: "fake", Tool: "echo"},
		` fake["read-file"] `: {Path: "tools.fake.read_file", Server: "fake", Tool: "read-file"},
		"mcp__fake__echo":     {Path: "tools.fake.echo", Server: "fake", Tool: "echo"},
		"fake":                {Kind: "server", Path: "tools.fake", Server: "fake"},
		"tools.fake":          {Kind: "server", Path: "tools.fake", Server: "fake"},
		`run("deploy")`:       {Kind: "script", Path: `run("deploy")`},
		"scripts.deploy":      {Kind: "script", Path: `run("deploy")`},
	} {
		got, err := r.path.Describe(ctx, req, path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got.Kind != want.Kind || got.Path != want.Path || got.Server != want.Server || got.Tool != want.Tool || got.Signature == "" {
			t.Errorf("%s: %+v", path, got)
		}
		if want.Kind == "server" && len(got.Tools) != 2 {
			t.Errorf("%s: %q", path, got.Tools)
		}
	}
	for path, near := range map[string]string{"fake.ecko": "fake.echo", "scripts.deplyo": "scripts.deploy", "nothing-like-it": "search(words)"} {
		_, err := r.path.Describe(ctx, req, path)
		if fault.KindOf(err) != fault.UnknownTool || !strings.Contains(fault.From(err).Hint, near) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSavedScriptsAreFoundBesideTools(t *testing.T) {
	r := newRig(t)
	var known []catalog.Script
	r.path.o.Scripts = func(context.Context, Request) []catalog.Script { return known }
	ctx, req := context.Background(), r.request("", "")
	if found := r.path.Search(ctx, req, proto.Search{Query: "deploy"}); found.Total != 0 {
		t.Errorf("%+v", found)
	}
	known = []catalog.Script{{Name: "deploy", Signature: `run("deploy")`}} // saved meanwhile
	if found := r.path.Search(ctx, req, proto.Search{Query: "deploy"}); found.Total != 1 || found.Items[0].Kind != "script" {
		t.Errorf("%+v", found)
	}
	if found := r.path.Search(ctx, req, proto.Search{Namespace: "scripts"}); found.Total != 1 {
		t.Errorf("only scripts: %+v", found)
	}
}
