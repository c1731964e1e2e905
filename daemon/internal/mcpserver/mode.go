//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package mcpserver

import (
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
)

// resultBase makes a type of ours a result of the SDK.
type resultBase = mcp.ResultBase

// mode is what a connection shows. It is comparable.
type mode struct {
	flat   bool
	server string // passed through; empty: none
}

// modeOf reads the mode from the path and ?codemode. Other parameters are none
// of ours: hosts add their own.
func modeOf(r *http.Request) mode {
	if server := r.PathValue("server"); server != "" {
		return mode{server: server}
	}
	switch strings.ToLower(r.URL.Query().Get("codemode")) {
	case "false", "0", "off":
		return mode{flat: true}
	}
	return mode{}
}

// code reports whether it is code mode.
func (m mode) code() bool { return !m.flat && m.server == "" }

// instructions say in a few sentences what a client finds.
func (m mode) instructions() string {
	switch {
	case m.server != "":
		return "Server " + m.server + ", passed through by tenon: its own tools, one instance for this session."
	case m.flat:
		return "All tools of the user's MCP servers, named <namespace>_<tool>. State of session-scoped servers (a browser) lasts for this session."
	default:
		return codeInstructions
	}
}

// codeInstructions are for models; the names of the catalogue live in programs.
const codeInstructions = "MCP servers of this project are reached through tenon. To call several tools, loop or filter, write one program with " +
	"the tool exec: `const page = await tools.browser.snapshot({})` (names: tools.<namespace>.<tool>; only its result enters " +
	"the conversation). Find names with the tool search; they exist inside programs and for the tool call, not as tools of their own."

// capabilities are declared whatever tools there are: lists come and go.
func (m mode) capabilities() *mcp.ServerCapabilities {
	c := &mcp.ServerCapabilities{
		Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{ListChanged: true},
		Resources: &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
	}
	if !m.code() {
		c.Prompts, c.Completions = &mcp.PromptCapabilities{ListChanged: true}, &mcp.CompletionCapabilities{}
	}
	return c
}

// check refuses a server to pass through that the caller's view does not have.
func (s *Server) check(c *peer.Caller, m mode) error {
	if m.server == "" {
		return nil
	}
	view, err := s.o.View(c)
	if err != nil {
		return err
	}
	if name := serverOf(view, m.server); name == "" {
		e := fault.New(fault.NotFound, "no server is called %q here", m.server)
		if near := catalog.Nearest(m.server, view.Names(), 3); len(near) > 0 {
			return e.WithHint("did you mean %s? tenon ls lists the servers of this directory", strings.Join(near, ", "))
		}
		if len(view.Names()) == 0 {
			return e.WithHint("no server is configured for this directory: tenon init")
		}
		return e.WithHint("here are %s", strings.Join(view.Names(), ", "))
	}
	return nil
}

// serverOf resolves a server's own name, or its namespace; empty: there is none.
func serverOf(view *config.View, name string) string {
	if view.Servers[name] != nil {
		return name
	}
	named := catalog.Namespaces(view)
	if i := slices.IndexFunc(named, func(n catalog.Named) bool { return n.Namespace == name }); i >= 0 {
		return named[i].Server
	}
	return ""
}

// listable are the servers whose tools a flat list holds: those that may be
// started. One that cannot because its configuration is wrong counts, so that
// the list says so instead of lacking it.
func listable(view *config.View) []catalog.Named {
	return slices.DeleteFunc(catalog.Namespaces(view), func(n catalog.Named) bool {
		s := view.Servers[n.Server]
		return !call.Usable(s) && (!s.Enabled || s.Untrusted)
	})
}
