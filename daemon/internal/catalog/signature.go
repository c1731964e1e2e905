package catalog

import "tenon/daemon/internal/typegen"

// Signature is the short form of a tool's type as a program calls it:
//
//	tools.fs.read(args: { path: string; head?: number }): Promise<unknown>
//
// Parts that are too deep or too long become "object" or "unknown". A result
// that the server does not declare has the type that was learned, and says so.
func Signature(namespace string, t *Tool) string {
	s := t.shorten()
	result, mark := s.Result, ""
	if learned := t.ResultType(); learned != result {
		result, mark = learned, " /* learned */"
	}
	return Path(namespace, t.Ident) + "(" + s.Param + "): Promise<" + result + ">" + mark
}

// Short is the signature as a catalogue shows it, where every line costs: the
// identifier, the arguments, and the type of the result where the server
// declares one. A learned type may change with any call, and a catalogue only
// when a definition does.
func (t *Tool) Short() string {
	s := t.shorten()
	if s.Result == "unknown" {
		return t.Ident + "(" + s.Param + ")"
	}
	return t.Ident + "(" + s.Param + "): " + s.Result
}

// shorten makes the short form once: it costs more than all that is done with it.
func (t *Tool) shorten() *typegen.Signature {
	t.short.Do(func() { t.signature = typegen.Short(t.InputSchema, t.OutputSchema) })
	return &t.signature
}

// Path is how a program writes a tool.
func Path(namespace, ident string) string { return "tools." + namespace + "." + ident }

// example is a call with what must be given filled in, and how much that is.
func (t *Tool) example(namespace string) (call string, needed int) {
	s := t.shorten()
	return "await " + Path(namespace, t.Ident) + "(" + s.Example + ")", s.Needed
}
