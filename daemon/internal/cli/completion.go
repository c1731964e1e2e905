package cli

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/engine/process"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/legible"
)

// bashWords stands in for the two functions of the package bash-completion
// that the script calls, where that is not installed.
const bashWords = `
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref() {
        cword=$COMP_CWORD words=("${COMP_WORDS[@]}")
        cur=${words[cword]} prev=${words[cword-1]}
    }
fi
if ! declare -F __ltrim_colon_completions >/dev/null; then
    __ltrim_colon_completions() { :; }
fi
`

func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a completion script for bash, zsh, fish or powershell",
		Long:      "Prints a completion script. Servers, tools, ids and the values of flags are\ncompleted too; names while the daemon runs, which is not started for that.",
		Example:   "  source <(tenon completion bash)",
		ValidArgs: shells,
		Args:      args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error {
			script, err := completion(cmd.Root(), words[0])
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.document(completionDocument{Shell: words[0], Script: script})
			}
			return a.write([]byte(script))
		},
	}
}

// completionDocument is the --json form.
type completionDocument struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func completion(root *cobra.Command, shell string) (string, error) {
	var b strings.Builder
	var err error
	switch shell {
	case "bash":
		err = root.GenBashCompletionV2(&b, true)
		b.WriteString(bashWords)
	case "zsh":
		err = root.GenZshCompletion(&b)
	case "fish":
		err = root.GenFishCompletion(&b, true)
	case "powershell":
		err = root.GenPowerShellCompletionWithDesc(&b)
	default:
		err = fault.New(fault.UsageError, "there is no completion for %q", shell).WithHint("there is one for bash, zsh, fish and powershell")
	}
	return b.String(), err
}

// runStatuses are what --status takes; the daemon has the last word.
var runStatuses = []string{"running", "ok", "failed", "cancelled", "lost"}

