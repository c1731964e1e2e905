package module

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine/process"
)

// lines is a standard error that can be looked at while it is written.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// rig is one module on one engine.
type rig struct {
	*Source
	t      testing.TB
	dir    string
	stderr *lines
}

// runtimes is the PATH of the tests: what test/run installs, else what the
// machine has.
func runtimes() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../../../../test/runtimes/node_modules/.bin") + string(filepath.ListSeparator) + os.Getenv("PATH")
}

func newRig(t testing.TB, engine string, files map[string]string, change ...func(*config.KindSpec)) *rig {
	t.Helper()
	if engine != "embedded" {
		if _, err := process.Find(context.Background(), engine, runtimes(), ""); err != nil {
			t.Skipf("not tested here: %v", err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: t.TempDir(), stderr: &lines{}}
	for name, text := range files {
		r.write(name, text)
	}
	spec := &config.KindSpec{Kind: config.KindModule, Name: "m", Module: &config.ModuleSpec{File: filepath.Join(r.dir, "tools.ts"), Engine: engine}}
	if engine != "embedded" {
		spec.Sandbox = "full" // what the machine of the tests can hold is tested elsewhere
	}
	for _, f := range change {
		f(spec)
	}
	if r.Source, err = New(Options{Spec: spec, Executable: self, Compile: compileArg, Environ: []string{"PATH=" + runtimes(), "HOME=" + r.dir}, Stderr: r.stderr}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// says is the result of a call as text, with "error: " before a failure's.
func (r *rig) says(tool, arguments string) string {
	r.t.Helper()
	result, err := r.Call(r.t.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		r.t.Fatalf("%s: %v", tool, err)
	}
	if result.IsError {
		return "error: " + result.Content[0].(*mcp.TextContent).Text
	}
	if result.StructuredContent == nil {
		return ""
	}
	return string(result.StructuredContent.(json.RawMessage))
}

func (r *rig) want(tool, arguments, want string) {
	r.t.Helper()
	if got := r.says(tool, arguments); got != want {
		r.t.Errorf("%s(%s) = %s, want %s; stderr: %s", tool, arguments, got, want, r.stderr.text())
	}
}

func (r *rig) list() string {
	r.t.Helper()
	tools, err := r.Tools(r.t.Context())
	if err != nil {
		return "error: " + err.Error()
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

var engines = []string{"embedded", process.Deno, process.Bun, process.Node}

func TestExportedFunctionsAreTools(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine, map[string]string{
				"tools.ts": `
import { double } from "./lib/math.js";
import data from "./data.json";
export const version = 1;
export class Thing {}
/** Adds. @readOnly */
export function add(a: number, b: number = 2): number { return a + b }
export async function twice({ n }: { n: number }) { return { n: double(n), from: data.name } }
export const join = (separator: string, ...words: string[]) => words.join(separator);
export function big(n: bigint): bigint { return n * 2n }
export function nothing(): void { console.warn("said", 1) }
export async function* count(to: number) { for (let i = 1; i <= to; i++) yield i }
export function fails(): never { throw new RangeError("too far") }
export function throwsText() { throw "just text" }
export function cyclic() { const a: any = {}; a.a = a; return a }
export default function main() {}
const hidden = () => 1;
function dashed() { return "ok" }
export { dashed as "with-dash", hidden as shown };
`,
				"lib/math.ts": `export const double = (n: number): number => n * 2`,
				"data.json":   `{"name": "file"}`,
			})
			if got := r.list(); got != "add twice join big nothing count fails throwsText cyclic with-dash shown" {
				t.Fatalf("tools: %s; %s", got, r.stderr.text())
			}
			r.want("add", `{"a": 1}`, `3`)
			r.want("add", `{"a": 1, "b": 40}`, `41`)
			r.want("twice", `{"n": 4}`, `{"n":8,"from":"file"}`)
			r.want("join", `{"separator": "-", "words": ["a", "b"]}`, `"a-b"`)
			r.want("join", `{"separator": "-"}`, `""`)
			r.want("big", `{"n": 9007199254740993}`, `18014398509481986`)
			r.want("big", `{"n": "2"}`, `4`)
			r.want("nothing", `{}`, ``)
			if !strings.Contains(r.stderr.text(), "warn: said 1") {
				t.Errorf("stderr: %s", r.stderr.text())
			}
			r.want("count", `{"to": 3}`, `[1,2,3]`)
			r.want("with-dash", `{}`, `"ok"`)
			if got := r.says("fails", `{}`); !strings.HasPrefix(got, "error: RangeError: too far (tools.ts:13:") {
				t.Errorf("fails: %s", got)
			}
			if got := r.says("throwsText", `{}`); !strings.Contains(got, "threw") || !strings.Contains(got, "just text") {
				t.Errorf("throwsText: %s", got)
			}
			if got := r.says("cyclic", `{}`); !strings.HasPrefix(got, "error: ") {
				t.Errorf("cyclic: %s", got)
			}
			if got := r.says("gone", `{}`); !strings.Contains(got, `exports no function "gone"`) {
				t.Errorf("gone: %s", got)
			}
		})
	}
}

func TestStateLivesAsLongAsTheProcess(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine, map[string]string{"tools.ts": `let n = 0; export const next = () => ++n; export const die = () => { (globalThis as any).process?.exit(3); return 0 }`})
			r.want("next", `{}`, `1`)
			if engine == "embedded" {
				r.want("next", `{}`, `1`) // a fresh realm each
				return
			}
			r.want("next", `{}`, `2`)
			if got := r.says("die", `{}`); !strings.Contains(got, "process ended during the call") || !strings.Contains(got, "is lost") {
				t.Errorf("die: %s", got)
			}
			r.want("next", `{}`, `1`)
		})
	}
}

