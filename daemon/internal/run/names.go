package run

import (
	"slices"
	"strings"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// globals are the names of a program that are easily misspelt.
var globals = []string{"tools", "call", "search", "describe", "resources", "prompts", "emit", "log", "console", "args", "input", "session", "sleep", "run", "stdin", "ToolError"}

// hintName names the nearest server or global for a name that nothing has.
func hintName(e *fault.Error, namespaces []engine.Namespace) {
	if e == nil || e.Hint != "" {
		return
	}
	name, ok := strings.CutPrefix(e.Message, "ReferenceError: ")
	if !ok {
		return
	}
	name, ok = strings.CutSuffix(name, " is not defined")
	if name = strings.Trim(name, "'"); !ok || len(name) < 4 {
		return
	}
	names := slices.Clone(globals)
	for _, n := range namespaces {
		names = append(names, n.Name)
	}
	// A slip keeps the first letter; what does not is a variable of the program.
	if near := catalog.Nearest(name, names, 1); len(near) == 1 && near[0][0] == name[0] {
		e.WithHint("did you mean %s?", near[0])
	}
}
