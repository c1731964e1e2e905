package advice

import (
	"strings"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

var servers = []engine.Namespace{
	{Name: "fake", Global: true, Server: "fake", Tools: map[string]string{"echo": "echo", "ask_roots": "ask-roots"}},
	{Name: "git_hub", Global: true, Server: "git-hub"},
}

// Each line is what one of the engines says: V8, JavaScriptCore, QuickJS.
func TestEveryEngineSaysTheSame(t *testing.T) {
	for _, c := range []struct {
		source, name, message string
		column                int
		want                  string
	}{
		{"await tools.fake_echo({ text: 1 })", "TypeError", "tools.fake_echo is not a function", 13, "tools.fake_echo is not a function"},
		{"await tools.fake_echo({ text: 1 })", "TypeError", "tools.fake_echo is not a function. (In 'tools.fake_echo({ text: \"x\" })', 'tools.fake_echo' is an instance of ProxyObject)", 13, "tools.fake_echo is not a function"},
		{"await tools.fake_echo({ text: 1 })", "TypeError", "not a function", 13, "tools.fake_echo is not a function"},
		{"x.a?.b['c'](1)", "TypeError", "not a function", 6, "x.a?.b['c'] is not a function"},
		{"f(x)", "TypeError", "not a function", 1, "f is not a function"},
		{"(await search(x)).map(f)", "TypeError", "not a function", 19, "(intermediate value).map is not a function"},
		{"new f(x)", "TypeError", "not a function", 5, "not a function"},
		{"r.items.length", "TypeError", "Cannot read properties of undefined (reading 'length')", 9, "Cannot read properties of undefined (reading 'length')"},
		{"r.items.length", "TypeError", "undefined is not an object (evaluating 'r.items.length')", 3, "Cannot read properties of undefined (reading 'length')"},
		{"r.items.length", "TypeError", "cannot read property 'length' of undefined", 1, "Cannot read properties of undefined (reading 'length')"},
		{"r.a = 1", "TypeError", "cannot set property 'a' of null", 1, "Cannot set properties of null (setting 'a')"},
		{"a = 2", "TypeError", "'a' is read-only", 1, "Assignment to constant variable."},
		{"  total += n;", "TypeError", "'total' is read-only", 1, "Assignment to constant variable."},
		{"a = 2", "TypeError", "Attempted to assign to readonly property.", 1, "Assignment to constant variable."},
		{"a.b = 2", "TypeError", "'b' is read-only", 1, "'b' is read-only"},
		{"for (const x of r) f(x)", "TypeError", "value is not iterable", 17, "r is not iterable"},
		{"for (const x of r) f(x)", "TypeError", "{} is not iterable", 12, "r is not iterable"},
		{"1n + 1", "TypeError", "Invalid mix of BigInt and other type in multiplication.", 1, mixedBigInt},
		{"fake", "ReferenceError", "fake is not initialized", 1, "Cannot access 'fake' before initialization"},
		{"fake", "ReferenceError", "Cannot access 'fake' before initialization.", 1, "Cannot access 'fake' before initialization"},
		{"fake", "ReferenceError", "'x' is not defined", 1, "x is not defined"},
		{"f()", "RangeError", "Maximum call stack size exceeded.", 1, stackOverflow},
		{"f()", "AggregateError", ": Error: one", 1, "All promises were rejected: Error: one"},
		{"f()", "Error", "not a function", 1, "not a function"},
	} {
		words, _ := Program{Source: c.source}.Exception(c.name, c.message, &fault.Position{Line: 1, Column: c.column})
		if words != c.want {
			t.Errorf("%s in %q: %q, want %q", c.message, c.source, words, c.want)
		}
	}
}

func TestEachMistakeIsToldWhatToWrite(t *testing.T) {
	for _, c := range []struct {
		source, name, message string
		line, column          int
		hint                  string // part of it; empty: none
	}{
		{"const r = tools.fake.echo({});\nr.items.length", "TypeError", "cannot read property 'length' of undefined", 2, 1, "r is a promise: did you forget await before tools.fake.echo(…)?"},
		{"const r = fake.echo({});\nfor (const x of r) {}", "TypeError", "r is not iterable", 2, 17, "did you forget await before fake.echo(…)?"},
		{"const { items } = fake.echo({});\nitems.map(f)", "TypeError", "cannot read property 'map' of undefined", 2, 1, "items is a promise: did you forget await"},
		{"async function get() { return 1 }\nconst r = get();\nr.a.b", "TypeError", "cannot read property 'b' of undefined", 3, 1, "did you forget await before get(…)?"},
		{"const get = async () => 1;\nconst r = get();\nr.a.b", "TypeError", "cannot read property 'b' of undefined", 3, 1, "did you forget await before get(…)?"},
		{"const r = await fake.echo({});\nr.map(f)", "TypeError", "not a function", 2, 3, "look at what fake.echo returned"},
		{"const r: any = (await fake.echo({})).x;\nr.map(f)", "TypeError", "not a function", 2, 3, "look at what fake.echo returned"},
		{"await fake.echo({ a: f(1) }).items.length", "TypeError", "cannot read property 'length' of undefined", 1, 7, "(await fake.echo(…))"},
		{"let r = f(); r.map(f)", "TypeError", "not a function", 1, 14, ""},
		{"async function f() {\n  const { items } = await fake.list();\n}\nconst items = f();\nitems.map(x)\nconst items2 = 1", "TypeError", "not a function", 5, 7, "did you forget await before f(…)?"},
		{"tools.fake({})", "TypeError", "not a function", 1, 7, "fake holds tools: call one of them, as tools.fake.<tool>(args); there are ask_roots, echo"},
		{"fake({})", "TypeError", "not a function", 1, 1, "fake holds tools"},
		{"tools('fake.echo')", "TypeError", "not a function", 1, 1, "the namespaces are fake, git_hub"},
		{"tools.fake_echo({})", "TypeError", "not a function", 1, 7, "did you mean tools.fake.echo?"},
		{"tools.mcp__git-hub__x({})", "ReferenceError", "mcp__git is not defined", 1, 1, ""},
		{"tools.mcp__git_hub__list_issues({})", "TypeError", "not a function", 1, 7, "did you mean tools.git_hub.list_issues?"},
		{"mcp__fake__ask_roots({})", "ReferenceError", "mcp__fake__ask_roots is not defined", 1, 1, "did you mean tools.fake.ask_roots?"},
		{"tools.echo({})", "TypeError", "not a function", 1, 7, "did you mean tools.fake.echo?"},
		{"echo({})", "ReferenceError", "echo is not defined", 1, 1, "did you mean tools.fake.echo?"},
		{"tools.callTool('x')", "TypeError", "not a function", 1, 7, "call(server, tool, args)"},
		{"callTool('x')", "ReferenceError", "callTool is not defined", 1, 1, "call(server, tool, args)"},
		{"await tools.git-hub.list({})", "ReferenceError", "hub is not defined", 1, 17, "write tools.git_hub.list"},
		{"await git-hub.list-issues({})", "ReferenceError", "git is not defined", 1, 7, "write tools.git_hub.list_issues"},
		{"await tools.fake.ask-roots({})", "ReferenceError", "roots is not defined", 1, 22, "write tools.fake.ask_roots"},
		{"const fake = await fake.echo()", "ReferenceError", "fake is not initialized", 1, 20, "write tools.fake"},
		{"f(x &lt; 3)", "ReferenceError", "lt is not defined", 1, 6, "HTML entities"},
		{"lt", "ReferenceError", "lt is not defined", 1, 1, ""},
		{"const [, ref] = /a(b)/.exec(text);", "TypeError", "cannot read property 'Symbol.iterator' of null", 1, 15, "nothing matched"},
		{"const [, ref] = /a(b)/.exec(text);", "TypeError", "object null is not iterable (cannot read property Symbol(Symbol.iterator))", 1, 17, "nothing matched"},
		{"const t = await fake.echo({});\nconst [, ref] = /a(b)/.exec(t);", "TypeError", "cannot read property 'Symbol.iterator' of null", 1, 20, "nothing matched"},
		{"const ref = text.match(/a(b)/)[1];", "TypeError", "cannot read property '1' of null", 1, 31, "nothing matched"},
		{"const m = text.match(/a(b)/);\nf(m[1]);", "TypeError", "cannot read property '1' of null", 2, 4, "nothing matched"},
		{"const m = f(1);\nf(m.a);", "TypeError", "cannot read property 'a' of null", 2, 4, ""},
		{"const [a] = await fake.echo({});", "TypeError", "cannot read property 'Symbol.iterator' of undefined", 1, 11, "look at what fake.echo returned"},
		{"require('fs')", "ReferenceError", "require is not defined", 1, 1, "a confined program has no modules"},
		{"a = 2", "TypeError", "'a' is read-only", 1, 1, "declare it with let"},
		{"JSON.parse(await fake.echo({}))", "SyntaxError", "unexpected token", 1, 17, "leave JSON.parse away"},
		{"const r = await fake.echo({});\nJSON.parse(r)", "SyntaxError", "unexpected token", 2, 5, "leave JSON.parse away"},
		{"JSON.parse(text)", "SyntaxError", "unexpected token", 1, 5, "the text is not JSON"},
	} {
		_, hint := Program{Source: c.source, Confined: true, Namespaces: servers}.Exception(c.name, c.message, &fault.Position{Line: c.line, Column: c.column})
		if !strings.Contains(hint, c.hint) || (c.hint == "") != (hint == "") {
			t.Errorf("%q: %q, want %q", c.source, hint, c.hint)
		}
	}
}

// What a call gives is told where it is known: by the tool's signature, and of
// the globals.
func TestWhatACallGivesIsTold(t *testing.T) {
	types := map[string]string{
		"fake.echo":      "tools.fake.echo(args: { text: string }): Promise<{ content: string }>",
		"fake.ask_roots": "tools.fake.ask_roots(): Promise<unknown>",
		"git_hub.page":   "tools.git_hub.page(): Promise<string> /* learned */",
	}
	for _, c := range []struct {
		source, name, message string
		line, column          int
		hint                  string
	}{
		{"const r = await fake.echo({});\nr.map(f)", "TypeError", "not a function", 2, 3, "fake.echo gives { content: string }: use that, or look with log(r)"},
		{"const r = await tools.fake.ask_roots({});\nr.map(f)", "TypeError", "not a function", 2, 3, "look at what tools.fake.ask_roots returned before you use its parts: log(r)"},
		{"JSON.parse(await fake.echo({}))", "SyntaxError", "unexpected token", 1, 17, "fake.echo gives { content: string }, parsed already: leave JSON.parse away, or give it a text that is in there"},
		{"JSON.parse(await git_hub.page())", "SyntaxError", "unexpected token", 1, 17, "git_hub.page gives a text that is no JSON: log it, and take the part that is"},
		{"(await search('x')).map(f)", "TypeError", "not a function", 1, 21, "search gives { items, total, remaining, next }, each item with signature and path: use that, or look with log(await search(…))"},
		{"const r = await resources.read('a://b');\nr.contents[0].text", "TypeError", "cannot read property '0' of undefined", 2, 3, "resources.read gives the content itself: a text, or what its JSON says: use that, or look with log(r)"},
		{"const b = r.find(f);\nb.data.length", "TypeError", "cannot read property 'length' of undefined", 2, 3, keptBytes},
	} {
		p := Program{Source: c.source, Confined: true, Namespaces: servers, Signature: func(path string) string { return types[path] }}
		if _, hint := p.Exception(c.name, c.message, &fault.Position{Line: c.line, Column: c.column}); hint != c.hint {
			t.Errorf("%q: %q, want %q", c.source, hint, c.hint)
		}
	}
}

// The same name needs other advice where a program reaches more.
func TestOtherEnginesHaveWhatIsMissing(t *testing.T) {
	at := &fault.Position{Line: 1, Column: 1}
	for name, want := range map[string]string{"fs": `await import("node:fs")`, "process": "", "document": "no browser", "module": "exports nothing"} {
		if _, hint := (Program{Source: name}).Exception("ReferenceError", name+" is not defined", at); !strings.Contains(hint, want) || (want == "") != (hint == "") {
			t.Errorf("%s: %q", name, hint)
		}
	}
	if _, hint := (Program{Source: "fetch()", Confined: true, Fetch: true}).Exception("ReferenceError", "axios is not defined", at); hint != "use fetch" {
		t.Error(hint)
	}
}

// What stands at a place may be anything.
func FuzzException(f *testing.F) {
	f.Add("await tools.fake({})\n", "TypeError", "not a function", 1, 7)
	f.Add("const r = a((", "TypeError", "cannot read property '(' of undefined", 1, 1)
	f.Fuzz(func(t *testing.T, source, name, message string, line, column int) {
		Program{Source: source, Namespaces: servers}.Exception(name, message, &fault.Position{Line: line, Column: column})
		Program{Source: source}.Exception(name, message, nil)
	})
}
