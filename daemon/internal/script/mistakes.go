package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	esbuild "github.com/evanw/esbuild/pkg/api"

	"tenon/daemon/internal/fault"
)

const noOpening = "a closing brace has no opening one"

// extraBrace is the error for a closing brace that has no opening one, nil where
// there is none. In the body of a function such a brace ends the function, and
// the error comes later.
func extraBrace(source string) *fault.Error {
	r := esbuild.Transform(source, esbuild.TransformOptions{Loader: esbuild.LoaderTS, Target: esbuild.ES2024, LogLevel: esbuild.LogLevelSilent})
	for _, m := range r.Errors {
		if l := m.Location; l != nil && m.Text == `Unexpected "}"` {
			e := fault.New(fault.ParseError, `unexpected "}"`).WithHint("%s; in: %s", noOpening, clip(strings.TrimSpace(l.LineText), 120))
			e.Position = &fault.Position{Line: l.Line, Column: l.Column + 1}
			return e
		}
	}
	return nil
}

// foreignFence is the error for a source that begins with a code fence which is
// not around the whole of a program: as code, that is a template behind an empty
// one, and fails only when it runs.
func foreignFence(source string) *fault.Error {
	rest := strings.TrimLeft(source, " \t\r\n")
	if !strings.HasPrefix(rest, "```") {
		return nil
	}
	first, _, _ := strings.Cut(rest, "\n")
	hint := "give the program alone, without ``` fences"
	switch word := strings.TrimSpace(strings.Trim(first, "` \r")); {
	case strings.Count(rest, "\n```")+1 > 2:
		hint = "there are several blocks of code: give one program, without ``` fences"
	case word != "" && !fence().MatchString(first):
		hint = "a program is TypeScript or JavaScript, not " + clip(word, 40)
	}
	e := fault.New(fault.ParseError, "the program begins with a Markdown code fence").WithHint("%s", hint)
	e.Position = &fault.Position{Line: 1 + strings.Count(source[:len(source)-len(rest)], "\n"), Column: 1}
	return e
}

// mistake is what to do about a source that is not TypeScript, and the line where
// that was found.
func mistake(source, text string, at *esbuild.Location) string {
	line := strings.TrimSpace(at.LineText)
	hint := known(source, text, line, before(at))
	switch {
	case line == "":
		return hint
	case hint == "":
		return "in: " + clip(line, 120)
	}
	return hint + "; in: " + clip(line, 120)
}

// before is the line up to the mistake, and the character that it is about.
func before(at *esbuild.Location) string {
	_, n := utf8.DecodeRuneInString(at.LineText[min(at.Column, len(at.LineText)):])
	return at.LineText[:min(at.Column+n, len(at.LineText))]
}

// looks are patterns of what authors write in place of a program or in it, with
// what to do, the first that fits being told. They are only looked at once the
// source has failed to parse.
type looks struct {
	source, line, head, text string // patterns; empty: not looked at
	hint                     string
}

var mistakes = []looks{
	{source: "(?m)^\\s*```", hint: "give the program alone, without the text around it and without ``` fences"},
	{source: `^\s*(?:<!DOCTYPE|<html|<script|<\?xml)`, hint: "give the program alone, without HTML around it"},
	{line: `&(?:lt|gt|amp|quot|apos|nbsp|#\d+|#x[0-9a-fA-F]+);`, hint: "the code holds HTML entities such as &gt; – write the characters that they stand for"},
	{head: "[\u201c\u201d\u201e\u2018\u2019\u201a\u00ab\u00bb]$", hint: "typographic quotes are no quotes of the language: write \" or '"},
	{head: "[\u2010-\u2015\u2212]$", hint: "this dash is no minus: write -"},
	{head: "\u2026$", hint: "the dots stand for code that was left out: write all of it"},
	{head: "[\u200b-\u200f\u2060\ufeff]$", hint: "an invisible character stands here: remove it"},
	{text: `^Syntax error "[nrt"']"$`, line: `\\[nrt"']`, hint: `the code was escaped twice: it holds the two characters \n where a line should end, or \" where a quote should stand`},
	{line: `^(?:async\s+)?def\s+\w+\s*\(.*:\s*(?:#.*)?$|^(?:elif\b|except\b|from\s+\w+\s+import\b|import\s+\w+(?:\s+as\s+\w+)?$|for\s+\w+\s+in\s+.*:\s*$|if\s+[^({]*:\s*$|with\s+.*:\s*$)`, hint: "a program is TypeScript or JavaScript, not Python"},
	{line: `^(?:\$\s|sudo\s|ls\s+-|cd\s|git\s+\w|npm\s+\w|npx\s|curl\s|cat\s+[\w./-]|grep\s|echo\s|mkdir\s|pip\s|export\s+\w+=|tenon\s+\w)`, hint: "a program is TypeScript or JavaScript, not commands of a shell"},
	{line: `(?:[=(,?:>]|&&|return)\s*<[A-Za-z][\w.]*(?:\s[^<>]*)?/?>|^</?[A-Za-z][\w.]*(?:\s[^<>]*)?/?>`, hint: "there is no JSX here: make markup as text, in backticks"},
	{text: `"await" can only be used inside an "async" function`, hint: "make the function around it async; in place of forEach: for (const x of list) { … }, or await Promise.all(list.map(async (x) => …))"},
	{text: `^Unterminated string literal$`, hint: "a text of several lines stands in backticks"},
	{text: `has already been declared$`, hint: "give it another name, or assign to the first one without const or let"},
	{text: `^Unterminated template literal$`, hint: "a backtick is not closed, or one inside needs a \\ before it"},
	{text: `^Expected .* but found "/"$|^Unterminated regular expression$`, line: `</`, hint: "there is no JSX here: make markup as text, in backticks"},
}

var patterns = sync.OnceValue(func() [][4]*regexp.Regexp {
	out := make([][4]*regexp.Regexp, len(mistakes))
	for i, m := range mistakes {
		for k, pattern := range []string{m.source, m.line, m.head, m.text} {
			if pattern != "" {
				out[i][k] = regexp.MustCompile(pattern)
			}
		}
	}
	return out
})

func known(source, text, line, head string) string {
	if name := wrapped(source); name != "" {
		return fmt.Sprintf("give the program itself, not JSON that holds it as %q", name)
	}
	subjects := [4]string{source, line, head, text}
	for i, m := range patterns() {
		fits := true
		for k, pattern := range m {
			fits = fits && (pattern == nil || pattern.MatchString(subjects[k]))
		}
		if fits {
			return mistakes[i].hint
		}
	}
	return ""
}

// wrapped is the member of a JSON object that holds a program, where the source
// is such an object.
func wrapped(source string) string {
	if !strings.HasPrefix(strings.TrimSpace(source), "{") {
		return ""
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(source), &members) != nil {
		return ""
	}
	for _, name := range []string{"code", "script", "program", "source"} {
		if members[name] != nil {
			return name
		}
	}
	return ""
}
