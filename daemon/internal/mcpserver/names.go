package mcpserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
)

// resolve finds a tool by its flat name, among the lists that are known; only
// when it is in none of them are servers started that were never listed.
func (x *exchange) resolve(name string) (entry, error) {
	known := x.seen()
	if i := slices.IndexFunc(known, func(e entry) bool { return e.name == name }); i >= 0 {
		return known[i], nil
	}
	all, err := x.entries()
	if err != nil {
		return entry{}, err
	}
	names := make([]string, len(all))
	for i, e := range all {
		if e.name == name {
			return e, nil
		}
		names[i] = e.name
	}
	e := fault.New(fault.UnknownTool, "there is no tool %q", name)
	if near := catalog.Nearest(name, names, 3); len(near) > 0 {
		return entry{}, e.WithHint("did you mean %s?", strings.Join(near, ", "))
	}
	return entry{}, e.WithHint("tools/list has the names of all tools")
}

// seen are the tools of all servers that were listed before.
func (x *exchange) seen() []entry {
	servers := listable(x.view)
	lists := make([]*catalog.List, len(servers))
	for i, at := range servers {
		lists[i] = x.c.s.o.Path.Seen(x.ctx, x.request(at.Server))
	}
	return flatten(servers, lists)
}

// unknown is the failure of a call of something that is no tool of code mode.
// Models often call a name of the catalogue directly: the answer says where such
// names live, with a line that can be pasted.
func (x *exchange) unknown(name string, args json.RawMessage) error {
	x.learn(name)
	for _, e := range x.seen() {
		path := catalog.Path(e.at.Namespace, e.tool.Ident)
		if !called(name, e, path) {
			continue
		}
		return fault.New(fault.UnknownTool, "%q is not a tool of its own: the names of the catalogue live inside programs", name).
			At(e.at.Server, e.tool.Name).WithHint("call exec with the code: await %s(%s)", path, argumentText(args))
	}
	var own, known []string
	for _, t := range gateway() {
		own = append(own, t.name)
	}
	e := fault.New(fault.UnknownTool, "there is no tool %q; here are %s", name, strings.Join(own, ", "))
	bare := strings.TrimPrefix(strings.TrimPrefix(name, "tenon_"), "tenon.")
	if slices.Contains(own, bare) {
		return e.WithHint("call %s", bare)
	}
	for _, s := range x.seen() {
		known = append(known, catalog.Path(s.at.Namespace, s.tool.Ident))
	}
	if near := catalog.Nearest("tools."+strings.Replace(name, "_", ".", 1), known, 1); len(near) == 1 {
		return e.WithHint("names of the catalogue live inside programs; call exec with the code: await %s(%s)", near[0], argumentText(args))
	}
	return e.WithHint("names of the catalogue live inside programs, for example exec with the code: await tools.<namespace>.<tool>({}); find them with search")
}

// learn lists the servers that a name may belong to, if they never were.
func (x *exchange) learn(name string) {
	for _, at := range listable(x.view) {
		for _, prefix := range []string{at.Namespace, at.Server} {
			if strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "tenon_"), "tools."), prefix) {
				_, _ = x.c.s.o.Path.Tools(x.ctx, x.request(at.Server)) // its call will say what is wrong with it
				break
			}
		}
	}
}

// near is the failure of an unknown tool of a server that is passed through,
// in the names that its client knows.
func (x *exchange) near(err error, name string) error {
	e := *fault.From(err)
	list := x.c.s.o.Path.Seen(x.ctx, x.request(serverOf(x.view, x.c.mode.server)))
	if e.Kind != fault.UnknownTool || list == nil {
		return err
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	e.Hint = "tools/list has the names of all tools"
	if near := catalog.Nearest(name, names, 3); len(near) > 0 {
		e.Hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return &e
}

// called reports whether a model that writes name means the tool e.
func called(name string, e entry, path string) bool {
	own := e.tool.Name
	for _, form := range []string{
		e.name, path, strings.TrimPrefix(path, "tools."), own, e.tool.Ident,
		e.at.Namespace + "_" + e.tool.Ident, e.at.Namespace + "." + own, e.at.Server + "_" + own,
		e.at.Server + "/" + own, "mcp__" + e.at.Server + "__" + own, e.at.Namespace + "__" + own,
	} {
		if name == form || name == "tenon_"+form {
			return true
		}
	}
	return false
}

// argumentText are the arguments of a failed call, to be pasted.
func argumentText(args json.RawMessage) string {
	const limit = 500
	if len(args) == 0 || len(args) > limit || !json.Valid(args) || string(args) == "null" {
		return "{}"
	}
	return fmt.Sprint(string(args))
}
