package call

import (
	"fmt"

	"tenon/daemon/internal/catalog"
)

// material is what clients of MCP call the requests for what servers offer
// besides tools, and how a program and a shell write them.
var material = []struct{ name, program, shell string }{
	{"list_resources", "resources.list(%q)", "tenon resources %s"},
	{"list_resource_templates", "resources.templates(%q)", "tenon resources %s"},
	{"read_resource", "resources.read(uri, { server: %q })", "tenon resources read URI --server %s"},
	{"list_prompts", "prompts.list(%q)", "tenon prompts %s"},
	{"get_prompt", "prompts.get(name, args, { server: %q })", "tenon prompts get NAME --server %s"},
}

// elsewhere says how that is reached which was asked of a server's tools and is
// none: saved scripts, resources and prompts. Empty where it is something else.
func elsewhere(req *Request, server, tool string) string {
	where := ""
	if req.Lone {
		where = " in a program"
	}
	if server == catalog.ScriptSpace {
		if req.shell() {
			return "saved scripts are run as tenon run NAME"
		}
		return fmt.Sprintf("a saved script is run as run(%q, input)", tool) + where
	}
	for _, m := range material {
		if !catalog.Same(tool, m.name) {
			continue
		}
		if req.shell() {
			return "that is no tool: " + fmt.Sprintf(m.shell, server)
		}
		return "that is no tool: " + fmt.Sprintf(m.program, server) + where
	}
	return ""
}
