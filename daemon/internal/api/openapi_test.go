package api

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tenon/daemon/internal/fault"
)

// described is the document as a client gets it.
type described struct {
	OpenAPI    string
	Paths      map[string]map[string]describedOperation
	Components struct {
		Schemas    map[string]any
		Parameters map[string]any
		Responses  map[string]any
	}
}

type describedOperation struct {
	OperationID string
	Summary     string
	Parameters  []struct {
		Ref      string `json:"$ref"`
		Name, In string
		Required bool
	}
	RequestBody *struct {
		Content map[string]struct{ Schema any }
	}
	Responses map[string]struct {
		Ref     string `json:"$ref"`
		Content map[string]struct{ Schema any }
	}
}

func openAPI(t *testing.T) (described, any) {
	t.Helper()
	w := ask(t, newServer(&double{}), "GET", "/v1/openapi.json", "")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var d described
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	plain, err := jsonschema.UnmarshalJSON(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return d, plain
}

func TestTheDocumentHasEveryRouteAndNoOther(t *testing.T) {
	d, _ := openAPI(t)
	if d.OpenAPI != "3.1.0" {
		t.Errorf("openapi %q", d.OpenAPI)
	}
	ids := map[string]string{}
	for _, r := range Routes() {
		path := strings.ReplaceAll(r.Path, "...}", "}")
		route := r.Method + " " + path
		o, ok := d.Paths[path][strings.ToLower(r.Method)]
		if !ok {
			t.Errorf("the document lacks %s", route)
			continue
		}
		delete(d.Paths[path], strings.ToLower(r.Method))
		if o.Summary == "" || o.Summary != r.Summary {
			t.Errorf("%s: summary %q", route, o.Summary)
		}
		if other := ids[o.OperationID]; other != "" || o.OperationID == "" {
			t.Errorf("%s and %s are both %q", route, other, o.OperationID)
		}
		ids[o.OperationID] = route
		var query, inPath []string
		for _, p := range o.Parameters {
			switch p.In {
			case "query":
				query = append(query, p.Name)
			case "path":
				inPath = append(inPath, "{"+p.Name+"}")
				if !p.Required {
					t.Errorf("%s: %s of the path may be left out", route, p.Name)
				}
			}
		}
		for _, hole := range inPath {
			if !strings.Contains(path, hole) {
				t.Errorf("%s has no %s", route, hole)
			}
		}
		if len(inPath) != strings.Count(path, "{") {
			t.Errorf("%s: parameters of the path %q", route, inPath)
		}
		for _, p := range r.query {
			if !slices.Contains(query, p.name) {
				t.Errorf("%s: the document lacks parameter %s", route, p.name)
			}
		}
		if len(o.Responses) < 2 || o.Responses["default"].Ref == "" {
			t.Errorf("%s: responses %v", route, o.Responses)
		}
	}
	for path, item := range d.Paths {
		for method := range item {
			t.Errorf("the document has %s %s, which is no route", method, path)
		}
	}
}

// TestEveryReferenceOfTheDocumentLeadsSomewhere: and every schema is one.
func TestEveryReferenceOfTheDocumentLeadsSomewhere(t *testing.T) {
	d, plain := openAPI(t)
	refs := 0
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				refs++
				at := plain
				for _, part := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					within, _ := at.(map[string]any)
					at = within[part]
				}
				if at == nil || !strings.HasPrefix(ref, "#/components/") {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(plain)
	if refs < 200 {
		t.Errorf("only %d references", refs)
	}
	for name := range d.Components.Schemas {
		schemaOf(t, plain, map[string]any{"$ref": "#/components/schemas/" + name})
	}
}

// schemaOf compiles a schema that stands in the document.
func schemaOf(t *testing.T, document, schema any) *jsonschema.Schema {
	t.Helper()
	ref, _ := schema.(map[string]any)["$ref"].(string)
	if ref == "" {
		t.Fatalf("no reference: %v", schema)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("document.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("document.json" + ref)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBodiesAreThoseOfTheDocument: what the document says a route takes is what
// its handler reads, for every message of proto/fixtures.
func TestBodiesAreThoseOfTheDocument(t *testing.T) {
	d, plain := openAPI(t)
	messages := fixtures(t)
	for _, r := range Routes() {
		o := d.Paths[strings.ReplaceAll(r.Path, "...}", "}")][strings.ToLower(r.Method)]
		if r.as == asMCP || r.as == asUpgrade || r.as == asEvents {
			continue
		}
		path := strings.NewReplacer("{name...}", "x", "{name}", "x", "{id}", "x").Replace(r.Path)
		if r.takes == nil {
			if o.RequestBody != nil {
				t.Errorf("%s %s takes nothing", r.Method, r.Path)
			}
			continue
		}
		name := reflect.TypeOf(r.takes).Name()
		schema := schemaOf(t, plain, o.RequestBody.Content["application/json"].Schema)
		for _, message := range append(messages[name], json.RawMessage(`{"tenonHasNoSuchField":1}`)) {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
			if err != nil {
				t.Fatal(err)
			}
			fits := schema.Validate(value) == nil
			p := problemOf(t, ask(t, reached(), r.Method, path, string(message)))
			if read := !strings.HasPrefix(p.Detail, "request: "); read != fits {
				t.Errorf("%s %s with %s: fits %v, read %v: %s", r.Method, r.Path, message, fits, read, p.Detail)
			}
		}
	}
}

// reached is a server whose services all fail: what is refused before never
// gets there.
func reached() *Server {
	s := newServer(&double{err: fault.New(fault.PoolExhausted, "reached")})
	s.o.Callers = always{s.o.Callers.(*double).caller}
	return s
}

// fixtures are the messages that both languages' tests of proto read, by type.
func fixtures(t *testing.T) map[string][]json.RawMessage {
	t.Helper()
	files, err := filepath.Glob("../../../proto/fixtures/*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(err, files)
	}
	out := map[string][]json.RawMessage{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var byType map[string][]json.RawMessage
		if json.Unmarshal(raw, &byType) == nil {
			for name, messages := range byType {
				out[name] = append(out[name], messages...)
			}
		}
	}
	return out
}

// TestParametersAreThoseOfTheDocument: each is taken, an unknown one is named on
// every route, and what is no number, time or flag is refused.
func TestParametersAreThoseOfTheDocument(t *testing.T) {
	for _, r := range Routes() {
		if r.as == asMCP {
			continue
		}
		path := strings.NewReplacer("{name...}", "x", "{name}", "x", "{id}", "x").Replace(r.Path)
		refused := func(query string) string {
			return ask(t, reached(), r.Method, path+"?"+query, "{}").Body.String()
		}
		if got := refused("zzz=1"); !strings.Contains(got, "unknown parameter") {
			t.Errorf("%s %s?zzz=1: %s", r.Method, r.Path, got)
		}
		if r.as == asEvents {
			continue // would stay open
		}
		for _, p := range r.query {
			good, bad := "x", ""
			switch p.kind {
			case "number":
				good, bad = "3", "-3"
			case "time":
				good, bad = "2026-01-31T12:00:00Z", "yesterday"
			case "flag":
				good, bad = "true", "perhaps"
			}
			if p.name == "status" {
				good, bad = "lost", "won"
			}
			if got := refused(p.name + "=" + good); strings.Contains(got, p.name+" ") {
				t.Errorf("%s %s?%s=%s: %s", r.Method, r.Path, p.name, good, got)
			}
			if got := refused(p.name + "=" + bad); bad != "" && !strings.Contains(got, "parameter "+p.name+" must be") {
				t.Errorf("%s %s?%s=%s: %s", r.Method, r.Path, p.name, bad, got)
			}
		}
	}
}
