package embedded

import (
	"strings"

	"tenon/daemon/internal/engine/guest"
)

// missing says what to use instead of a name that other runtimes have.
var missing = map[string]string{
	"fetch":          network,
	"XMLHttpRequest": network,
	"WebSocket":      network,
	"require":        modules,
	"module":         modules,
	"exports":        modules,
	"process":        confined,
	"Deno":           confined,
	"Bun":            confined,
	"fs":             confined,
	"path":           confined,
	"os":             confined,
	"__dirname":      confined,
	"__filename":     confined,
	"Buffer":         "use TextEncoder, TextDecoder, atob and btoa, or Uint8Array",
	"window":         "there is no browser here; globalThis is the global object",
	"document":       "there is no browser here; use a server's tool",
	"Worker":         confined,
	"WebAssembly":    confined,
}

const (
	network  = "a confined program has no network: use a server's tool"
	modules  = "a confined program has no modules: call a tool as tools.<namespace>.<tool>(args); the engines deno, bun and node have modules"
	confined = "a confined program reaches nothing but tools: use a server's tool, args, input and session; the engines deno, bun and node reach more"
)

// hint says what to do about an exception, where that is known.
func hint(f *guest.Failure) string {
	switch f.Name {
	case "ReferenceError":
		name, _, ok := strings.Cut(f.Message, " is not defined")
		if ok {
			return missing[strings.Trim(name, "'")]
		}
		if strings.HasPrefix(f.Message, "could not load module") || strings.HasPrefix(f.Message, "could not normalize module") {
			return modules
		}
	case "RangeError":
		if f.Message == "Maximum call stack size exceeded" {
			return "a recursion does not end, or goes deeper than about 4,000 calls"
		}
	}
	return ""
}
