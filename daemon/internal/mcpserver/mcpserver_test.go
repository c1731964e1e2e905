package mcpserver

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listOf learns a list as a server would give it.
func listOf(names ...string) *catalog.List {
	var tools []upstream.Tool
	for _, n := range names {
		tools = append(tools, upstream.Tool{Name: n})
	}
	return catalog.New(catalog.Options{}).Learn("d", "i", 1, tools)
}

func TestAFlatNameDependsOnItsServerAndToolAlone(t *testing.T) {
	alone := flatten([]catalog.Named{{Server: "a", Namespace: "a"}}, []*catalog.List{listOf("x", "y.z")})
	among := flatten([]catalog.Named{{Server: "b", Namespace: "b"}, {Server: "a", Namespace: "a"}}, []*catalog.List{listOf("x"), listOf("y.z", "x")})
	names := map[string]bool{}
	for _, e := range among {
		names[e.name] = true
	}
	for _, e := range alone {
		if !names[e.name] {
			t.Errorf("%s has another name among others: %v", e.name, names)
		}
	}
}

func TestTwoToolsThatJoinToOneNameAreToldApart(t *testing.T) {
	list := flatten([]catalog.Named{{Server: "a", Namespace: "a"}, {Server: "a_b", Namespace: "a_b"}}, []*catalog.List{listOf("b_c"), listOf("c")})
	if len(list) != 2 || list[0].name == list[1].name {
		t.Fatalf("%+v", list)
	}
	for _, e := range list {
		if !strings.HasPrefix(e.name, "a_b_c_") || len(e.name) > 64 {
			t.Errorf("name %q", e.name)
		}
	}
}

func TestTheModeIsReadFromPathAndQuery(t *testing.T) {
	for url, want := range map[string]mode{
		"/mcp": {}, "/mcp?codemode=true": {}, "/mcp?codemode=false": {flat: true}, "/mcp?x=1&codemode=FALSE": {flat: true}, "/mcp?other=false": {},
	} {
		if got := modeOf(httptest.NewRequest("POST", url, nil)); got != want {
			t.Errorf("%s: %+v", url, got)
		}
	}
	through := httptest.NewRequest("POST", "/mcp/browser?codemode=false", nil)
	through.SetPathValue("server", "browser")
	if got := modeOf(through); got != (mode{server: "browser"}) {
		t.Errorf("%+v", got)
	}
}

func TestArgumentsAreHeldAgainstWhatIsPublished(t *testing.T) {
	tools := map[string]gatewayTool{}
	for _, tool := range gateway() {
		tools[tool.name] = tool
	}
	for _, one := range []struct{ tool, given, want string }{
		{"exec", `{"code":"1"}`, ""},
		{"exec", `{"code":"1","input":null,"timeout":0.5}`, ""},
		{"exec", ``, `"code" is missing`},
		{"exec", `[]`, "must be an object"},
		{"exec", `{"code":1}`, `"code" must be a string`},
		{"exec", `{"code":"1","timeout":"5"}`, `must be a number`},
		{"search", `{"query":"q","limit":1.5}`, "a whole number"},
		{"search", `{"query":"q","limit":-1}`, "at least 0"},
		{"search", `{"quary":"q"}`, `did you mean "query"?`},
		{"types", `{"paths":["a",1]}`, "a list of strings"},
		{"call", `{"server":"s","tool":"t","arguments":"x"}`, "an object"},
		{"status", `{"x":1}`, "it takes none"},
		{"status", `null`, ""},
	} {
		_, err := tools[one.tool].read(json.RawMessage(one.given))
		switch {
		case one.want == "" && err != nil:
			t.Errorf("%s %s: %v", one.tool, one.given, err)
		case one.want != "" && (fault.KindOf(err) != fault.InvalidToolInput || !strings.Contains(err.Error(), one.want)):
			t.Errorf("%s %s: %v, want %s", one.tool, one.given, err, one.want)
		}
	}
}
