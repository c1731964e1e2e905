// Package process is the engines that are programs of their own: deno, bun and
// node. It finds them, starts one for each run, confined by package sandbox and
// in a process group of its own, speaks with it over two inherited pipes, and
// ends it with everything below it.
//
// It is used by the daemon and by the command line, so it imports nothing that
// belongs to the daemon alone.
package process

import (
	"log/slog"

	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/script"
)

// The names of the engines, as a user writes them.
const (
	Deno = "deno"
	Bun  = "bun"
	Node = "node"
)

// Names lists the engines in the order in which they are shown.
func Names() []string { return []string{Deno, Bun, Node} }

// Options of an Engine. Name, Record, Compiler, Executable and Dir are required.
type Options struct {
	Name string // Deno, Bun or Node
	// Record starts the processes.
	Record *proctree.Record
	// Compiler makes programs of sources; it may serve several engines.
	Compiler *script.Compiler
	// Executable is this program's own binary, for the helper that confines.
	Executable string
	// Dir is where each run gets a directory of its own, which ends with it. It
	// must be private (0700) and is made when it is missing.
	Dir string
	// Path is searched when the program's own environment has no PATH.
	Path string
	// Binary is used instead of searching; absolute. Empty: searched.
	Binary string
	// Hidden are what no strict mode may reach: tickets, sockets, state.
	Hidden []string
	// Support is what the machine can enforce; nil: sandbox.Probe.
	Support *sandbox.Support
	// Processes is how many runs may have a process at a time; default 16. More
	// wait their turn.
	Processes int
	// Log hears of processes that end oddly; nil: discarded.
	Log *slog.Logger
}
