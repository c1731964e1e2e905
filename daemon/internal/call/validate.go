package call

import (
	"fmt"
	"strings"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
)

// validate checks the arguments against the tool's schema. Whoever gave them
// gets the mistakes in the schema's words and the form of a right call.
func (c *call) validate() error {
	if c.tool == nil {
		return nil // after the lease the list is there, and this comes again
	}
	bad, note := c.tool.CheckInput(c.args)
	if note != "" {
		c.warn("SchemaUnusable", fmt.Sprintf("%s/%s: %s", c.server.Name, c.toolName, note))
	}
	if len(bad) == 0 {
		return nil
	}
	e := fault.New(fault.InvalidToolInput, "%s/%s: %s", c.server.Name, c.toolName, wordsOf(bad, "arguments")).At(c.server.Name, c.toolName)
	e.Pointer = bad[0].Pointer
	hint := "call it as " + c.form()
	for i, one := range bad {
		about := c.tool.Property(one.Pointer)
		if about == "" || i > 0 && one.Pointer == bad[i-1].Pointer {
			continue
		}
		if hint += "; " + strings.TrimPrefix(one.Pointer, "/") + ": " + clip(about, 200); len(hint) > maxHint {
			break
		}
	}
	return e.WithHint("%s", hint)
}

// maxHint is where a hint takes up no further description, in bytes.
const maxHint = 1000

// wordsOf tells mistakes in one line; whole is the name of the value itself.
func wordsOf(bad []catalog.Violation, whole string) string {
	parts := make([]string, len(bad))
	for i, one := range bad {
		at := one.Pointer
		if at == "" {
			at = whole
		}
		parts[i] = at + ": " + one.Message
		if one.Advice != "" {
			parts[i] += " (" + one.Advice + ")"
		}
	}
	return strings.Join(parts, "; ")
}

// form is a call of the tool as its caller writes one: a program, a shell, or
// who gives server, tool and arguments as JSON.
func (c *call) form() string {
	switch {
	case !c.req.Lone:
		return catalog.Signature(c.p.namespaces.of(c.req.View).names[c.server.Name], c.tool)
	case c.req.shell():
		return c.tool.CommandLine(c.server.Name)
	}
	return "arguments: " + c.tool.Arguments()
}

// shell reports whether a call was made by tenon call.
func (r *Request) shell() bool { return r.Lone && r.Caller != nil && r.Caller.Surface == "cli" }