func TestRuntimesHaveTheirOwnModulesAndEmbeddedHasNone(t *testing.T) {
	files := map[string]string{"tools.ts": "import { basename } from 'node:path';\nimport fs from 'fs';\nexport const base = (path: string) => basename(path) + typeof fs.readFileSync"}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine, files)
			if engine == "embedded" {
				if got := r.list(); !strings.Contains(got, `tools.ts:1:26: the embedded engine has no module "node:path"`) {
					t.Errorf("%s", got)
				}
				return
			}
			r.want("base", `{"path": "/a/b"}`, `"bfunction"`)
		})
	}
}

func TestAModuleCallsNoToolsAndReachesNothing(t *testing.T) {
	r := newRig(t, "embedded", map[string]string{"tools.ts": `
export const other = async () => await (globalThis as any).call("s", "t", {});
export const net = () => typeof (globalThis as any).fetch;
export const process = () => typeof (globalThis as any).process;`})
	if got := r.says("other", `{}`); !strings.Contains(got, "a module cannot use other tools") {
		t.Errorf("%s", got)
	}
	r.want("net", `{}`, `"undefined"`)
	r.want("process", `{}`, `"undefined"`)
}

// eventually waits for a condition, on slow machines too.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-time.After(5 * time.Millisecond) // another look at the condition
	}
}

func TestAnEditIsReadAtOnceAndABrokenOneKeepsTheLastGood(t *testing.T) {
	for _, engine := range []string{"embedded", process.Node} {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine, map[string]string{"tools.ts": `import { v } from "./lib"; export const f = () => v; export const bad = () => { throw new Error("x") }`, "lib.ts": `export const v = 1`})
			r.want("f", `{}`, `1`)
			r.write("lib.ts", `export const v = 2`)
			r.want("f", `{}`, `2`)
			select {
			case <-r.Changed(): // though it was a call that saw it
			case <-time.After(20 * time.Second):
				t.Error("nobody was told")
			}
			r.write("tools.ts", "import { v } from './lib';\nexport const f = () => v +;\n")
			r.want("f", `{}`, `2`)
			if got := r.says("bad", `{}`); !strings.Contains(got, "Error: x") || !strings.Contains(got, "before its last change") || !strings.Contains(got, "tools.ts:2:27") {
				t.Errorf("%s", got)
			}
			if got := config.KindProblemIn(strings.Split(strings.TrimSpace(r.stderr.text()), "\n")); !strings.Contains(got, "tools.ts:2:27: Unexpected") {
				t.Errorf("problem %q in %s", got, r.stderr.text())
			}
			if got := r.list(); got != "f bad" {
				t.Errorf("tools %s", got)
			}
			r.write("tools.ts", "export const g = () => 'new'")
			r.want("g", `{}`, `"new"`)
			if got := r.list(); got != "g" {
				t.Errorf("tools %s", got)
			}
			if got := config.KindProblemIn(strings.Split(strings.TrimSpace(r.stderr.text()), "\n")); got != "" {
				t.Errorf("problem %q", got)
			}
		})
	}
}

