package cli

import "github.com/spf13/cobra"

func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a completion script for bash, zsh, fish or powershell",
		Example:   "  source <(tenon completion bash)",
		ValidArgs: shells,
		Args:      cobra.MatchAll(args(1, 1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, words []string) error {
			root := cmd.Root()
			switch words[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(a.Out)
			}
		},
	}
}
