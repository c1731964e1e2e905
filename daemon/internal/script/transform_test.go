package script

import (
	"errors"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

// body is what Transform makes of the program between the lines that are always
// the same.
func body(t *testing.T, source string) string {
	t.Helper()
	p, err := Transform(source, QuickJS)
	if err != nil {
		t.Errorf("%q: %v", source, err)
		return ""
	}
	_, s, _ := strings.Cut(p.Code, "async function "+mainName)
	_, s, _ = strings.Cut(s, "{\n")
	s = s[:strings.LastIndex(s, "}")]
	s = s[:strings.LastIndex(s, "}")]
	var lines []string
	for _, l := range strings.Split(s, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, " ")
}

func TestTheLastStatementIsReturned(t *testing.T) {
	for source, want := range map[string]string{
		"1 + 1":                              "return (1 + 1);",
		"if (x) { 1 } else if (y) 2; else 3": "if (x) { return (1); } else if (y) return (2); else return (3);",
		"if (x) 1":                           "if (x) return (1);",
		"try { a() } catch (e) { e.m }":      "try { return await (a()); } catch (e) { return (e.m); }",
		"try { a() } catch { b() } finally { c() }": "try { return await (a()); } catch { return await (b()); } finally { c(); }",
		"{ 1; { 2 } }":                  "{ 1; { return (2); } }",
		"for (;;) 1":                    "for (; ; ) 1;",
		"do x(); while (1)":             "do x(); while (1);",
		"switch (x) { case 1: 2 }":      "switch (x) { case 1: 2; }",
		"a: { 1 }":                      "a: { 1; }",
		"if (a) for (;;) b(); else c()": "if (a) for (; ; ) b(); else return (c());",
		"if (x) /re/.test(y); else z()": "if (x) return (/re/.test(y)); else return (z());",
		"let x\n/a;/.test(x)":           "let x; return (/a;/.test(x));",
		"f; function f() {}":            "f; function f() { }",
		"f(); async () => 1":            "f(); return (async () => 1);",
		"using x = y(); x.z":            "using x = y(); return (x.z);",
		"import('x')":                   `return (import("x"));`,
		"a ? b : c":                     "return (a ? b : c);",
		"x++ / 2; y":                    "x++ / 2; return (y);",
		"a.return / 2 / 3":              "return (a.return / 2 / 3);",
		"yield_ / 2; [1] / 2 / g":       "yield_ / 2; return ([1] / 2 / g);",
		"`}`; `${`}`}`":                 "`}`; return (`${`}`}`);",
		"let of = 4; of / 2 / 1":        "let of = 4; return (of / 2 / 1);",
		"for (const x of /a/g[Symbol.matchAll]('a')) x": "for (const x of /a/g[Symbol.matchAll](\"a\")) x;",
		"await using x = y()":                           "await using x = y();",
		"5;;;":                                          "return (5); ; ;",
		"export const a = 1\na":                         "const a = 1; return (a);",
		"import { type X, type Y } from 'y'; a":         "return (a);",
		"import type { X } from 'y'; a":                 "return (a);",
		"a && // why\nb()":                              "return (a && // why b());",
		"x; y = // why\n/z/.test(x)":                    "x; return (y = // why /z/.test(x));",
		"foo();\n// why\n(b())":                         "foo(); return (b());",
	} {
		if got := body(t, source); got != want {
			t.Errorf("%q\n got %s\nwant %s", source, got, want)
		}
	}
}

// esbuild folds constants and removes statements that are nothing but one: the
// result is theirs all the same, and never that of the statement before.
func TestALastStatementThatIsFoldedIsReturned(t *testing.T) {
	for source, want := range map[string]string{
		"'a' + 'b'":                                      "return (\"ab\");",
		"foo(); 'a' + 'b'":                               "foo(); return (\"ab\");",
		"foo()\n'a' + 'b'; // why; this\n":               "foo(); return (\"ab\");",
		"'a' + 'b' /* ; */ ; ;":                          "return (\"ab\");;",
		"foo();\nundefined":                              "foo(); return (void 0);",
		"foo(); !1":                                      "foo(); return (false);",
		"foo(); typeof 1;":                               "foo(); return (\"number\");",
		"foo(); true || bar({ a: 1 })":                   "foo(); return (true);",
		"`a` + 'b;c' as string":                          "return (`ab;c`);",
		"'ü' + '😀' // ä\n":                               "return (\"ü😀\");",
		"const enum E { A = 'x' }\nfoo(); E.A+'y'":       "let E; ((E2) => { E2[\"A\"] = \"x\"; })(E || (E = {})); foo(); return (\"xy\");",
		"foo();\n-(1)":                                   "foo(); return (-1);",
		"if (x) { foo(); 'a' + 'b' } else { 'c' + 'd' }": "if (x) { foo(); return (\"ab\");} else { return (\"cd\");}",
		"if (x) 'a' + 'b'; else 'c' + 'd'":               "if (x) return (\"ab\"); else return (\"cd\");",
		"if (x) 'a' + 'b'":                               "if (x) return (\"ab\");",
		"try { 'a' + 'b' } catch { 'c' + 'd' }":          "try { return (\"ab\");} catch { return (\"cd\");}",
		"{ let ä = 'ü'; { 'ü' + 'x' } }":                 "{ let ä = \"ü\"; { return (\"üx\");} }",
		"export const a = 1;\n'a' + 'b'":                 "const a = 1; return (\"ab\");",
		// Nothing is lost in these.
		"foo()\n// 'a' + 'b'":     "return (foo());",
		"foo(`\na; 'b' + 'c'\n`)": "return (foo(` a; 'b' + 'c' `));",
		"'a' + 'b'; foo()":        "return (foo());",
		"'a' + 'b'\nlet x = 1":    "let x = 1;",
		"for (;;) 'a' + 'b'":      "for (; ; ) ;",
		"foo(); type A = 'x'":     "return (foo());",
	} {
		if got := body(t, source); got != want {
			t.Errorf("%q\n got %s\nwant %s", source, got, want)
		}
	}
}

// A program that is nothing but a function would do nothing.
func TestAProgramThatIsOneFunctionIsCalled(t *testing.T) {
	const called = "(globalThis.input, { args: globalThis.args })"
	for source, want := range map[string]string{
		"async () => 1":                          "return (async () => 1)" + called + ";",
		"x => { return x }":                      "return ((x) => { return x; })" + called + ";",
		"(async () => { await f() });":           "return ((async () => { await f(); }))" + called + ";",
		"(async function () { await f() })":      "return ((async function() { await f(); }))" + called + ";",
		"(function main() { f() })":              "return ((function main() { f(); }))" + called + ";",
		"async function main(a = {}) { f() }":    "async function main(a = {}) { f(); } return main" + called + ";",
		"interface A {}\nfunction main(a: A) {}": "function main(a) { } return main" + called + ";",
		"// why\nasync () => {\n  f()\n}":        "return (async () => { f(); })" + called + ";",
		// These are something else.
		"(async () => { await f() })()":    "return ((async () => { await f(); })());",
		"(() => 1, f())":                   "return (() => 1, f());",
		"function* g() {}":                 "function* g() { }",
		"class A {}":                       "class A { }",
		"async (x)":                        "return (async(x));",
		"const f = () => 1":                "const f = () => 1;",
		"function a() {}\nfunction b() {}": "function a() { } function b() { }",
		"x = () => 1":                      "return (x = () => 1);",
	} {
		if got := body(t, source); got != want {
			t.Errorf("%q\n got %s\nwant %s", source, got, want)
		}
	}
}

func TestACodeFenceIsNoPartOfTheProgram(t *testing.T) {
	for source, want := range map[string]string{
		"```ts\n1 + x\n```":                     "return (1 + x);",
		"\n```\nx\n```\n\n":                     "return (x);",
		"```TypeScript\r\n`a`\r\n+x\r\n```\r\n": "return (`a` + x);",
		"\ufeff``` js\nx\n```":                  "return (x);",
	} {
		if got := body(t, source); got != want || !Fenced(source) {
			t.Errorf("%q: %s, fenced %v", source, got, Fenced(source))
		}
	}
	if p, err := Transform("```ts\nx\ny(\n```", QuickJS); err == nil {
		t.Errorf("%v", p)
	}
	for _, source := range []string{"```ts\nx\n```\n```ts\ny\n```", "```python\nx\n```", "Look:\n```ts\nx\n```", "```ts\nx", "x", "```"} {
		if Fenced(source) || Plain(source) != source {
			t.Errorf("%q was taken for a program in a fence", source)
		}
	}
}

func TestMistakesAreTold(t *testing.T) {
	for source, want := range map[string]string{
		"Here it is:\n```ts\nx\n```":        "without the text around it",
		"\n```ts\nx\n```\n```ts\ny\n```":    "several blocks",
		"```python\nprint(1)\n```":          "TypeScript or JavaScript",
		"a = b.filter(x =&gt; x)":           "HTML entities",
		"const a = \u201chi\u201d":          "typographic quotes",
		"const a = 5 \u2013 3":              "this dash is no minus",
		"const a = 5;\u200b":                "an invisible character",
		"const a = {\n  b: 1,\n  \u2026\n}": "code that was left out",
		"const a = 1;\\nconst b = 2;":       "escaped twice",
		"def f(x):\n    return x":           "not Python",
		"for x in items:\n  print(x)":       "not Python",
		"ls -la | grep foo":                 "not commands of a shell",
		"const a = <div>hi</div>;":          "no JSX",
		"<script>\nconst a = 1;\n</script>": "without HTML",
		`{"code": "await x()"}`:             `not JSON that holds it as "code"`,
		"[1].forEach(x => { await f(x) })":  "make the function around it async",
		"const a = \"x\ny\";":               "in backticks",
		"let a = 1;\nlet a = 2;":            "another name",
		"function f() { return 1 }}\nf()":   noOpening,
		"f(() => {\n  g();\n":               "is not closed",
		"const a = ;":                       "in: const a = ;",
	} {
		_, err := Transform(source, QuickJS)
		var f *fault.Error
		if !errors.As(err, &f) || f.Position == nil || !strings.Contains(f.Hint, want) {
			t.Errorf("%q: %v %+v, want %q", source, err, f, want)
		}
	}
}

func TestDefaultExports(t *testing.T) {
	const call = `return (typeof %s === "function" ? %s(__input, { args: __args }) : %s);`
	for source, want := range map[string]string{
		"export default function main() {}":                "function main() { } " + strings.ReplaceAll(call, "%s", "main"),
		"export default async function () {}":              "const __default = async function() { }; " + strings.ReplaceAll(call, "%s", "__default"),
		"export default () => 1":                           "const __default = () => 1; " + strings.ReplaceAll(call, "%s", "__default"),
		"export default class {}\n;[1]":                    "const __default = class { }; ; [1]; " + strings.ReplaceAll(call, "%s", "__default"),
		"function f() {}\nexport { f as default, f as g }": "function f() { } " + strings.ReplaceAll(call, "%s", "f"),
		"export default 5":                                 "const __default = 5; " + strings.ReplaceAll(call, "%s", "__default"),
	} {
		if got := body(t, source); got != want {
			t.Errorf("%q\n got %s\nwant %s", source, got, want)
		}
	}
}

func TestParseErrorsNameThePlace(t *testing.T) {
	for _, c := range []struct {
		source, has  string
		line, column int
	}{
		{"const a = ;", `unexpected ";"`, 1, 11},
		{"let x = 1\nlet y = {\n", "unexpected end", 3, 1},
		{"let a\n   import { x } from 'y'", `"y" cannot be imported`, 2, 4},
		{"export * from 'z'", `"z" cannot be imported`, 1, 1},
		{"export { a } from 'z'", `"z" cannot be imported`, 1, 1},
		{"'export'; let b = ;", `unexpected ";"`, 1, 19},
		{"function f() { await 1 }", `"await" can only be used inside an "async" function`, 1, 16},
		{"foo() }", "unexpected", 0, 0},
		{"} foo(); async function x() {", "unexpected", 0, 0},
		{"}\nasync function __main() {", "unexpected", 0, 0},
	} {
		_, err := Transform(c.source, QuickJS)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.ParseError || !strings.Contains(f.Message, c.has) {
			t.Errorf("%q: %v, want %q", c.source, err, c.has)
			continue
		}
		if c.line > 0 && (f.Position == nil || f.Position.Line != c.line || f.Position.Column != c.column) {
			t.Errorf("%q: at %+v, want %d:%d", c.source, f.Position, c.line, c.column)
		}
	}
}

func TestPositionsLeadBack(t *testing.T) {
	for _, source := range []string{
		"interface A { x: number }\nconst a: A = { x: 1 };\nenum E { B }\nMARK()",
		"type T = 1\nif (true) {\n  MARK()\n}",
		"export const a: number = 1\n  export default function main(x: string) {\n    return MARK(x)\n}",
		"#!/usr/bin/env tenon\ntry { MARK() } catch {}",
	} {
		p, err := Transform(source, QuickJS)
		if err != nil {
			t.Fatal(err)
		}
		find := func(text string) (line, column int) {
			at := strings.Index(text, "MARK")
			return 1 + strings.Count(text[:at], "\n"), at - strings.LastIndexByte(text[:at], '\n')
		}
		line, column := find(source)
		pos, ok := p.Position(find(p.Code))
		if !ok || pos.Line != line || pos.Column != column {
			t.Errorf("%q: %+v %v, want %d:%d\n%s", source, pos, ok, line, column, p.Code)
		}
	}
}

// FuzzTransform: whatever the source, the output parses as well as the source did.
func FuzzTransform(f *testing.F) {
	for _, s := range []string{"1", "if (0) ;", "if (a) b; else /c/.test(d)", "`a${`b`}`", "try{x}catch{y}finally{z}", "export default 1", "a\n/b/g", "({})\n[1]", "!//\nA0/0", "'a'+'b'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 2000 {
			return
		}
		p, err := Transform(source, QuickJS)
		if err != nil {
			if fault.KindOf(err) != fault.ParseError {
				t.Fatalf("%q: %v", source, err)
			}
			return
		}
		if _, err := Transform(p.Code, QuickJS); err != nil {
			t.Fatalf("%q became\n%s\n%v", source, p.Code, err)
		}
	})
}

func BenchmarkTransform(b *testing.B) {
	const source = "interface R { a: number }\nconst r: R = await tools.gh.get({ a: 1 });\nconst b = r.a + 1;\nb"
	for b.Loop() {
		if _, err := Transform(source, QuickJS); err != nil {
			b.Fatal(err)
		}
	}
}
