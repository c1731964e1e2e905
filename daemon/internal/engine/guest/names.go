package guest

import (
	"maps"
	"slices"

	"tenon/daemon/internal/engine"
)

// Names leads from what a program writes to the names on the wire. A name that
// is not known passes through: the host knows how to refuse it.
type Names struct {
	byName   map[string]*engine.Namespace
	byServer map[string]*engine.Namespace
}

// NewNames reads the namespaces of a program.
func NewNames(list []engine.Namespace) Names {
	n := Names{make(map[string]*engine.Namespace, len(list)), make(map[string]*engine.Namespace, len(list))}
	for i := range list {
		n.byName[list[i].Name] = &list[i]
		n.byServer[list[i].Server] = &list[i]
	}
	return n
}

// Wire resolves both halves of tools.<space>.<tool>, or of call(space, tool).
func (n Names) Wire(space, tool string) (server, wireTool string) {
	ns := n.byName[space]
	if ns == nil {
		ns = n.byServer[space]
	}
	if ns == nil {
		return space, tool
	}
	if wire, ok := ns.Tools[tool]; ok {
		return ns.Server, wire
	}
	return ns.Server, tool
}

// Tools lists the identifiers of a namespace.
func (n Names) Tools(space string) []string {
	ns := n.byName[space]
	if ns == nil {
		ns = n.byServer[space]
	}
	if ns == nil || len(ns.Tools) == 0 {
		return []string{}
	}
	return slices.Sorted(maps.Keys(ns.Tools))
}
