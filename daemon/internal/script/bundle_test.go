package script

import (
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

func bundled(entry, export string, modules map[string]string) Source {
	return Source{Text: entry, Export: export, Path: "team/report.ts", Modules: modules}
}

func TestImportsOfAFolderAreTakenIn(t *testing.T) {
	modules := map[string]string{
		"team/lib.ts":       "export enum Size { Small = 1 }\nexport default function (n: number) { return n + Size.Small }\n",
		"shared/index.ts":   "import names from './names.json';\nexport const first = names[0];\n",
		"shared/names.json": `["ann", "bob"]`,
	}
	p, err := TransformSource(bundled("import plus, { Size } from './lib';\nimport { first } from '../shared';\nexport default (input: {n: number}) => [plus(input.n), first, Size.Small];\n", "", modules), QuickJS)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Code, `"ann"`) || strings.Contains(p.Code, "import ") || strings.Contains(p.Code, "\nexport ") {
		t.Errorf("not one program:\n%s", p.Code)
	}
	if len(p.Sources) == 0 || !strings.Contains(strings.Join(p.Sources, ","), "team/lib.ts") {
		t.Errorf("sources %q", p.Sources)
	}
}

func TestPlacesInABundleNameTheirFile(t *testing.T) {
	modules := map[string]string{"team/lib.ts": "// a comment\nexport function fail() {\n  throw new Error('deep');\n}\n"}
	p, err := TransformSource(bundled("import { fail } from './lib';\nfail()\n", "", modules), QuickJS)
	if err != nil {
		t.Fatal(err)
	}
	place := func(text string) fault.Position {
		at := strings.Index(p.Code, text)
		line := 1 + strings.Count(p.Code[:at], "\n")
		column := at - strings.LastIndexByte(p.Code[:at], '\n')
		pos, ok := p.Position(line, column)
		if !ok {
			t.Fatalf("%q has no place in\n%s", text, p.Code)
		}
		return pos
	}
	if got := place("throw new"); got.File != "team/lib.ts" || got.Line != 3 {
		t.Errorf("in the module: %+v", got)
	}
	if got := place("return (fail"); got.File != "" || got.Line != 2 {
		t.Errorf("in the program: %+v", got)
	}
}

func TestWrongImportsAreNamedWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ source, message, file string }{
		{"import x from './gone';\nx", `the module "./gone" is not among the saved scripts`, ""},
		{"import x from '../../outside';\nx", `the module "../../outside" is not among the saved scripts`, ""},
		{"import fs from 'node:fs';\nfs", `the module "node:fs" cannot be imported`, ""},
		{"import './bad';\n1", `expected`, "team/bad.ts"},
		{"import './lib';\nconst = 1", "expected", ""},
	} {
		_, err := TransformSource(bundled(c.source, "", map[string]string{"team/lib.ts": "export {}", "team/bad.ts": "\nconst = 2"}), QuickJS)
		f := fault.From(err)
		if f == nil || f.Kind != fault.ParseError || !strings.Contains(f.Message, c.message) || f.Position == nil || f.Position.File != c.file {
			t.Errorf("%s: %+v", c.source, f)
		}
	}
}

func TestAnImportAtRunTimeOfAnotherModuleIsTheEngines(t *testing.T) {
	p, err := TransformSource(bundled("import './lib';\nexport default async () => (await import('node:os')).EOL", "", map[string]string{"team/lib.ts": "1"}), Runtime)
	if err != nil || !strings.Contains(p.Code, `import("node:os")`) {
		t.Errorf("%v\n%s", err, p.Code)
	}
}

func TestAnExportIsChosen(t *testing.T) {
	const source = "export default 1;\nexport async function weekly(input: any) { return input }\nconst a = 2, b = 3;\nexport { a as alpha, b };\nexport const c = 4;"
	for _, name := range []string{"weekly", "alpha", "b", "c", "default"} {
		if _, err := TransformSource(Source{Text: source, Export: name}, QuickJS); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := TransformSource(Source{Text: source, Export: "weakly"}, QuickJS)
	if f := fault.From(err); f == nil || f.Kind != fault.UsageError || !strings.Contains(f.Hint, "alpha, b, c, default, weekly") {
		t.Errorf("%+v", f)
	}
	modules := map[string]string{"team/lib.ts": "export const weekly = 1;\nexport const other = 2;"}
	p, err := TransformSource(bundled("import { weekly as w, other } from './lib';\nexport function weekly() { return w + other }", "weekly", modules), QuickJS)
	if err != nil || !strings.Contains(p.Code, "return (typeof weekly2") && !strings.Contains(p.Code, "return (typeof weekly ") {
		t.Errorf("%v\n%s", err, p.Code)
	}
}

func TestSourcesThatDifferHaveKeysThatDo(t *testing.T) {
	a := Source{Text: "1", Path: "a.ts", Modules: map[string]string{"b.ts": "2"}}
	for i, other := range []Source{{Text: "1"}, {Text: "1", Path: "a.ts", Modules: map[string]string{"b.ts": "3"}}, {Text: "1", Path: "a.ts", Modules: map[string]string{"c.ts": "2"}}, {Text: "1", Export: "a.ts", Modules: a.Modules}} {
		if a.key(QuickJS) == other.key(QuickJS) {
			t.Errorf("source %d has the same key", i)
		}
	}
	same := Source{Text: "1", Path: "a.ts", Modules: map[string]string{"b.ts": "2"}}
	if a.key(QuickJS) == a.key(Runtime) || a.key(QuickJS) != same.key(QuickJS) {
		t.Error("the key does not follow the target alone")
	}
}
