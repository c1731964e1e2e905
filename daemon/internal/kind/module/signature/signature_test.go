package signature

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// one describes the function f of a source.
func one(t testing.TB, source string) Function {
	t.Helper()
	return Read("/m.ts", source, []string{"f"}, nil)["f"]
}

func TestParametersBecomeTheInput(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`export function f() {}`, `{"type":"object","properties":{},"additionalProperties":false}`},
		{`export function f(a: string, b?: number, c = true) {}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"},"c":{"type":"boolean","default":true}},"required":["a"],"additionalProperties":false}`},
		{`export async function f(this: X, a: string[], ...b: number[]): Promise<void> {}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array","items":{"type":"number"}}},"required":["a"],"additionalProperties":false}`},
		{`export const f = async (a: "x" | "y" | 3 | null, b: boolean | undefined) => a`,
			`{"type":"object","properties":{"a":{"enum":["x","y",3,null]},"b":{"type":"boolean"}},"required":["a"],"additionalProperties":false}`},
		{`export const f = function* (a: bigint) {}`, `{"type":"object","properties":{"a":{"type":["integer","string"],"pattern":"^-?[0-9]+$"}},"required":["a"],"additionalProperties":false}`},
		{`export const f = a => a`, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`},
		{`const g = (a: -1.5 | 0x10) => 1; export { g as f }`, `{"type":"object","properties":{"a":{"enum":[-1.5,16]}},"required":["a"],"additionalProperties":false}`},
		{`export function f({ a, b = 2 }: { a: string; /** how many */ b?: number }) {}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number","description":"how many"}},"required":["a"],"additionalProperties":false}`},
		{`export function f({ a, b: { c } = {}, "d-e": x }) {}`, `{"type":"object","properties":{"a":{},"b":{},"d-e":{}},"additionalProperties":false}`},
		{`/** Says it.
		   * @param a - the first
		   * @param {number} [b=2] the second
		   */
		  export function f(a: string, b) {}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"the first"},"b":{"type":"number","description":"the second"}},"required":["a"],"additionalProperties":false}`},
		{"export function f(a: string, b = '/* { */', c = `x`) { const re = /[/'\"`{]/g; return `${ {a: `}`} }` }",
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string","default":"/* { */"},"c":{"type":"string","default":"x"}},"required":["a"],"additionalProperties":false}`},
		{`interface In { a: string, readonly b: number[]; c?(): void; "d e": 1; [key: string]: unknown } export function f(x: In) {}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"number"}},"d e":{"const":1}},"required":["a","b","d e"]}`},
		{`interface A { a: string } interface B extends A { b: A } export function f(x: B) {}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}},"required":["a","b"],"additionalProperties":false}`},
		{`interface B extends Unknown { b: 1 } export function f(x: B) {}`, `{"type":"object","properties":{"b":{"const":1}},"required":["b"]}`},
		{`type T = { name: string; children: T[] }; export function f(x: T) {}`,
			`{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/T"}}},"required":["name","children"],"additionalProperties":false,` +
				`"$defs":{"T":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/T"}}},"required":["name","children"],"additionalProperties":false}}}`},
		{`type P<T> = { items: T[]; next?: string }; export function f(x: P<"a">) {}`,
			`{"type":"object","properties":{"items":{"type":"array","items":{"const":"a"}},"next":{"type":"string"}},"required":["items"],"additionalProperties":false}`},
		{`type Maybe<T> = T | undefined; export function f(a: Maybe<string>, b: Maybe<string>[]) {}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array"}},"required":["b"],"additionalProperties":false}`},
		{`enum E { A, B = 5, C } enum S { X = "x", Y = "y" } const enum U { A = 1 << 2 } export function f(a: E, b: S, c: U) {}`,
			`{"type":"object","properties":{"a":{"enum":[0,5,6]},"b":{"enum":["x","y"]},"c":{}},"required":["a","b"],"additionalProperties":false}`},
		{`export function f(a: Record<string, number>, b: Partial<{ x: 1 }>, c: Pick<{ x: 1; y: 2 }, "y">, d: Omit<{ x: 1; y: 2 }, "y">) {}`,
			`{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"number"}},"b":{"type":"object","properties":{"x":{"const":1}},"additionalProperties":false},` +
				`"c":{"type":"object","properties":{"y":{"const":2}},"required":["y"],"additionalProperties":false},"d":{"type":"object","properties":{"x":{"const":1}},"required":["x"],"additionalProperties":false}},"required":["a","b","c","d"],"additionalProperties":false}`},
		{`export function f(a: [x: string, y?: number], b: [1, ...string[]]) {}`,
			`{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false,"maxItems":2,"minItems":1},` +
				`"b":{"type":"array","prefixItems":[{"const":1}],"items":{"type":"string"},"minItems":1}},"required":["a","b"],"additionalProperties":false}`},
		{`export function f(x: { a: 1 } & { b: 2 }) {}`, `{"type":"object","properties":{"a":{"const":1},"b":{"const":2}},"required":["a","b"],"additionalProperties":false}`},
		{`export function f(a: string, b: { [K in "x"]: 1 }, c: typeof a, d: keyof X, e: X["y"], g: (h: 1) => void, i: A extends B ? C : D, j: Set<string>, k: Date, l: import("x").Y) {}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{},"c":{},"d":{},"e":{},"g":{},"i":{},"j":{},"k":{},"l":{}},"required":["a","g","k"],"additionalProperties":false}`},
		{`export function f(a: string): string; export function f(a: number): string; export function f(a: any) { return "" }`, `{"type":"object"}`},
		{`class T { a = 1 } interface T { b: 1 } export function f(x: T) {}`, `{"type":"object","properties":{"x":{}},"additionalProperties":false}`},
		{`export function f<T, U extends string>(a: T, b: U) {}`, `{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false}`},
		{`export function f(a = g<b, c>(1), d: string) {}`, `{"type":"object"}`},
		{`const f2 = (a: string) => a, b = 2; export const f = wrap((a: string) => a)`, `{"type":"object"}`},
		{`export function f(a: string) { return ") }`, `{"type":"object"}`},
	} {
		if got := string(one(t, c.source).Input); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.source, got, c.want)
		}
	}
}