// plainFlags takes the quotes out of what flags say of themselves, which name a value in
// the help; completions show the text as it is.
func plainFlags(c *cobra.Command) {
	plain := func(f *flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	c.Flags().VisitAll(plain)
	c.PersistentFlags().VisitAll(plain)
	for _, child := range c.Commands() {
		plainFlags(child)
	}
}

// completeLimit is how long a press of Tab may take.
const completeLimit = time.Second

// lister gives what may stand where the cursor is.
type lister func(ctx context.Context, c *client.Client, before []string) ([]string, error)

// completeWith gives every command what its words may be: never names of
// files, except where a file or a directory is meant.
func (a *app) completeWith(root *cobra.Command) {
	servers := func(ctx context.Context, c *client.Client, _ []string) ([]string, error) {
		list, err := c.Servers(ctx)
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		return names, err
	}
	tools := func(ctx context.Context, c *client.Client, before []string) ([]string, error) {
		s, err := c.Server(ctx, before[0])
		if err != nil {
			return nil, err
		}
		var names []string
		for _, t := range s.Tools {
			names = append(names, t.Name+"\t"+short(first(t.Description, t.Title), 60))
		}
		return names, nil
	}
	runs := func(live bool) lister {
		return func(ctx context.Context, c *client.Client, _ []string) ([]string, error) {
			list, err := c.Runs(ctx, client.RunFilter{Limit: 30, Live: live})
			var ids []string
			for _, r := range list {
				ids = append(ids, r.ID+"\t"+short(r.Code, 60))
			}
			return ids, err
		}
	}
	asks := func(ctx context.Context, c *client.Client, _ []string) ([]string, error) {
		list, err := c.Approvals(ctx)
		var ids []string
		for _, q := range list {
			ids = append(ids, q.ID+"\t"+q.Key)
		}
		return ids, err
	}
	leases := func(ctx context.Context, c *client.Client, _ []string) ([]string, error) {
		list, err := c.Leases(ctx)
		var ids []string
		for _, l := range list {
			ids = append(ids, l.ID+"\t"+l.Server)
		}
		return ids, err
	}
	sessions := func(ctx context.Context, c *client.Client, _ []string) ([]string, error) {
		list, err := c.Sessions(ctx)
		var ids []string
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		return ids, err
	}
	presets := func(ctx context.Context, c *client.Client, _ []string) ([]string, error) {
		list, err := c.Presets(ctx)
		var names []string
		for _, p := range list.Presets {
			names = append(names, p.Name+"\tsandbox "+p.Sandbox+", approval "+p.Approval)
		}
		return names, err
	}
	scripts := func(ctx context.Context, c *client.Client, _ []string) ([]string, error) {
		list, err := c.Scripts(ctx)
		var names []string
		for _, s := range list {
			if s.Shadowed == "" {
				names = append(names, s.Name+"\t"+short(s.Description, 60))
			}
		}
		return names, err
	}
	lists := map[string][]lister{
		"tenon run": {scripts}, "tenon scripts show": {scripts},
		"tenon preset use": {presets}, "tenon preset show": {presets},
		"tenon ls": {servers}, "tenon types": {servers}, "tenon restart": {servers}, "tenon auth": {servers}, "tenon auth login": {servers}, "tenon auth logout": {servers}, "tenon call": {servers, tools},
		"tenon resources": {servers}, "tenon resources list": {servers}, "tenon prompts": {servers}, "tenon prompts list": {servers},
		"tenon runs show": {runs(false)}, "tenon runs output": {runs(false)}, "tenon runs rerun": {runs(false)}, "tenon runs cancel": {runs(true)},
		"tenon approve": {asks}, "tenon deny": {asks}, "tenon release": {leases}, "tenon sessions end": {sessions},
		"tenon exec": nil, "tenon trust": nil, "tenon scripts save": nil, // files and directories
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if list, ok := lists[c.CommandPath()]; !ok && c.ValidArgs == nil || len(list) > 0 {
			c.ValidArgsFunction = a.complete(list)
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk(root)
	a.completeFlags(root, servers, sessions, runs(false))
}

// completeFlags gives flags their values: those of a closed set, and names.
func (a *app) completeFlags(root *cobra.Command, servers, sessions, runs lister) {
	fixed := map[string][]string{
		"exec engine": append([]string{"embedded"}, process.Names()...), "exec sandbox": sandboxModes(),
		"exec typecheck": typechecks, "exec where": wheres, "init import": importable,
		"runs status": runStatuses, "runs list status": runStatuses, "runs stats by": statsBy,
		"daemon logs level": logLevels,
	}
	namespaces := func(ctx context.Context, c *client.Client, _ []string) ([]string, error) {
		list, err := c.Servers(ctx)
		var names []string
		for _, s := range list {
			names = append(names, s.Namespace)
		}
		return names, err
	}
	for _, name := range []string{"engine", "sandbox", "typecheck", "where"} {
		fixed["run "+name] = fixed["exec "+name]
	}
	known := map[string]lister{
		"mcp server": servers, "search namespace": namespaces, "runs server": servers, "runs list server": servers,
		"resources read server": servers, "prompts get server": servers, "scripts save run": runs,
		"daemon logs run": runs, "daemon logs server": servers,
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), root.Name()+" ")
		c.LocalNonPersistentFlags().VisitAll(func(f *flag) {
			name := path + " " + f.Name
			if words, ok := fixed[name]; ok {
				_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
			}
			if list, ok := known[name]; ok {
				_ = c.RegisterFlagCompletionFunc(f.Name, a.completeFlag(list))
			}
		})
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	for _, c := range root.Commands() {
		walk(c)
	}
	_ = root.RegisterFlagCompletionFunc("session", a.completeFlag(sessions))
}

// completeFlag is complete for a flag's value, whatever words stand before it.
func (a *app) completeFlag(list lister) cobra.CompletionFunc {
	words := a.complete([]lister{list})
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return words(cmd, nil, begun)
	}
}

func (a *app) complete(lists []lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, before []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(before) >= len(lists) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := a.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c.NoStart, c.Notice = true, nil
		ctx, cancel := context.WithTimeout(cmd.Context(), completeLimit)
		defer cancel()
		found, err := lists[len(before)](ctx, c, before)
		if err != nil { // nobody reads an error in the middle of a line
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offered(found), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// offered are the words that a shell may put on a command line as they are: of
// names that servers chose, those without a character that means something to one.
// Their descriptions show what they hide.
func offered(found []string) []string {
	var out []string
	for _, word := range found {
		name, about, described := strings.Cut(word, "\t")
		if strings.ContainsFunc(name, special) {
			continue
		}
		if described {
			name += "\t" + legible.Line(about)
		}
		out = append(out, name)
	}
	return out
}

// special is whether a shell would not take a character as itself.
func special(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-/:@+=,%", r)
}
