package catalog

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/typegen"
	"tenon/daemon/internal/upstream"
)

// compiler is where npm puts the TypeScript of this repository.
const compiler = "../../../node_modules/typescript"

// mistakes writes files into a directory and gives what the TypeScript compiler
// finds wrong with them.
func mistakes(t *testing.T, files map[string]string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("no node in PATH: the TypeScript compiler cannot be asked")
	}
	module, err := filepath.Abs(compiler)
	if err == nil {
		_, err = os.Stat(module)
	}
	if err != nil {
		t.Fatal("no TypeScript compiler: make build installs it")
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(node, "testdata/compile.mjs", module, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("the compiler failed: %v\n%s", err, out)
	}
	return string(out)
}

func listOf(t *testing.T, tools []upstream.Tool) *List {
	t.Helper()
	l, problem := build(tools)
	if problem != "" {
		t.Fatal(problem)
	}
	return l
}

func oddTools(t *testing.T) []upstream.Tool {
	t.Helper()
	data, err := os.ReadFile("testdata/odd.json")
	if err != nil {
		t.Fatal(err)
	}
	var tools []upstream.Tool
	if err := json.Unmarshal(data, &tools); err != nil {
		t.Fatal(err)
	}
	return tools
}

// awkward are words that mean something to JavaScript or TypeScript.
const awkward = `
	abstract any arguments as asserts assert async await bigint boolean break case catch class const constructor continue
	debugger declare default delete do else enum eval export extends false finally for from function get global globalThis
	if implements import in infer instanceof interface intrinsic is keyof let module namespace never new null number object
	of out override package private protected prototype public readonly require return satisfies set static string super
	switch symbol then this throw toString true try type typeof undefined unique unknown using valueOf var void while with
	yield accessor Infinity NaN Object Promise Record Array Map Set Error String Number Partial Iterable Awaited
	process Buffer fetch console exports tools call search log args input session Tools CallOptions Returned`

func TestDeclarationsOfOddSchemasAndNamesCompile(t *testing.T) {
	odd := oddTools(t)
	var named []upstream.Tool
	entries := []Entry{{Server: "odd", List: listOf(t, odd)}, {Server: "unlisted"}, {Server: "empty", List: listOf(t, nil)}}
	for _, word := range strings.Fields(awkward) {
		named = append(named, upstream.Tool{Name: word, InputSchema: odd[10].InputSchema})
		entries = append(entries, Entry{Server: word, List: listOf(t, odd[10:12])})
	}
	entries = append(entries, Entry{Server: "named", List: listOf(t, named)}, Entry{Server: "my server*/", List: listOf(t, odd)})
	servers := make([]string, len(entries))
	for i, e := range entries {
		servers[i] = e.Server
	}
	for i, name := range NamespaceNames(servers) {
		entries[i].Namespace = name
	}
	reader, _ := typegen.Declare(Spaces(entries), typegen.Options{})
	checker, _ := typegen.Declare(Spaces(entries), typegen.Options{Checker: true})
	program := `
export async function main() {
  const tree = await tools.odd.a_tree({ root: { name: "a", children: [{ name: "b" }] } }, { timeout: "5s" });
  const next: object | undefined = tree.node?.next?.next;
  const whole = await odd.a_tree({ root: { name: "a" } }, { raw: true });
  whole.content.map((block) => block.text);
  await tools.odd["a-tree"]({ root: { name: "x" } });
  (await tools.odd["calendar.respondToEvent"]()).anything;
  const read = await odd.documented({ path: "x" });
  const text: string = read.text, own: number | undefined = read.raw;
  (await tools.odd.output_array()).raw.content;
  await tools.unlisted.whatever({ x: 1 });
  await tools.fetch.a_tree({ root: { name: "a" } });
  await tools.fetch["a-tree"]({ root: { name: "a" } });
  const found = await search("words", { limit: 3 });
  log.info(found.items[0].signature, { next }); log("x"); emit(text + own);
  try { await call("a", "b", {}); } catch (e) { if (e instanceof ToolError) e.hint?.length; }
  return [args.length, input.anything, session.runId, await sleep(5)];
}`
	if got := mistakes(t, map[string]string{
		"reader.ts": reader, "checker.ts": checker, "globals.ts": typegen.Globals(),
		"checker-use.ts": `/// <reference path="./checker.ts" />` + program,
	}); got != "" {
		t.Error(got)
	}
	if t.Failed() {
		t.Log(reader)
	}
}

func TestACheckerFindsWrongCalls(t *testing.T) {
	entries := []Entry{{Server: "odd", Namespace: "odd", List: listOf(t, oddTools(t))}}
	checker, _ := typegen.Declare(Spaces(entries), typegen.Options{Checker: true})
	got := mistakes(t, map[string]string{
		"checker.ts": checker, "globals.ts": typegen.Globals(),
		"checker-use.ts": `/// <reference path="./checker.ts" />
odd.a_tree({ root: { nam: "a" } });
odd.nothing({});
odd.mixed_enum({ v: "blue" });
odd.documented({}).then((r) => r.txt);
odd.combined({ all: { x: "a" } });
export {}`,
	})
	for i, code := range []string{"2: TS2561", "3: TS2339", "4: TS2322", "5: TS", "6: TS2345"} {
		if !strings.Contains(got, "checker-use.ts:"+code) {
			t.Errorf("mistake %d was not found", i+1)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}
