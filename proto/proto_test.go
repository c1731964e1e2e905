package proto

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// goTypes are the Go twins; TestEveryTypeHasATwin fails when one is forgotten.
var goTypes = func() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, v := range []any{
		Build{},
		Hello{}, HelloResult{}, Rule{}, RuleList{}, Attach{}, AttachResult{}, Detach{}, Origin{}, TextLimits{},
		RunStart{}, RunDone{}, RunCancel{}, CallStart{}, StatusGet{}, RulesChanged{}, ToolOutcome{}, Resolve{},
		Resolved{}, Ask{}, AskReply{}, Question{}, Answer{}, AskShown{}, Withdraw{}, Notice{}, CancelRequest{},
		Health{}, ExecRequest{}, CallRequest{}, Server{}, Instance{}, Tool{}, Session{}, Lease{}, Run{}, RunOptions{}, Approval{},
		ApprovalReply{}, SearchResult{}, SearchItem{}, SearchNext{}, Search{}, Script{}, ScriptParam{}, ScriptSave{}, SessionStatus{}, Status{}, Bridge{},
		Engine{}, Sandbox{}, Event{}, CallerInfo{}, SessionCreate{}, SessionTicket{}, StopRequest{}, StopResult{}, TrustRequest{},
		TrustResult{}, Preset{}, Presets{}, PresetSwitch{}, PresetUse{}, PresetUsed{}, Login{}, LoginStart{}, LoginPrompt{}, LoginEnded{}, CatalogQuery{}, Catalog{}, TypesQuery{}, Types{},
		RunResult{}, ScriptRun{}, Log{}, Position{}, Warning{}, CallSummary{}, Artifact{}, Error{}, Timing{}, CallResult{}, Image{},
		Problem{}, Frame{}, CallEvent{}, Progress{},
		RPCMessage{}, RPCError{}, Done{},
		AttachedProgram{}, ProgramScript{}, ProgramEdit{}, ProgramSpace{}, ProgramSession{}, ProgramLimits{},
		ProgramOutcome{}, ProgramDropped{}, ProgramCall{}, ProgramValue{}, ProgramDescribe{}, ProgramScriptRun{}, ProgramArtifact{}, ProgramMaterial{}, ProgramEmit{}, ProgramStop{},
		OfferArgument{}, Resource{}, ResourceTemplate{}, Prompt{}, OfferProblem{}, Resources{}, ResourceTemplates{}, Prompts{}, OfferQuery{}, ResourceRead{}, PromptGet{},
		RunLimits{}, RunStats{}, StatsRow{}, Repair{},
	} {
		t := reflect.TypeOf(v)
		out[t.Name()] = t
	}
	return out
}()

// notMessages are exported structs of this package that never cross a process boundary.
var notMessages = []string{"FieldError"}

// files are the files of types; each has schema/, fixtures/, Go and TypeScript.
var files = []string{"version", "bridge", "rest", "result", "rpc", "program", "preset", "auth", "material", "script", "history"}

func TestEveryTypeHasATwin(t *testing.T) {
	declared := map[string]string{} // type -> file
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file+".go", nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.TypeSpec)
				if _, ok := spec.Type.(*ast.StructType); ok && !slices.Contains(notMessages, spec.Name.Name) {
					declared[spec.Name.Name] = file + ".json"
				}
			}
		}
		if _, err := os.Stat(file + ".ts"); err != nil {
			t.Errorf("%s.go has no TypeScript twin: %v", file, err)
		}
	}
	for name, file := range declared {
		schema, ok := types()[name]
		if !ok {
			t.Errorf("%s is not in schema/%s", name, file)
			continue
		}
		if schema.file != file {
			t.Errorf("%s is in schema/%s, its Go type in the twin of schema/%s", name, schema.file, file)
		}
		if goTypes[name] == nil {
			t.Errorf("%s is missing in goTypes of this test", name)
		}
	}
	for name, schema := range types() {
		if declared[name] == "" {
			t.Errorf("schema/%s: %s has no Go type", schema.file, name)
		}
	}
}

func TestGoFieldsAgreeWithTheSchemas(t *testing.T) {
	for name, typ := range goTypes {
		schema := types()[name]
		if schema == nil {
			continue // named by TestEveryTypeHasATwin
		}
		for _, f := range fieldsOf(typ) {
			property := schema.Properties[f.name]
			if property == nil {
				t.Errorf("%s.%s is in Go only", name, f.name)
				continue
			}
			if required := slices.Contains(schema.Required, f.name); required != f.required {
				t.Errorf("%s.%s: required is %v in the schema, %v in Go", name, f.name, required, f.required)
			}
			if got := shape(f.typ); got != schemaShape(property) {
				t.Errorf("%s.%s: Go has %s, the schema %s", name, f.name, got, schemaShape(property))
			}
		}
		if len(fieldsOf(typ)) != len(schema.Properties) {
			t.Errorf("%s: Go has %d fields, the schema %d", name, len(fieldsOf(typ)), len(schema.Properties))
		}
	}
}

