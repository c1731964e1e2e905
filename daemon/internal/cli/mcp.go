package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
)

func (a *app) mcpCommand() *cobra.Command {
	var m client.MCPMode
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Be an MCP server on standard input and output, for any MCP client",
		Long: "Speaks MCP on standard input and output, for any MCP client: with the tools exec,\n" +
			"call, search, types, catalog and status; with --flat every tool of every server under\n" +
			"its own name; with --server one server passed through. The daemon does the work, and\n" +
			"is started when it is not running. The end of the input ends it.",
		Example: "  tenon mcp\n  tenon mcp --server browser",
		Args:    args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return mcpRun(cmd.Context(), a, m) },
	}
	c.Flags().BoolVar(&m.Flat, "flat", false, "every tool of every server, as NAMESPACE_TOOL, instead of code mode")
	c.Flags().StringVar(&m.Server, "server", "", "pass one server through, by `name`, under its own tools' names")
	return c
}

func mcpRun(ctx context.Context, a *app, m client.MCPMode) error {
	if m.Flat && m.Server != "" {
		return fault.New(fault.UsageError, "--flat and --server exclude each other")
	}
	if a.flags.json {
		return fault.New(fault.UsageError, "--json makes no sense here: standard output is MCP's")
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	if a.inTerminal {
		a.say("this speaks MCP with the program that starts it; to use it, write the command tenon mcp into an MCP client's configuration. Ctrl-D ends it")
	}
	c.Identity.Interactive = false // its input belongs to the client
	return c.PumpMCP(ctx, m, a.In, a.Out)
}
