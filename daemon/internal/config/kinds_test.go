package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spec is what our own binary is told by a definition.
func spec(t *testing.T, d *Definition) *KindSpec {
	t.Helper()
	var k KindSpec
	if err := json.Unmarshal([]byte(d.Env[KindVariable]), &k); err != nil {
		t.Fatalf("%s: %v", d.Env[KindVariable], err)
	}
	return &k
}

func TestAnEntryWithAKindStartsOurOwnBinary(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {
		"m": {"kind": "module", "module": "./tools.ts"},
		"n": {"kind": "module", "module": "~/t.ts", "engine": "node"},
		"o": {"kind": "openapi", "document": "${HOME}/api.yaml", "auth": {"bearer": "${API_TOKEN}", "header": {"X-Team": "literal-team"}}},
		"c": {"kind": "command", "tools": {"g": {"command": ["grep", "-e", "{pattern}", "$${HOME}", "${HOME}/{{x}}"], "callTimeout": "3s"}}}
	}}`)
	v := w.view()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := w.env("API_TOKEN", "t0p-secret")
	d, err := v.Define("m", env, Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{self, ServeKind, KindModule, "./tools.ts"}; strings.Join(d.Command, " ") != strings.Join(want, " ") {
		t.Errorf("command %v", d.Command)
	}
	if k := spec(t, d); k.Module.File != filepath.Join(w.home, ".config/tenon/tools.ts") || k.Module.Engine != "embedded" || k.Pins != nil || k.Workspace != "" || k.Sandbox != "" {
		t.Errorf("%+v %+v", k, k.Module)
	}
	if d, err = v.Define("n", env, Placeholders{}); err != nil {
		t.Fatal(err)
	}
	if k := spec(t, d); k.Module.File != filepath.Join(w.home, "t.ts") || k.Sandbox != "read-only" || len(k.Hidden) == 0 {
		t.Errorf("%+v %+v", k, k.Module)
	}
	if d, err = v.Define("o", env, Placeholders{}); err != nil {
		t.Fatal(err)
	}
	if k := spec(t, d); k.OpenAPI.Document != filepath.Join(w.home, "api.yaml") || k.OpenAPI.Bearer != "t0p-secret" {
		t.Errorf("%+v", k.OpenAPI)
	}
	for _, secret := range []string{"t0p-secret", "literal-team"} {
		if !strings.Contains(strings.Join(d.Secrets, " "), secret) {
			t.Errorf("%q is not masked: %q", secret, d.Secrets)
		}
		if strings.Contains(strings.Join(d.Command, " "), secret) || strings.Contains(v.Servers["o"].Shown(), secret) {
			t.Errorf("%q can be read in the command line", secret)
		}
	}
	if d, err = v.Define("c", env, Placeholders{}); err != nil {
		t.Fatal(err)
	}
	k := spec(t, d)
	if got := strings.Join(k.Command.Tools[0].Command, " "); got != "grep -e {pattern} ${{HOME}} "+w.home+"/{{x}}" {
		t.Errorf("words %s", got)
	}
	if got := string(k.Command.Tools[0].Input); got != `{"type":"object","properties":{"pattern":{"type":"string"}},"required":["pattern"],"additionalProperties":false}` {
		t.Errorf("input %s", got)
	}
	if v.Servers["c"].Tools["g"].CallTimeout.Seconds() != 3 {
		t.Errorf("tools: %+v", v.Servers["c"].Tools)
	}
}

func TestTwoWhoseSecretsDifferShareNothing(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {"o": {"kind": "openapi", "document": "a.yaml", "auth": {"query": {"key": "${K}"}}}}}`)
	v := w.view()
	a, err := v.Define("o", w.env("K", "one"), Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := v.Define("o", w.env("K", "two"), Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	if a.ID == b.ID || a.Template != b.Template {
		t.Errorf("ids %s %s, templates %s %s", a.ID, b.ID, a.Template, b.Template)
	}
	_, err = v.Define("o", w.env(), Placeholders{})
	wantConfigError(t, err, "server o: auth.query.key: variable K is not set")
}

func TestMistakesInKindsNameTheirKeys(t *testing.T) {
	for _, c := range []struct {
		entry string
		want  []string
	}{
		{`{"kind": "modul", "module": "a.ts"}`, []string{`"modul" is none of module, openapi, command`, `did you mean "module"?`}},
		{`{"kind": "module"}`, []string{"kind module needs module"}},
		{`{"kind": "module", "module": "a.ts", "command": ["x"]}`, []string{"kind module has no command"}},
		{`{"kind": "module", "module": "a.ts", "document": "x"}`, []string{"kind module has no document", `"kind": "openapi"`}},
		{`{"kind": "module", "module": "a.ts", "sandbox": "full"}`, []string{"embedded engine is always confined", `"engine": "node"`}},
		{`{"kind": "module", "module": "a.ts", "engin": "node"}`, []string{`unknown key "engin"`, `"engine"`}},
		{`{"command": ["x"], "module": "a.ts"}`, []string{"module needs a kind"}},
		{`{"command": ["x"], "tools": {"t": {"input": {}}}}`, []string{`tools.t.input needs "kind": "command"`}},
		{`{"kind": "openapi", "document": "a", "auth": {"bearer": "a", "basic": {"username": "u", "password": "p"}}}`, []string{"both bearer and basic"}},
		{`{"kind": "openapi", "document": "a", "auth": {"basic": {"username": "u"}}}`, []string{"username and password"}},
		{`{"kind": "openapi", "document": "a", "auth": {"baerer": "u"}}`, []string{`"baerer"`, `"bearer"`}},
		{`{"kind": "command", "tools": {}}`, []string{"at least one tool"}},
		{`{"kind": "command", "tools": {"t": {"description": "x"}}}`, []string{"tools.t: command is missing"}},
		{`{"kind": "command", "tools": {"t": {"command": "ls -l"}}}`, []string{"no shell reads it", `["ls","-l"]`}},
		{`{"kind": "command", "tools": {"t": {"command": ["{x}"]}}}`, []string{"program itself"}},
		{`{"kind": "command", "tools": {"t": {"command": ["sh", "-ec", "rm {x}"]}}}`, []string{"{x} stands in text that sh executes", `\"$1\"`}},
		{`{"kind": "command", "tools": {"t": {"command": ["env", "/usr/bin/python3.12", "-c", "{code}"]}}}`, []string{"that python executes"}},
		{`{"kind": "command", "tools": {"t": {"command": ["x", "{a b}"]}}}`, []string{"{a b} is no placeholder"}},
		{`{"kind": "command", "tools": {"t": {"command": ["x", "{a"]}}}`, []string{`"{" has no "}"`}},
		{`{"kind": "command", "tools": {"t": {"command": ["x", "{patern}"], "input": {"pattern": "string"}}}}`, []string{"{patern}", "nearest is pattern"}},
		{`{"kind": "command", "tools": {"t": {"command": ["x", "{a}"], "input": {"a?": "string"}}}}`, []string{"write {?a}"}},
		{`{"kind": "command", "tools": {"t": {"command": ["x", "{a}"], "input": {"a": "string[]"}}}}`, []string{"write {a...}"}},
		{`{"kind": "command", "tools": {"t": {"command": ["x", "{a}"], "input": {"a": "strin"}}}}`, []string{`"strin" is none of`, `"string"?`}},
		{`{"kind": "command", "tools": {"t": {"command": ["x"], "output": "jsn"}}}`, []string{`"jsn" is none of`, `"json"`}},
	} {
		w := newWorld(t)
		w.user("{\n\"servers\": {\n\"s\": " + c.entry + "}}")
		_, err := w.store.View(w.project, "", w.env())
		wantConfigError(t, err, append(c.want, "config.jsonc:3:")...)
	}
}

func TestTheShortFormOfInputBecomesASchema(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {"s": {"kind": "command", "tools": {"t": {
		"command": ["x", "{?deep:--deep}", "--glob={globs...}", "{?n}", "{mode}", "{p}", "{d}"],
		"input": {"deep?": "boolean", "globs": "string[]", "n?": "integer", "mode": ["a", 2], "p": {"type": "string", "description": "a path"}, "d": {"type": "number", "default": 1.50}}
	}}}}}`)
	in := w.view().Servers["s"].Served.Command.Tools[0].Input
	want := `{"type":"object","properties":{"deep":{"type":"boolean"},"globs":{"type":"array","items":{"type":"string"}},"n":{"type":"integer"},` +
		`"mode":{"enum":["a",2]},"p":{"type":"string","description":"a path"},"d":{"type":"number","default":1.50}},"required":["globs","mode","p"],"additionalProperties":false}`
	if string(in) != want {
		t.Errorf("got  %s\nwant %s", in, want)
	}
}

func TestTrustOfAModuleHangsOnTheContentOfItsFiles(t *testing.T) {
	w := newWorld(t)
	w.projectConfig(`{"servers": {"m": {"kind": "module", "module": "./tools.ts"}}}`)
	if s := w.view().Servers["m"]; s.Problem == "" || !strings.Contains(s.Problem, "does not exist") {
		t.Errorf("problem %q", s.Problem)
	}
	tools := w.write(filepath.Join(w.project, "tools.ts"), `import { x } from "./lib/x.js"; export const f = () => x`)
	lib := w.write(filepath.Join(w.project, "lib/x.ts"), `export const x = 1`)
	other := w.write(filepath.Join(w.project, "lib/y.ts"), `export const y = 1`)
	if s := w.view().Servers["m"]; s.Problem != "" || !s.Untrusted {
		t.Fatalf("%+v", s)
	}
	w.trust()
	d, err := w.view().Define("m", w.env(), Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	if k := spec(t, d); len(k.Pins) != 2 || k.Pins[tools] == "" || k.Pins[lib] == "" || k.Workspace != w.project {
		t.Errorf("%+v", k)
	}
	w.write(other, `export const y = 2`) // not imported
	if _, err := w.view().Define("m", w.env(), Placeholders{}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{tools, lib} {
		w.write(file, `export const x = "changed"; import "./lib/x"`)
		_, err = w.view().Define("m", w.env(), Placeholders{})
		wantConfigError(t, err, "is not trusted")
		w.trust()
		if _, err := w.view().Define("m", w.env(), Placeholders{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTrustOfADocumentHangsOnItsContent(t *testing.T) {
	w := newWorld(t)
	w.projectConfig(`{"servers": {"o": {"kind": "openapi", "document": "api.yaml"}, "e": {"kind": "openapi", "document": "${HOME}/x.yaml"}}}`)
	doc := w.write(filepath.Join(w.project, "api.yaml"), "openapi: 3.1.0\n")
	if s := w.view().Servers["e"]; !strings.Contains(s.Problem, "no placeholders") {
		t.Errorf("problem %q", s.Problem)
	}
	w.trust()
	before, err := w.view().Define("o", w.env(), Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	w.write(doc, "openapi: 3.1.0\ninfo: {}\n")
	_, err = w.view().Define("o", w.env(), Placeholders{})
	wantConfigError(t, err, "is not trusted")
	w.trust()
	after, err := w.view().Define("o", w.env(), Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	if before.ID == after.ID {
		t.Error("another document is the same definition: running instances would serve the old one for ever")
	}
}
