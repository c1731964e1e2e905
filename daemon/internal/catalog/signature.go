package catalog

import "tenon/daemon/internal/typegen"

// Signature is the short form of a tool's type as a program calls it:
//
//	tools.fs.read(args: { path: string; head?: number }): Promise<unknown>
//
// Parts that are too deep or too long become "object" or "unknown".
func Signature(namespace string, t *Tool) string {
	s := t.shorten()
	return Path(namespace, t.Ident) + "(" + s.param + "): Promise<" + s.result + ">"
}

// Short is the signature as a catalogue shows it, where every line costs: the
// identifier, the arguments, and the type of the result where there is one.
func (t *Tool) Short() string {
	s := t.shorten()
	if s.result == "unknown" {
		return t.Ident + "(" + s.param + ")"
	}
	return t.Ident + "(" + s.param + "): " + s.result
}

// shortTypes are the types of a signature.
type shortTypes struct{ param, result string }

func (t *Tool) shorten() *shortTypes {
	t.short.Do(func() { t.types.param, t.types.result = typegen.Signature(t.InputSchema, t.OutputSchema) })
	return &t.types
}

// Path is how a program writes a tool.
func Path(namespace, ident string) string { return "tools." + namespace + "." + ident }

// example is a call with what must be given filled in, and how much that is.
func (t *Tool) example(namespace string) (call string, parameters int) {
	args, parameters := typegen.Example(t.InputSchema)
	return "await " + Path(namespace, t.Ident) + "(" + args + ")", parameters
}