func TestReturnTypesBecomeTheOutput(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`export function f() { return 1 }`, ``},
		{`export function f(): void {}`, ``},
		{`export function f(): string | undefined {}`, ``},
		{`export async function f(): Promise<string> {}`, `{"type":"string"}`},
		{`export const f = async (): Promise<{ a: Date; b?: bigint }> => ({})`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}`},
		{`export function f(): x is string {}`, `{"type":"boolean"}`},
		{`export function f(): (string | undefined)[] {}`, `{"type":"array"}`},
		{`export function f(): Unknown {}`, ``},
		{`/** @returns {number[]} those */ export function f() {}`, `{"type":"array","items":{"type":"number"}}`},
	} {
		if got := string(one(t, c.source).Output); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.source, got, c.want)
		}
	}
}

func TestCommentsDescribeAndAnnotate(t *testing.T) {
	f := one(t, "/**\n * Adds.\n *\n * Twice.\n * @readOnly\n * @deprecated use g\n */\nexport function f(a: string) {}")
	if f.Description != "Deprecated. Adds.\n\nTwice." || !f.ReadOnly || f.Destructive {
		t.Errorf("%+v", f)
	}
}

func TestTypesOfOtherFilesAreFollowed(t *testing.T) {
	files := map[string]string{
		"./types": `import type { Inner } from "./inner"; export interface In { a: Inner } export { Inner as Out } from "./inner"; interface Hidden { b: 1 }`,
		"./inner": `export type Inner = "x" | "y"`,
		"./more":  `export function g(a: number): number { return a }`,
	}
	load := func(_, module string) (string, string, bool) {
		text, ok := files[module]
		return module, text, ok
	}
	source := `import { type In, Out } from "./types"; import * as ns from "./types"; import { Gone } from "elsewhere";
		export * from "./more"; export { g as h } from "./more";
		export function f(x: In): Out {} export function k(x: ns.In, y: Gone) {}`
	got := Read("/m.ts", source, []string{"f", "g", "h", "k"}, load)
	if s := string(got["f"].Input); s != `{"type":"object","properties":{"a":{"enum":["x","y"]}},"required":["a"],"additionalProperties":false}` || string(got["f"].Output) != `{"enum":["x","y"]}` {
		t.Errorf("f: %s, %s", s, got["f"].Output)
	}
	for _, name := range []string{"g", "h"} {
		if s := string(got[name].Input); !strings.Contains(s, `"a":{"type":"number"}`) {
			t.Errorf("%s: %s", name, s)
		}
	}
	if s := string(got["k"].Input); s != `{"type":"object","properties":{"x":{},"y":{}},"additionalProperties":false}` {
		t.Errorf("k: %s", s)
	}
	if names := Names(source, []string{"h", "g", "f", "k"}); strings.Join(names, " ") != "h f k g" {
		t.Errorf("order %v", names)
	}
}

// FuzzRead: no source breaks the reader, and every schema is one.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`interface A<T = string> extends B<T>, C { a?: T | null; [k: string]: any } export async function f<T>({ a, ...b }: A<T> = {}, ...c: [1, 2?][]): Promise<A> {}`,
		"type A = { a: A, b: B }; type B = A & { c: A['x'] }; export const f = (a: A, b: B[] = [], c: `x${string}`): asserts a is B => {}",
		"export enum E { A = -1, B, C = 'x' }; /** @param {{a: number}=} x - y */ export function f(x, y = E.A) {}",
		"export function f(a: Record<'x' | 1, Partial<Pick<Omit<{ x: 1 }, 'x'>, 'y'>>>, b: Required<unknown>) {}",
		"type T<A, B> = { a: T<A[], B>; b: T<B, A> }; export function f(x: T<1, 2>): T<1, 2>[] {}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 4<<10 {
			return
		}
		fn := one(t, source)
		for _, schema := range []json.RawMessage{fn.Input, fn.Output} {
			if schema == nil {
				continue
			}
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
			if err != nil {
				t.Fatalf("%q: %s: %v", source, schema, err)
			}
			c := jsonschema.NewCompiler()
			if err := c.AddResource("s.json", doc); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Compile("s.json"); err != nil {
				t.Fatalf("%q: %s: %v", source, schema, err)
			}
		}
		if fn.Whole != (fn.Parameters == nil) && len(fn.Parameters) > 0 {
			t.Fatalf("%q: %+v", source, fn)
		}
	})
}