func TestTheWatchTellsOfAnEditWithoutACall(t *testing.T) {
	r := newRig(t, "embedded", map[string]string{"tools.ts": `export const f = () => 1`})
	if got := r.list(); got != "f" {
		t.Fatal(got)
	}
	r.write("tools.ts", `export const h = () => 1`)
	select {
	case <-r.Changed():
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was told")
	}
	if got := r.list(); got != "h" {
		t.Errorf("tools %s", got)
	}
}

func TestACallThatGoesOnEndsOnTheCodeThatItBeganOn(t *testing.T) {
	r := newRig(t, process.Node, map[string]string{"tools.ts": `
let go: (v: number) => void; const wait = new Promise<number>(r => { go = r });
export const f = async () => { console.warn("begun"); return await wait };
export const free = () => { go(1); return true };`})
	done := make(chan string, 1)
	if got := r.list(); got != "f free" {
		t.Fatal(got)
	}
	result := func(tool string) string {
		out, err := r.Call(context.Background(), tool, json.RawMessage(`{}`))
		if err != nil {
			return err.Error()
		}
		return out.Content[0].(*mcp.TextContent).Text
	}
	old := r.current
	go func() { done <- result("f") }()
	eventually(t, "the call has begun", func() bool { return strings.Contains(r.stderr.text(), "begun") })
	r.write("tools.ts", `export const g = () => 2`)
	r.want("g", `{}`, `2`)
	if _, err := old.runner.call(t.Context(), job{Tool: "free", Input: json.RawMessage(`{}`)}); err != nil {
		t.Errorf("the old code is gone while it is in use: %v", err)
	}
	if got := <-done; got != "1" {
		t.Errorf("the call that went on: %s", got)
	}
}

func TestACallThatNeverEndsIsGivenUp(t *testing.T) {
	for _, engine := range []string{"embedded", process.Node} {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine, map[string]string{"tools.ts": `export const spin = () => { console.warn("spins"); for (;;); }; export const f = () => 1`})
			r.want("f", `{}`, `1`)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := r.Call(ctx, "spin", json.RawMessage(`{}`))
				done <- err
			}()
			eventually(t, "it spins", func() bool { return engine != "embedded" || strings.Contains(r.stderr.text(), "spins") })
			cancel()
			if err := <-done; err == nil {
				t.Error("it returned")
			}
			// The next call finds another process, once the first was found to be deaf.
			eventually(t, "the module answers again", func() bool { return r.says("f", `{}`) == "1" })
		})
	}
}

func TestFilesThatNobodyTrustedAreNotRead(t *testing.T) {
	files := map[string]string{"tools.ts": `import { v } from "./lib"; export const f = () => v`, "lib.ts": `export const v = 1`, "other.ts": `export const v = 3`}
	r := newRig(t, "embedded", files, func(k *config.KindSpec) {
		dir := filepath.Dir(k.Module.File)
		k.Pins = map[string]string{}
		for _, name := range []string{"tools.ts", "lib.ts"} {
			k.Pins[filepath.Join(dir, name)], _ = digest(filepath.Join(dir, name))
		}
	})
	r.want("f", `{}`, `1`)
	r.write("lib.ts", `export const v = 2`)
	r.want("f", `{}`, `1`) // the last good one
	if !strings.Contains(r.stderr.text(), "lib.ts changed since it was trusted; look at it, then run tenon trust") {
		t.Errorf("stderr: %s", r.stderr.text())
	}
	r.write("lib.ts", `export const v = 1`)
	r.write("tools.ts", `import { v } from "./other"; export const f = () => v`)
	r.want("f", `{}`, `1`)
	r.write("tools.ts", files["tools.ts"])
	r.want("f", `{}`, `1`)
	if got := r.stderr.text(); !strings.Contains(got, "tools.ts changed since") {
		t.Errorf("stderr: %s", got)
	}
}
