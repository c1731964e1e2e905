package script

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	esbuild "github.com/evanw/esbuild/pkg/api"

	"tenon/daemon/internal/fault"
)

const (
	mainName = "__main"
	// The program's input and arguments come in as parameters, since the source
	// may have names of its own that hide the globals.
	inputName, argsName = "__input", "__args"

	bodyHead = "async function " + mainName + "() {"
	// codeHead is the one line that stands before esbuild's output.
	codeHead   = "(() => { \"use strict\";\n"
	codeTail   = "\nreturn " + mainName + "; })()"
	moduleHead = codeHead + "async function " + mainName + "(" + inputName + ", " + argsName + ") {\n"
	moduleTail = "}\nreturn () => " + mainName + "(input, args); })()"
)

// Target is what executes a program. Newer syntax is lowered for it.
type Target string

// The targets.
const (
	QuickJS Target = ""         // the embedded engine
	Runtime Target = "runtimes" // deno, bun and node, in every version that is supported
)

// supported lists what a target can do beyond ES2024.
var supported = map[Target]map[string]bool{QuickJS: {"using": true}}

func (t Target) options() esbuild.TransformOptions {
	return esbuild.TransformOptions{
		Loader: esbuild.LoaderTS, Target: esbuild.ES2024, Supported: supported[t], Charset: esbuild.CharsetUTF8,
		LogLevel: esbuild.LogLevelSilent, LegalComments: esbuild.LegalCommentsNone,
		Sourcemap: esbuild.SourceMapExternal, SourcesContent: esbuild.SourcesContentExclude,
	}
}

var (
	moduleLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^[ \t]*(export|import)\b`)
	})
	moduleWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(export|import)\b`)
	})
)

// Transform compiles source in this process. esbuild recurses without a limit
// and cannot be stopped (16 KB of source can take a minute or end the process):
// a Compiler, which uses a process that may die, is for text of others. The
// error is a *fault.Error of kind ParseError with a position.
func Transform(source string, target Target) (*Program, error) {
	return TransformSource(Source{Text: source}, target)
}

// TransformSource is Transform for a source with what goes with it.
func TransformSource(s Source, target Target) (*Program, error) {
	if len(s.Modules) > 0 || s.Export != "" {
		return transformModule(s, target)
	}
	return transformText(s.Text, target)
}

// asModule compiles a text alone as a module.
func asModule(source string, target Target) (*Program, error) {
	return transformModule(Source{Text: source}, target)
}

func transformText(source string, target Target) (*Program, error) {
	source = Plain(source)
	if e := foreignFence(source); e != nil {
		return nil, e
	}
	first, second := transformBody, asModule
	switch {
	case !strings.Contains(source, "import") && !strings.Contains(source, "export"):
		return transformBody(source, target)
	case moduleLine().MatchString(source):
		first, second = second, first
	case !moduleWord().MatchString(source):
		return transformBody(source, target)
	}
	// The words may stand in a string or in import(): the other way is tried
	// too, and the first way's error is the better one.
	p, err := first(source, target)
	if err != nil {
		if p, other := second(source, target); other == nil {
			return p, nil
		}
	}
	return p, err
}

// transformBody makes source the body of the async function, so that await and
// return both work at top level.
func transformBody(source string, target Target) (*Program, error) {
	p := &Program{Above: 1, Skip: 1}
	t, err := p.build(bodyHead+"\n"+source+"\n}", source, target.options())
	if err != nil {
		return nil, err
	}
	at := t.mainAt()
	if at < 0 || t.tokens[at].match != len(t.tokens)-1 {
		if e := extraBrace(source); e != nil {
			return nil, e
		}
		return nil, fault.New(fault.ParseError, `unexpected "}"`).WithHint(noOpening)
	}
	if !t.sole(at+1, t.tokens[at].match) {
		t.list(at+1, t.tokens[at].match, false)
	}
	code, edits := apply(t.code, t.out)
	p.Code, p.Edits = codeHead+code+codeTail, edits
	return p, nil
}

// mainAt is the index of the bracket that opens the async function.
func (t *tail) mainAt() int {
	for i := 0; i+5 < len(t.tokens); i++ {
		if t.tokens[i].first && t.tokens[i].column == 0 && t.text(i) == "async" && t.text(i+2) == mainName {
			return i + 5
		}
		if m := t.tokens[i].match; m > i {
			i = m
		}
	}
	return -1
}

// build runs esbuild on text, which holds source, and reads its output.
func (p *Program) build(text, source string, o esbuild.TransformOptions) (*tail, error) {
	r := esbuild.Transform(text, o)
	if len(r.Errors) > 0 {
		return nil, parseError(source, r.Errors[0], p.Skip)
	}
	var m struct {
		Mappings string `json:"mappings"`
	}
	if err := json.Unmarshal(r.Map, &m); err != nil {
		return nil, fault.New(fault.InternalError, "source map: %w", err)
	}
	p.Mappings = m.Mappings
	t := &tail{code: string(r.Code)}
	var ok bool
	if t.tokens, ok = scan(t.code); !ok {
		return nil, fault.New(fault.InternalError, "the compiled program cannot be read")
	}
	begin := strings.Index(text, source)
	t.again = &again{
		source: text, from: begin, to: begin + len(source), segments: decodeMappings(m.Mappings),
		compile: func(text string) ([]token, string, bool) {
			r := esbuild.Transform(text, o)
			if len(r.Errors) > 0 {
				return nil, "", false
			}
			tokens, ok := scan(string(r.Code))
			return tokens, string(r.Code), ok
		},
	}
	return t, nil
}

// parseError is esbuild's message as a fault; skip is how many lines of ours
// stand before the author's first.
func parseError(source string, m esbuild.Message, skip int) *fault.Error {
	e := fault.New(fault.ParseError, "%s", lowerFirst(m.Text))
	l := m.Location
	if l == nil {
		return e
	}
	last := 1 + strings.Count(source, "\n")
	if l.Line-skip > last { // the closing brace that we put behind the source
		if at := extraBrace(source); at != nil {
			return at
		}
		e.Position = &fault.Position{Line: last, Column: len(source) - strings.LastIndexByte(source, '\n')}
		e.Message, e.Hint = "unexpected end of the program", "a bracket or a brace is not closed"
		return e
	}
	e.Position = &fault.Position{Line: max(1, l.Line-skip), Column: l.Column + 1}
	e.Hint = mistake(source, m.Text, l)
	return e
}

// lowerFirst makes the first letter small, unless the word is an acronym.
func lowerFirst(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	second, _ := utf8.DecodeRuneInString(s[n:])
	if unicode.IsUpper(first) && !unicode.IsUpper(second) {
		return string(unicode.ToLower(first)) + s[n:]
	}
	return s
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
