package shelf

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	esbuild "github.com/evanw/esbuild/pkg/api"

	"tenon/daemon/internal/fault"
)

const full = `#!/usr/bin/env -S tenon run
// Copyright: nobody
/* a licence */
/**
 * Reports what happened.
 * In two lines.
 *
 * @param {"day" | "week"} span - how far back
 * @param {number} [limit=10] most rows
 *   of the report
 * @param {string[]} [tags=["a","b"]]
 * @param {boolean=} quiet
 * @param {object} input.filter
 * @param title a text
 * @param {string} [mark='x'] - one
 * @example tenon run report --param span=day
 * @example
 *   await run("report", { span: "week" })
 *   // twice
 * @engine deno
 * @timeout 30s
 * @sandbox read-only
 * @author somebody
 */
import x from "./x"
/** @param {number} other */
export default 1
`

func TestAHeaderSaysWhatAScriptTakes(t *testing.T) {
	h := ParseHeader(full)
	if h.Problem != "" || h.Description != "Reports what happened.\nIn two lines." || h.Engine != "deno" || h.Timeout != 30*time.Second || h.Sandbox != "read-only" {
		t.Errorf("%+v", h)
	}
	if len(h.Examples) != 2 || h.Examples[1] != "await run(\"report\", { span: \"week\" })\n  // twice" {
		t.Errorf("%q", h.Examples)
	}
	x := Script{Name: "team/report", Header: h}
	const want = `run("team/report", { span: "day" | "week"; limit?: number; tags?: string[]; quiet?: boolean; filter: object; title: string; mark?: string }): Promise<any>`
	if got := x.Signature(); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	if p := h.Params[1]; string(p.Default) != "10" || p.Description != "most rows of the report" || p.Required {
		t.Errorf("%+v", p)
	}
}

func TestHeadersInOtherForms(t *testing.T) {
	for _, c := range []struct{ source, description, engine, problem string }{
		{"1", "", "", ""},
		{"// Counts.\n// @engine node\n1", "Counts.", "node", ""},
		{"\ufeff// @engine bun\nimport a from './a'\n/**\n * Above the export.\n */\nexport default 1", "Above the export.", "bun", ""},
		{"/** One line. */ 1", "One line.", "", ""},
		{"// @engine v8\n1", "", "", `@engine: "v8" is none of`},
		{"// @engine auto\n1", "", "", ""},
		{"// @timeout soon\n1", "", "", "@timeout"},
		{"// @param {date} d\n1", "", "", `@param d: the type "date"`},
		{"// @param {number} [n=many]\n1", "", "", "@param n: the default many"},
		{"// @param {number} n\n// @param {number} n\n1", "", "", "@param n is there twice"},
		{"// @param {number} 9lives\n1", "", "", "@param"},
		{"/* never closed", "", "", ""},
		{"const a = '/** @engine deno */'", "", "", ""},
	} {
		h := ParseHeader(c.source)
		if h.Description != c.description || h.Engine != c.engine || !strings.HasPrefix(h.Problem, c.problem) || c.problem == "" && h.Problem != "" {
			t.Errorf("%q: %+v", c.source, h)
		}
	}
}

