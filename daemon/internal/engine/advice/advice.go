// Package advice says what the author of a program can do about an exception
// that an engine threw. It knows the mistakes that programs are written with:
// it reads the source where the exception was thrown, and gives its message in
// words that are the same on every engine.
package advice

import (
	"regexp"
	"strings"
	"sync"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// Program is whose exceptions are explained.
type Program struct {
	Source     string             // as its author wrote it
	Confined   bool               // it runs on the embedded engine: no modules, no files
	Fetch      bool               // the embedded engine's fetch is there
	Input      bool               // it was given an input
	Module     bool               // it has exports
	Namespaces []engine.Namespace // what tools offers

	// Signature is a tool by its path (ns.tool) as search shows it; empty where it
	// is not known. Nil: nobody can be asked.
	Signature func(path string) string
}

// Exception gives the message of an exception of that name, thrown at a place of
// the source (nil: not known), in the words of V8, which most authors know; and
// what to do about it, empty where that is not known.
func (p Program) Exception(name, message string, at *fault.Position) (words, hint string) {
	s := spot{p, at}
	words = s.words(name, message)
	switch name {
	case "ReferenceError":
		return words, s.reference(words)
	case "TypeError":
		return words, s.misuse(words)
	case "RangeError":
		switch {
		case words == stackOverflow:
			return words, "a recursion does not end, or goes deeper than a few thousand calls"
		case s.Confined && strings.HasPrefix(words, "the locale "):
			return words, "format it yourself, or run it on an engine that knows other languages: deno, bun or node"
		}
	case "SyntaxError":
		return words, s.syntax()
	}
	return words, ""
}

// reference is the hint for a name that is not there, or not yet.
func (s spot) reference(words string) string {
	if name, ok := between(words, "Cannot access '", "' before initialization"); ok {
		if s.namespace(name) != nil {
			return "the declaration of " + name + " hides the namespace of that name: give it another name, or write tools." + name
		}
		return "it is used above its declaration, or in it: move the declaration up, or give one of the two another name"
	}
	name, ok := between(words, "", " is not defined")
	if !ok {
		if strings.HasPrefix(words, "the module ") {
			return modules
		}
		return ""
	}
	if entities[name] && strings.Contains(s.line(), "&"+name+";") {
		return "the code holds HTML entities such as &" + name + "; – write the characters that they stand for"
	}
	if written, path := s.hyphen(name); path != "" {
		return "- is minus in " + written + ": write " + path
	}
	if hint := s.foreign(name); hint != "" {
		return hint
	}
	if path := s.path(name); path != "" {
		return "did you mean " + path + "?"
	}
	if callers[strings.ToLower(name)] {
		return callHint
	}
	return ""
}

// misuse is the hint for a value that is not what it is used as.
func (s spot) misuse(words string) string {
	if callee, ok := between(words, "", " is not a function"); ok {
		if object := s.receiver(); object != "" {
			return s.value(object)
		}
		return s.notFunction(callee)
	}
	if of, property, ok := readOf(words); ok {
		object := s.objectOf(property)
		if of == "null" && s.matches(object) {
			return unmatched
		}
		if object == "" {
			return ""
		}
		if hint := s.value(object); hint != "" || !ofBytes().MatchString(object) {
			return hint
		}
		return keptBytes
	}
	if _, suffix, ok := strings.Cut(words, " is not iterable "); ok && suffix == noIterator {
		// QuickJS gives the place of the statement before.
		if s.matches(s.initializer()) || takenApart().MatchString(s.Source) {
			return unmatched
		}
		return s.value(s.initializer())
	}
	if object, ok := between(words, "", " is not iterable"); ok {
		return s.value(object)
	}
	switch {
	case words == constant:
		return "declare it with let, or give the new value another name"
	case words == mixedBigInt:
		return "an integer beyond 2^53 arrives as a BigInt: write 1n, or convert it with Number(x)"
	case words == jsonBigInt:
		return "a result may hold BigInt as it is; for JSON.stringify write String(x)"
	case destructured().MatchString(words) && s.Module && !s.Input:
		return "a default export is called with (input, { args }), and no input was given"
	case destructured().MatchString(words):
		return s.value(s.initializer())
	}
	return ""
}

// syntax is the hint for what JSON.parse or another reader of text threw.
func (s spot) syntax() string {
	argument, ok := s.parsed()
	if !ok {
		return ""
	}
	origin, awaited, _ := s.origin(argument)
	switch {
	case origin == "":
		return "the text is not JSON: log it first, or catch the error"
	case !awaited:
		return s.value(argument)
	}
	switch shape := s.shape(origin); shape {
	case "":
		return "what a tool returns is an object already where it is JSON: leave JSON.parse away, or log what " + origin + " returned"
	case "string":
		return origin + " gives a text that is no JSON: log it, and take the part that is"
	default:
		return origin + " gives " + shape + ", parsed already: leave JSON.parse away, or give it a text that is in there"
	}
}

// notFunction is the hint for a call of what is no function.
func (s spot) notFunction(callee string) string {
	if callee == "tools" {
		return "a tool is called as tools.<namespace>.<tool>(args): " + s.example()
	}
	parts := chain(callee)
	if len(parts) > 0 && parts[0] == "tools" {
		parts = parts[1:]
	}
	switch {
	case len(parts) == 1 && s.namespace(parts[0]) != nil:
		return s.toolsOf(s.namespace(parts[0]))
	case len(parts) == 1 && callers[strings.ToLower(parts[0])] && callee != parts[0]:
		return callHint
	case len(parts) == 1 && callee != parts[0]:
		if path := s.path(parts[0]); path != "" {
			return "did you mean " + path + "?"
		}
		return "a tool is called as tools.<namespace>.<tool>(args): " + s.example()
	case len(parts) > 2 && s.namespace(parts[0]) != nil && strings.HasPrefix(callee, "tools"):
		return "a path to a tool has three parts: tools." + parts[0] + "." + "<tool>(args)"
	}
	if object := s.holder(callee); object != "" {
		return s.value(object)
	}
	return ""
}

// value is the hint for an expression that is not what it was taken for, by what
// it comes from: a call that was not awaited, or what a tool returned.
func (s spot) value(expression string) string {
	origin, awaited, direct := s.origin(expression)
	switch {
	case origin == "":
		return ""
	case awaited:
		seen := clip(root(expression), 60)
		if direct {
			seen = "await " + origin + "(…)"
		}
		if shape := s.shape(origin); shape != "" {
			return origin + " gives " + shape + ": use that, or look with log(" + seen + ")"
		}
		return "look at what " + origin + " returned before you use its parts: log(" + seen + ")"
	case direct:
		return "the call gives a promise, and await reaches only to its end in parentheses: (await " + origin + "(…))"
	}
	return clip(root(expression), 60) + " is a promise: did you forget await before " + origin + "(…)?"
}

func between(s, before, after string) (string, bool) {
	s, ok := strings.CutPrefix(s, before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, after)
}

// once compiles a pattern when it is needed first.
func once(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
