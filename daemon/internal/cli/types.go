package cli

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) typesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "types [SERVER…]",
		Short: "Print TypeScript declarations of tools",
		Long: "Prints declarations of the tools of all servers, of some, or of single tools (ns.tool).\n" +
			"They always parse, whatever a server wrote; parts of schemas that could not be used are\n" +
			"unknown, and named on standard error. Servers that were never started are started for that.",
		Example: "  tenon types memory\n  tenon types browser.navigate > browser.d.ts",
		Args:    args(0, -1),
		RunE:    func(cmd *cobra.Command, paths []string) error { return typesRun(cmd.Context(), a, paths) },
	}
}

func typesRun(ctx context.Context, a *app, paths []string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	types, err := c.Types(ctx, paths)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(types)
	}
	for _, w := range types.Warnings {
		a.say("%s", w)
	}
	return a.text(types.Text)
}