func TestFixturesAreValidAndSurviveGo(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	for _, file := range files {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(t, filepath.Join("schema", file+".json"))))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource("tenon:///"+file+".json", doc); err != nil {
			t.Fatal(err)
		}
	}
	for name, messages := range fixtures(t) {
		schema, err := compiler.Compile("tenon:///" + types()[name].file + "#/$defs/" + name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, message := range messages {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(message))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); err != nil {
				t.Errorf("%s[%d]: %v", name, i, err)
			}
			into := reflect.New(goTypes[name])
			if err := Decode(message, into.Interface()); err != nil {
				t.Errorf("%s[%d]: Decode: %v", name, i, err)
			}
			strict := json.NewDecoder(bytes.NewReader(message))
			strict.DisallowUnknownFields()
			if err := strict.Decode(reflect.New(goTypes[name]).Interface()); err != nil {
				t.Errorf("%s[%d]: %v", name, i, err)
			}
			again, err := json.Marshal(into.Elem().Interface())
			if err != nil {
				t.Fatal(err)
			}
			if !sameJSON(message, again) {
				t.Errorf("%s[%d] changed on the way through Go:\n  in  %s\n  out %s", name, i, message, again)
			}
		}
	}
	for name := range types() {
		if len(fixtures(t)[name]) == 0 {
			t.Errorf("%s has no fixture", name)
		}
	}
}

func TestZeroValuesKeepThePromiseOfTheSchemas(t *testing.T) {
	// A producer that leaves a list nil must not send null.
	for name, typ := range goTypes {
		data, err := json.Marshal(reflect.New(typ).Elem().Interface())
		if err != nil {
			t.Fatal(err)
		}
		err = types()[name].check(data, "")
		if name == "CancelRequest" {
			continue // its id has no zero value; the sender always has one
		}
		if err != nil && strings.HasSuffix(err.Error(), "must not be null") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	var cases []struct{ Type, Message, Error string }
	if err := json.Unmarshal(read(t, "fixtures/invalid.json"), &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		err := Decode([]byte(c.Message), reflect.New(goTypes[c.Type]).Interface())
		if err == nil || err.Error() != c.Error {
			t.Errorf("%s %s\n  got  %v\n  want %s", c.Type, c.Message, err, c.Error)
		}
	}
}

func TestMethodsAreListedWithTheirSchemas(t *testing.T) {
	var doc struct {
		Methods []struct{ From, Name, Params, Result string } `json:"x-methods"`
	}
	if err := json.Unmarshal(read(t, "schema/bridge.json"), &doc); err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range doc.Methods {
		listed = append(listed, m.Name)
		for _, ref := range []string{m.Params, m.Result} {
			if ref != "" && (&node{Ref: ref}).target() == nil {
				t.Errorf("%s: no schema %s", m.Name, ref)
			}
		}
	}
	for _, name := range constants(t, "bridge.go", "Method") {
		if !slices.Contains(listed, name) {
			t.Errorf("method %s is not in x-methods of schema/bridge.json", name)
		}
	}
}

// field is one JSON member of a Go struct; embedded structs are flattened, as
// encoding/json does.
type field struct {
	name     string
	typ      reflect.Type
	required bool
}

func fieldsOf(t reflect.Type) []field {
	var out []field
	for f := range t.Fields() {
		tag, hasTag := f.Tag.Lookup("json")
		if f.Anonymous && !hasTag {
			out = append(out, fieldsOf(f.Type)...)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		out = append(out, field{name, f.Type, !strings.Contains(options, "omitempty")})
	}
	return out
}

func shape(t reflect.Type) string {
	if t == reflect.TypeFor[json.RawMessage]() {
		return "any"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shape(t.Elem())
	case reflect.Slice:
		return "array of " + shape(t.Elem())
	case reflect.Map:
		return "map of " + shape(t.Elem())
	case reflect.Struct:
		return t.Name()
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	default:
		return "integer"
	}
}

func schemaShape(n *node) string {
	if n.Ref != "" && !strings.Contains(n.Ref, "/properties/") {
		return n.Ref[strings.LastIndex(n.Ref, "/")+1:]
	}
	n = n.target()
	switch {
	case len(n.AnyOf) > 0:
		return schemaShape(n.AnyOf[0])
	case n.Const != nil:
		return "string"
	case len(n.Type) != 1:
		return "any"
	case n.Type[0] == "array":
		return "array of " + schemaShape(n.Items)
	case n.Type[0] == "object":
		return "map of " + schemaShape(n.Additional.values)
	}
	return n.Type[0]
}

func fixtures(t testing.TB) map[string][]json.RawMessage {
	t.Helper()
	out := map[string][]json.RawMessage{}
	for _, file := range files {
		if err := json.Unmarshal(read(t, filepath.Join("fixtures", file+".json")), &out); err != nil {
			t.Fatalf("fixtures/%s.json: %v", file, err)
		}
	}
	return out
}

func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range parsed.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.ValueSpec)
			if strings.HasPrefix(spec.Names[0].Name, prefix) {
				out = append(out, strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
			}
		}
	}
	return out
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
