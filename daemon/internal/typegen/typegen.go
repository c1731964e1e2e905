// Package typegen writes TypeScript for tools: declarations of whole servers
// that always parse, whatever a server calls a schema, and one-line signatures.
// It follows JSON Schema from draft 4 to 2020-12 and what servers write beside
// it. It reads no file and no network, and its work is bounded: what is too
// deep, too large or cannot be followed becomes unknown, with a warning.
package typegen

// Bounds of one schema. They are far above what servers write by hand.
const (
	maxSchema   = 1 << 20  // bytes; a larger schema is unknown
	maxDepth    = 64       // levels of nesting in a schema
	maxNodes    = 20_000   // subschemas that are looked at
	maxDefs     = 500      // schemas that get a name of their own
	maxLiterals = 100      // values of an enum that are written out
	maxTuple    = 32       // places of a tuple
	maxTool     = 64 << 10 // bytes of one tool's declaration; then without descriptions, then without its insides
	maxText     = 4 << 20  // bytes of a whole answer; the tools beyond have no types
	maxDoc      = 4096     // characters of a tool's description
	maxNote     = 1024     // characters of a property's
	maxValue    = 200      // characters of a default or an example
	maxWarnings = 50       // that are kept of one answer
	wide        = 100      // columns that an object may take on one line
)

// Tool is one tool to declare.
type Tool struct {
	Name        string // the server's own
	Ident       string // what a program writes; an identifier, distinct within its namespace
	Title       string
	Description string
	Input       []byte // JSON Schema of the arguments; empty: none given
	Output      []byte // JSON Schema of the result; empty: none given
	Learned     int    // 0: the server declares Output; else it was made from so many results
}

// Namespace is the tools of one server.
type Namespace struct {
	Server string // its own name
	Name   string // in programs; an identifier, distinct among all
	Bare   bool   // Name is also a global of its own
	Listed bool   // false: nobody knows its tools
	Tools  []Tool
}
