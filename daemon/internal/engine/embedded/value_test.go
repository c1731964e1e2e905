package embedded

import "testing"

func TestLastExpressionIsTheResult(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`1+1`, `2`},
		{`const x: number = 3; x * 2`, `6`},
		{`const x = 3;`, ``},
		{`"just a string"`, `"just a string"`},
		{`return 5`, `5`},
		{`if (1) { return 5 } 6`, `5`},
		{`if (0) { return 5 } 6`, `6`},
		{`({ a: 1, b: [2] })`, `{"a":1,"b":[2]}`},
		{`const r = await gh.get({ a: 1 })` + "\nr", `{"a":1}`},
		{`await gh.get({ a: 1 })`, `{"a":1}`},
		{"gh.get({ a: 1 })", `{"a":1}`},
		{"await Promise.all([1,2,3].map(async (i) => {\n  const r = await gh.get({ i });\n  return r.i;\n}))", `[1,2,3]`},
		{"async function main() {\n  return (await gh.get({z: 9})).z\n}\nmain()", `9`},
		{"const s = `a\n  b;\n${1+1};\n`\ns", `"a\n  b;\n2;\n"`},
		{"`a\n  b;\n  c;\n`", `"a\n  b;\n  c;\n"`},
		{"f(`\n  x;\n`)\nfunction f(s: string) { return s.length }", ``},
		{"const f = (s: string) => s.length\nf(`\n  x;\n  `)", `8`},
		{"let n = 0\nfor (const i of [1,2,3]) { n += i }\nn", `6`},
		{"let n = 0\nfor (const i of [1,2,3]) { n += i }", ``},
		{"enum E { A = 1, B }\ninterface I { x: E }\nconst i: I = { x: E.B }\ni.x", `2`},
		{"const o = { a: 1 } as const satisfies object\no!.a", `1`},
		{"x = 5;\nvar x\nx", `5`},
		{"// c\n1 // d\n// e", `1`},
		{"/re;\\/}/g.test(';')", `false`},
		{"const a = 1\n;[a].length", `1`},
		{"foo: bar()\nfunction bar() {}", ``},
		{"let bar = () => 1\nfoo: bar()", ``},
		{"let bar = () => 1\nbar(), bar() + 1;;", `2`},
		{"if (1) { 3 } else { 4 }", `3`},
		{"if (0) { 3 } else { 4 }", `4`},
		{"if (0) 3; else if (1) 5; else 4", `5`},
		{"if (0) 3", ``},
		{"try { gh.fail({}) } catch { 'caught' }", `"caught"`},
		{"try { 1 } catch { 2 } finally { 3 }", `1`},
		{"{ let a = 1; { a + 1 } }", `2`},
		{"switch (1) { case 1: 5 }", ``},
		{"while (false) 1", ``},
		{"const o = {\n  f() {\n    return `x\n  y;\n`\n  }\n}\no.f()", `"x\n  y;\n"`},
		{"`${await gh.get({})}\n  z;`.length", `20`},
		{"label: for (;;) { break label }\n'done'", `"done"`},
		{"({}) instanceof Object ? 'y' : 'n'", `"y"`},
		{"undefined", ``},
		{"null", `null`},
		{"", ``},
		{"10n ** 20n", `100000000000000000000`},
		{"new Map([['a', new Set([1])]])", `{"a":[1]}`},
		{"await new Promise(r => setTimeout(r, 5, 'late'))", `"late"`},
		{"#!/usr/bin/env tenon\n1", `1`},
		{"export default (input: any, { args }: any) => [input, args]", `[null,[]]`},
		{"(async () => { return 42 })()", `42`},
	} {
		out, _ := execute(t, c.source)
		if out.Err != nil || string(out.Value) != c.want {
			t.Errorf("%q: value %s, error %+v, want %s", c.source, out.Value, out.Err, c.want)
		}
	}
}