func TestParametersBecomeTheInput(t *testing.T) {
	h := ParseHeader(full)
	got, err := h.Input(map[string]string{"span": "day", "title": "5", "limit": "3", "filter": `{"a":12345678901234567890}`, "quiet": "true"}, json.RawMessage(`{"limit":1,"mark":"m"}`))
	const want = `{"filter":{"a":12345678901234567890},"limit":3,"mark":"m","quiet":true,"span":"day","tags":["a","b"],"title":"5"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	for _, c := range []struct {
		params map[string]string
		input  string
		want   string
	}{
		{nil, "", "the parameter span, filter, title is missing"},
		{map[string]string{"span": "year"}, "", `the parameter span must be one of "day" | "week", not "year"`},
		{map[string]string{"limit": "ten"}, "", `the parameter limit must be a number, not "ten"`},
		{map[string]string{"quiet": "yes"}, "", `the parameter quiet must be true or false`},
		{map[string]string{"tags": "a"}, "", `the parameter tags must be a JSON array (string[])`},
		{map[string]string{"lmit": "1"}, "", `the script has no parameter "lmit": did you mean limit?`},
		{nil, `{"limit":"1"}`, `the parameter limit must be a number, not "1"`},
		{nil, `{"titel":"1"}`, `did you mean title`},
		{nil, `[1]`, `the input must be an object, not [1]`},
	} {
		_, err := h.Input(c.params, json.RawMessage(c.input))
		f := fault.From(err)
		if f == nil || f.Kind != fault.UsageError || !strings.Contains(f.Message, c.want) || !strings.Contains(f.Hint, `span ("day" | "week", required), limit (number, default 10)`) {
			t.Errorf("%v %s: %+v", c.params, c.input, f)
		}
	}
}

func TestAScriptWithoutParametersGetsItsInputAsItIs(t *testing.T) {
	h := ParseHeader("1")
	if got, err := h.Input(nil, json.RawMessage(`[1]`)); err != nil || string(got) != `[1]` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := h.Input(map[string]string{"a": "1"}, nil); fault.KindOf(err) != fault.UsageError {
		t.Errorf("%v", err)
	}
}

func TestTypesReadWordsAndHoldValues(t *testing.T) {
	for _, c := range []struct{ kind, word, value string }{
		{"", "5", `"5"`}, {"string", " a ", `" a "`}, {"number", "1e3", "1e3"}, {"number", "0x1", ""}, {"number", "NaN", ""},
		{"integer", "3", "3"}, {"int", "3.5", ""}, {"bool", "false", "false"}, {"any", "a", `"a"`}, {"*", "[1]", "[1]"},
		{"json", "a", ""}, {"object", "{}", "{}"}, {"object", "[]", ""}, {"Array<number>", "[1,2]", "[1,2]"}, {"number[]", `["a"]`, ""},
		{"(1|2)", "2", "2"}, {"'a'|true", "true", "true"}, {"'a'|\"b|c\"", "b|c", `"b|c"`}, {"'a'|\"b\"", "c", ""}, {`("a"|"b")[]`, `["a"]`, `["a"]`}, {`("a"|"b")[]`, `["c"]`, ""},
	} {
		k, known := ParseType(c.kind)
		got, err := k.Read(c.word)
		if !known || string(got) != c.value || (err == nil) != (c.value != "") {
			t.Errorf("%s of %q: %s, %v, known %v", c.kind, c.word, got, err, known)
		}
	}
	for _, kind := range []string{"date", "[]", "'a'|", "|", "{a: 1}", "string|number"} {
		if _, known := ParseType(kind); known {
			t.Errorf("%q is taken for a type", kind)
		}
	}
}

func TestDeclarationsAlwaysParse(t *testing.T) {
	h := ParseHeader(full)
	h.Description = "ends */ here ` ${x}"
	h.Params = append(h.Params, Param{Name: "with-dash", Type: Type{}, Description: "*/"})
	for _, x := range []Script{{Name: "a"}, {Name: "team/report", Header: h}} {
		text := x.Declaration() + "interface SavedScripts {\n" + x.Member() + "}\n"
		if r := esbuild.Transform(text, esbuild.TransformOptions{Loader: esbuild.LoaderTS, LogLevel: esbuild.LogLevelSilent}); len(r.Errors) > 0 {
			t.Errorf("%s\n%v", text, r.Errors[0].Text)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	f.Add(full)
	f.Add("// @param {'a'|} [x=\n/** @param")
	f.Fuzz(func(t *testing.T, source string) {
		x := Script{Name: "a", Header: ParseHeader(source)}
		text := x.Declaration()
		if r := esbuild.Transform(text, esbuild.TransformOptions{Loader: esbuild.LoaderTS, LogLevel: esbuild.LogLevelSilent}); len(r.Errors) > 0 {
			t.Errorf("%q\n%s\n%v", source, text, r.Errors[0].Text)
		}
	})
}

// A file can hold anything, and every list reads its header.
func TestAHeaderOfAnythingIsReadInABoundedTime(t *testing.T) {
	for name, source := range map[string]string{
		"lines":       strings.Repeat("//\n", maxFile/3),
		"array types": "// @param {string" + strings.Repeat("[]", maxFile/2-20) + "} x",
		"parentheses": "// @param {" + strings.Repeat("(", maxFile/2-20) + strings.Repeat(")", maxFile/2-20) + "} x",
		"description": "// @param {string} x " + strings.Repeat("word ", maxFile/6),
		"stars":       "/**\n" + strings.Repeat(" *\n", maxFile/3-10) + "*/",
		"no end":      strings.Repeat("/** @param ", maxFile/11),
		"later":       "1;\n/**\n" + strings.Repeat(" * @param {any} x\n", maxFile/18-10) + "*/",
	} {
		began := time.Now()
		h := ParseHeader(source)
		s := Script{Name: "x", Header: h}
		size := len(s.Declaration()) + len(s.Signature()) + len(s.Member()) + len(h.Description)
		if took := time.Since(began); took > 10*time.Second || size > maxHeader {
			t.Errorf("%s: %s, %d bytes", name, took, size)
		}
	}
}
