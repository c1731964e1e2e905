package typecheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/sandbox"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.HelperCommand {
		fakeserver.Exit(sandbox.HelperMain(os.Args[2:], os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

const types = `declare const tools: {
  fake: { echo(args: { text: string; times?: number }): Promise<{ said: string }> };
  [server: string]: any;
};
declare const fake: typeof tools.fake;
declare const args: string[];
declare const input: any;
`

// programs are checked alike by every checker; each costs a second, so that one
// holds several things. Mistakes are LINE:COLUMN CODE.
var programs = []struct {
	name, source string
	module       bool
	file         string
	want         []string
}{

	{name: "nothing wrong", source: strings.Join([]string{
		"#!/usr/bin/env tenon", "const r = await fake.echo({text: \"a\"});", "if (!r) return 1;",
		"function f(a) { try { return a.b } catch (e) { return e.message } }", "f({b: 1});",
		"const u = new URL('a:b'); setTimeout(() => {}, 1);",
		"console.log(u.host, crypto.randomUUID(), new AbortController().signal.aborted);",
		"namespace N { export const a = 1 }", "enum E { A }", "declare function g(): void;",
		"await tools.other.thing({any: N.a + E.A});", "const args = 1, search = 2;", "[args, search].map((x) => ({x}))",
	}, "\n")},
	{name: "mistakes", source: strings.Join([]string{
		"fake.echo({txt: 1});", "await tools.fake.echo({});", "", "  awaiit(status);",
		"namespace N { export const a: string = 1 }", "const f = (): number => {", "};",
		"(await fake.echo({text: ''})).sad;", "return await fake.echo({text: 1})",
	}, "\n"), want: []string{"1:12 2561", "2:23 2345", "4:3 2304", "4:10 2304", "5:28 2322", "6:15 2355", "8:31 2551", "9:25 2322"}},
	{name: "module", module: true, source: strings.Join([]string{
		"export const a = await fake.echo({text: 'x'});",
		"export default async function (input: {n: number}, {args}: {args: string[]}) {", "  return fake.echo({text: input.n});", "}",
	}, "\n"), want: []string{"3:21 2322"}},
	{name: "JavaScript file", file: "job.js", source: "const o = {}; o.a = 1;\nfake.echo({txt: o.a})", want: []string{"2:12 2561"}},
}

func TestEveryCheckerNamesTheSameMistakesInTheSourceAsWritten(t *testing.T) {
	for kind, place := range map[string]func(*testing.T) Place{"tsc": project, "deno": withDeno} {
		t.Run(kind, func(t *testing.T) {
			c, at := checker(t, Options{}), place(t)
			for _, p := range programs {
				t.Run(p.name, func(t *testing.T) {
					r, err := c.Check(context.Background(), Request{Source: p.source, Module: p.module, Name: p.file, Types: types, Place: at})
					if err != nil {
						t.Fatal(err)
					}
					if !strings.HasPrefix(r.Checker, kind) {
						t.Errorf("checked by %s", r.Checker)
					}
					var got []string
					for _, d := range r.Diagnostics {
						got = append(got, fmt.Sprintf("%d:%d %d", d.Line, d.Column, d.Code))
					}
					if strings.Join(got, ", ") != strings.Join(p.want, ", ") {
						t.Errorf("got %v, want %v: %+v", got, p.want, r.Diagnostics)
					}
				})
			}
		})
	}
}

// A checker may read more than a program: nothing that a program refers to comes
// back in its words.
func TestAProgramReadsNoFileThroughItsChecker(t *testing.T) {
	for name, place := range map[string]func(*testing.T) Place{"tsc": project, "deno": withDeno} {
		t.Run(name, func(t *testing.T) {
			p := place(t)
			c := checker(t, Options{})
			for file, text := range map[string]string{
				"secret.ts":   "export default { password: 'hunter2' as const }",
				"secret.d.ts": "declare const SECRET: 'hunter2';",
				"secret.json": `{"hunter2": "hunter2"}`,
				"plain.ts":    "hunter2 is here",
			} {
				if err := os.WriteFile(filepath.Join(p.Dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			source := strings.ReplaceAll(`/// <reference path="DIR/secret.d.ts" />
/// <reference types="DIR/secret.d.ts" />
// @deno-types="DIR/secret.d.ts"
type A = typeof import("DIR/secret");
type B = typeof import("DIR/secret.ts");
type C = typeof import("file://DIR/secret.ts");
type D = typeof import("../../../../../../../../../../../../DIR/secret.ts");
type E = typeof import("DIR/plain.ts");
declare const a: A, b: B, c: C, d: D, e: E;
const all: number[] = [a.default, b.default, c.default, d.default, e.other, SECRET, await import("DIR/secret.json", { with: { type: "json" } })];
all`, "DIR", p.Dir)
			for _, module := range []bool{false, true} {
				text := source
				if module {
					text += "\nexport {}"
				}
				for _, process := range []bool{false, true} {
					report, err := c.Check(t.Context(), Request{Source: text, Module: module, Types: types, Process: process, Place: p})
					if words := fmt.Sprint(report, err); strings.Contains(words, "hunter2") || err != nil {
						t.Errorf("module %v, process %v: %s", module, process, words)
					}
				}
			}
		})
	}
}

func TestProcessEnginesHaveTheirRuntimesGlobalsAndModules(t *testing.T) {
	c, at := checker(t, Options{}), project(t)
	source := "import { readFile } from \"node:fs/promises\";\nexport default process.argv.length + (await readFile(\"x\")).length + fake.echo({txt: 1})"
	r, err := c.Check(context.Background(), Request{Source: source, Module: true, Types: types, Process: true, Place: at})
	if err != nil || len(r.Diagnostics) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, d := range r.Diagnostics {
		if d.Line != 2 || d.Column < 60 {
			t.Errorf("unexpected: %+v", d)
		}
	}
}

func TestAStrictFailureNamesTheFirstMistakesWithTheirPlaces(t *testing.T) {
	c, at := checker(t, Options{}), project(t)
	source := "fake.echo({text: 1});\n" + strings.Repeat("fake.echo({txt: 1});\n", 14)
	r, err := c.Check(context.Background(), Request{Source: source, Types: types, Place: at})
	if err != nil {
		t.Fatal(err)
	}
	e := r.Failure()
	if e == nil || e.Kind != fault.TypeCheckError || *e.Position != (fault.Position{Line: 1, Column: 12}) {
		t.Fatalf("%+v", e)
	}
	lines := strings.Split(e.Message, "\n")
	if lines[0] != "Type 'number' is not assignable to type 'string' (TS2322)" || len(lines) != Shown+1 ||
		!strings.HasPrefix(lines[1], "2:12: Object literal") || lines[Shown] != "and 5 more" {
		t.Errorf("%q", lines)
	}
	if w := r.Warnings(); len(w) != Shown+1 || !strings.HasPrefix(w[0], "1:12: Type") || w[Shown] != "and 5 more" {
		t.Errorf("%q", w)
	}
	if (&Report{}).Failure() != nil {
		t.Error("nothing wrong is a failure")
	}
}

func TestWithoutACheckerItSaysWhereItLooked(t *testing.T) {
	c := checker(t, Options{})
	dir := t.TempDir()
	_, err := c.Check(context.Background(), Request{Source: "1", Place: Place{Dir: dir, Workspace: dir, Env: map[string]string{"PATH": t.TempDir()}}})
	e := fault.From(err)
	if e == nil || e.Kind != fault.TypeCheckError {
		t.Fatalf("%+v", e)
	}
	for _, want := range []string{"node_modules/typescript of " + dir, "tsc in PATH", "deno in PATH"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("%q is not in %q", want, e.Message)
		}
	}
	if !strings.Contains(e.Hint, "npm install --global typescript") {
		t.Errorf("hint: %q", e.Hint)
	}
}

func TestNothingOfAProjectWithoutTrustIsExecuted(t *testing.T) {
	at := project(t)
	at.Trusted = false
	bin := filepath.Join(at.Dir, "bin") // of the project, and in the caller's PATH
	proof := filepath.Join(t.TempDir(), "executed")
	shellScript(t, filepath.Join(bin, "tsc"), "echo > "+proof)
	at.Env = map[string]string{"PATH": bin + ":" + at.Env["PATH"]}
	// What else PATH has is not the project's: the directory of node may hold a tsc.
	_, err := checker(t, Options{}).Check(context.Background(), Request{Source: "1", Place: at})
	if err != nil && (!strings.Contains(err.Error(), "the project is not trusted") || !strings.Contains(err.Error(), bin)) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(proof); !errors.Is(err, os.ErrNotExist) {
		t.Error("the project's tsc was executed")
	}
}

func TestAProjectsCheckerReachesOnlyItsOwnFiles(t *testing.T) {
	if err := sandbox.Probe().Holds(sandbox.ReadOnly); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := project(t)
	c := checker(t, Options{Executable: self})
	// The real one works under it.
	r, err := c.Check(context.Background(), Request{Source: "fake.echo({text: 1})", Types: types, Place: at})
	if err != nil || len(r.Diagnostics) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	// One that is up to something does not get far.
	if err := os.RemoveAll(filepath.Join(at.Dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	secret, proof := filepath.Join(at.Dir, "secret.txt"), filepath.Join(at.Dir, "proof.txt")
	if err := os.WriteFile(secret, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	evil := filepath.Join(at.Dir, "node_modules", "typescript", "bin", "tsc")
	shellScript(t, evil, "")
	source := fmt.Sprintf("const fs = require('fs');\nfor (const f of [() => fs.readFileSync(%q), () => fs.writeFileSync(%q, 'x')])\n"+
		"  try { f(); console.log('program.ts(1,1): error TS1: it could') } catch (e) { console.log('program.ts(1,1): error TS2: ' + e.code) }", secret, proof)
	if err := os.WriteFile(evil, []byte(source), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		c    *Checker
		want int
	}{"confined": {c, 2}, "not confined": {checker(t, Options{}), 1}} {
		r, err := c.c.Check(context.Background(), Request{Source: "1", Place: at})
		if err != nil || len(r.Diagnostics) != 2 || r.Diagnostics[0].Code != c.want || r.Diagnostics[1].Code != c.want {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestACheckerThatFailsIsNoPass(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"crash":          {"echo out of memory >&2; exit 134", "failed: out of memory"},
		"silent":         {"exit 3", "failed: it said nothing"},
		"its own config": {"echo \"$PWD/tsconfig.json(1,2): error TS5023: Unknown compiler option 'x'.\"; exit 1", "failed: tsconfig.json(1,2): error TS5023: Unknown compiler option 'x'."},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := checker(t, Options{}).Check(context.Background(), Request{Source: "1", Place: double(t, c.body)})
			if fault.KindOf(err) != fault.TypeCheckError || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestACheckIsBoundedAndEndsWithItsRun(t *testing.T) {
	forever := "sleep 1000 & sleep 1000"
	_, err := checker(t, Options{Timeout: 300 * time.Millisecond}).Check(context.Background(), Request{Source: "1", Place: double(t, forever)})
	if fault.KindOf(err) != fault.TypeCheckError || !strings.Contains(err.Error(), "has not ended within 300ms") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := fault.New(fault.Cancelled, "enough")
	at := double(t, "echo > started; "+forever)
	c := checker(t, Options{})
	go func() {
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if found, _ := filepath.Glob(filepath.Join(c.o.Dir, "*", "started")); len(found) > 0 {
				break
			}
		}
		cancel(why)
	}()
	if _, err := c.Check(ctx, Request{Source: "1", Place: at}); err != why {
		t.Errorf("%v", err)
	}
}

func TestTheSameCheckIsMadeOnce(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	c, at := checker(t, Options{}), double(t, "echo x >> "+count)
	check := func(source, types string) {
		t.Helper()
		if _, err := c.Check(context.Background(), Request{Source: source, Types: types, Place: at}); err != nil {
			t.Fatal(err)
		}
	}
	check("1", "a")
	check("1", "a")
	check("2", "a")
	check("1", "b")
	if raw, _ := os.ReadFile(count); len(raw) != len("x\nx\nx\n") {
		t.Errorf("%q", raw)
	}
	// Another state of the checker is another checker.
	shellScript(t, strings.Split(at.Env["PATH"], ":")[0]+"/tsc", "echo xx >> "+count)
	check("1", "a")
	if raw, _ := os.ReadFile(count); !strings.HasSuffix(string(raw), "xx\n") {
		t.Errorf("%q", raw)
	}
}

func TestACheckerSeesNothingSecret(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "env")
	at := double(t, "env > "+seen)
	at.Env["SECRET_TOKEN"], at.Env["HOME"] = "s3cret", "/nowhere"
	if _, err := checker(t, Options{}).Check(context.Background(), Request{Source: "1", Place: at}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(seen)
	if err != nil || strings.Contains(string(raw), "s3cret") || !strings.Contains(string(raw), "HOME=/nowhere") {
		t.Errorf("%s, %v", raw, err)
	}
}
