package call

import (
	"context"
	"strings"
	"testing"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestSavedScriptsStandInCatalogueAndTypes(t *testing.T) {
	r := newRig(t)
	scripts := []catalog.Script{
		{Name: "a", Signature: "run(\"a\")", Declaration: "declare function run(name: \"a\"): Promise<any>;\n", Member: "  \"a\": [];\n"},
		{Name: "team/b", Declaration: "declare function run(name: \"team/b\"): Promise<any>;\n"},
	}
	r.path.o.Scripts = func(context.Context, Request) []catalog.Script { return scripts }
	req := r.request("", "")
	c, err := r.path.Catalog(t.Context(), req, proto.CatalogQuery{})
	if err != nil || !strings.Contains(c.Text, "Saved scripts: 2, called as run(name, input)") || c.Tokens != catalog.Tokens(c.Text) {
		t.Errorf("%+v, %v", c, err)
	}
	for paths, want := range map[string]string{"scripts": "a,team/b", "scripts.team/b": "team/b", `run("a")`: "a", "": "a,team/b"} {
		var list []string
		if paths != "" {
			list = []string{paths}
		}
		types, err := r.path.Types(t.Context(), req, proto.TypesQuery{Paths: list})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scripts {
			if has := strings.Contains(types.Text, s.Declaration); has != strings.Contains(","+want+",", ","+s.Name+",") {
				t.Errorf("%s: %s is there: %v\n%s", paths, s.Name, has, types.Text)
			}
		}
	}
	if _, err := r.path.Types(t.Context(), req, proto.TypesQuery{Paths: []string{"scripts.c"}}); fault.KindOf(err) != fault.UnknownTool {
		t.Errorf("%v", err)
	}
	if text := r.path.Declarations(t.Context(), req); !strings.Contains(text, "interface SavedScripts {\n  \"a\": [];\n}") {
		t.Errorf("%s", text)
	}
}
