package openapi

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tenon/daemon/internal/typegen"
)

// TestARealDocumentBecomesTools reads the OpenAPI document that the MCP server of
// Notion brings along. Only counts of it are kept here.
func TestARealDocumentBecomesTools(t *testing.T) {
	const file = "../../../../test/node_modules/@notionhq/notion-mcp-server/scripts/notion-openapi.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("not tested here, test/run installs it: %v", err)
	}
	d, err := parseDocument("notion-openapi.json", text)
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
	_ = typegen.Version
}
