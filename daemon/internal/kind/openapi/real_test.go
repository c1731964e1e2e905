package openapi

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tenon/daemon/internal/typegen"
)

// TestARealDocumentBecomesTools reads the OpenAPI document that the MCP server of
// Notion brings along. Only counts of it are kept here.
func TestARealDocumentBecomesTools(t *testing.T) {
	const file = "../../../../test/node_modules/@notionhq/notion-mcp-server/scripts/notion-openapi.json"
	source, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("not tested here, test/run installs it: %v", err)
	}
	d, err := parseDocument("notion-openapi.json", source)
	if err != nil {
		t.Fatal(err)
	}
	all, notes := d.operations(func(parameter) bool { return false })
	if len(all) < 15 || len(notes) > 0 {
		t.Errorf("%d operations, left out: %v", len(all), notes)
	}
	compiler := jsonschema.NewCompiler()
	for _, o := range all {
		for kind, schema := range map[string]json.RawMessage{"input": o.input, "output": o.output} {
			if schema == nil {
				continue
			}
			var doc any
			if err := json.Unmarshal(schema, &doc); err != nil {
				t.Fatal(err)
			}
			name := o.name + "-" + kind + ".json"
			if err := compiler.AddResource(name, doc); err != nil {
				t.Fatal(err)
			}
			if _, err := compiler.Compile(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	var tools []typegen.Tool
	for i, o := range all {
		tools = append(tools, typegen.Tool{Name: o.name, Ident: fmt.Sprintf("tool%d", i), Description: o.description, Input: o.input, Output: o.output})
	}
	text, warnings := typegen.Declare([]typegen.Namespace{{Server: "notion", Name: "notion", Listed: true, Tools: tools}}, typegen.Options{})
	if len(warnings) > 0 {
		t.Errorf("schemas that cannot be used: %v", warnings)
	}
	tsc, err := filepath.Abs("../../../../node_modules/.bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tsc); err != nil {
		t.Skipf("types are not compiled here: %v", err)
	}
	declarations := filepath.Join(t.TempDir(), "notion.ts")
	if err := os.WriteFile(declarations, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command(tsc, "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022", declarations)
	compile.Dir = filepath.Dir(declarations) // where no types of packages are found
	if out, err := compile.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
