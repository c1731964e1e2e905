// Package cli is the command line: one file per command, each with its
// options, a constructor and a run function. Commands speak to the daemon
// through package client only; results go to standard output, everything else
// to standard error.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/client"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
)

// Options are what the process gives a command.
type Options struct {
	Args    []string // without the program's name
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Environ []string // KEY=value
	Cwd     string
}

// app is one invocation.
type app struct {
	Options
	env   map[string]string
	flags globalFlags

	inTerminal, outTerminal, errTerminal bool

	client *client.Client // made by connect
}

// globalFlags are those of every command.
type globalFlags struct {
	json        bool
	config      string
	socket      string
	session     string
	noAutostart bool
	quiet       bool
	verbose     bool
}

// Main runs one command and returns its exit code. The context's end is the
// user's interrupt.
func Main(ctx context.Context, o Options) int {
	a := &app{Options: o, env: map[string]string{}}
	for _, kv := range o.Environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			a.env[k] = v
		}
	}
	a.inTerminal, a.outTerminal, a.errTerminal = isTerminal(o.In), isTerminal(o.Out), isTerminal(o.Err)
	root := a.root()
	root.SetArgs(o.Args)
	root.SetIn(o.In)
	root.SetOut(o.Out)
	root.SetErr(o.Err)
	return a.finish(root.ExecuteContext(ctx))
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// root builds the tree of commands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tenon",
		Short: "Join opencode, and any shell, to your MCP servers",
		Long: "tenon runs programs that call MCP servers, and leases the servers' instances to\n" +
			"agent sessions. One daemon per user owns them; it starts by itself.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return helpOrFailure(cmd)
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return noNegative(cmd) },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	f := root.PersistentFlags()
	f.BoolVar(&a.flags.json, "json", false, "print one JSON document, and nothing else, on standard output")
	f.StringVar(&a.flags.config, "config", "", "configuration `file` in place of the user's own")
	f.StringVar(&a.flags.socket, "socket", "", "`address` of the daemon: a path, or tcp://HOST:PORT")
	f.StringVar(&a.flags.session, "session", "", "`id` of the session to act in; an unknown one makes a named session")
	f.BoolVar(&a.flags.noAutostart, "no-autostart", false, "do not start a daemon when none is running")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "only results and failures")
	f.BoolVarP(&a.flags.verbose, "verbose", "v", false, "say more on standard error")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// "tenon exce -e 1": the wrong word is the command, not the flag.
		if word := firstWord(root, a.Args); cmd == root && word != "" {
			return unknownCommand(root, word)
		}
		return flagError(cmd, err)
	})
	root.AddGroup(&cobra.Group{ID: "work", Title: "Work:"}, &cobra.Group{ID: "see", Title: "See who holds what:"},
		&cobra.Group{ID: "setup", Title: "Set up:"}, &cobra.Group{ID: "help", Title: "Help:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("work", a.execCommand(), a.runCommand(), a.scriptsCommand(), a.callCommand(), a.searchCommand(), a.catalogCommand(), a.typesCommand(), a.resourcesCommand(), a.promptsCommand(), a.mcpCommand(), a.demoCommand())
	add("see", a.lsCommand(), a.sessionsCommand(), a.leasesCommand(), a.releaseCommand(), a.restartCommand(), a.runsCommand(),
		a.approvalsCommand(), a.approveCommand(), a.denyCommand())
	add("setup", a.initCommand(), a.trustCommand(), a.authCommand(), a.presetCommand(), a.opencodeCommand(), a.daemonCommand())
	add("help", a.doctorCommand(), a.versionCommand(), a.completionCommand())
	help := &cobra.Command{Use: "help [COMMAND]", Short: "Explain a command", GroupID: "help",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, strings.Join(args, " "))
			}
			return target.Help()
		}}
	root.SetHelpCommand(help)
	exemplify(root)
	a.completeWith(root)
	if len(a.Args) > 0 && a.Args[0] == cobra.ShellCompRequestCmd {
		plainFlags(root)
	}
	return root
}

// firstWord is the first argument that is neither a flag nor a flag's value.
func firstWord(root *cobra.Command, args []string) string {
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "--")
		f := root.PersistentFlags().Lookup(name)
		switch {
		case isFlag && f != nil && f.NoOptDefVal == "":
			i++ // its value
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

// unknownCommand names the commands of that name further down, else the
// nearest one.
func unknownCommand(parent *cobra.Command, name string) error {
	var names, below []string
	for _, c := range parent.Commands() {
		if c.Hidden {
			continue
		}
		names = append(names, c.Name())
		for _, child := range c.Commands() {
			if child.Name() == name {
				below = append(below, child.CommandPath())
			}
		}
	}
	e := fault.New(fault.UsageError, "unknown command %q", strings.TrimSpace(parent.CommandPath()+" "+name))
	if len(below) > 0 {
		return e.WithHint("did you mean: %s", strings.Join(below, ", or "))
	}
	if near := catalog.Nearest(name, names, 1); len(near) == 1 {
		return e.WithHint("did you mean: %s %s", parent.CommandPath(), near[0])
	}
	return e.WithHint("%s --help lists the commands", parent.CommandPath())
}

// group makes a command that only holds others.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return helpOrFailure(cmd)
	}
	c.AddCommand(children...)
	return c
}

// helpOrFailure is what a command does that only holds others: help is no
// document, so under --json it is a failure.
func helpOrFailure(cmd *cobra.Command) error {
	if json, err := cmd.Flags().GetBool("json"); err == nil && json {
		return fault.New(fault.UsageError, "%s: a command is missing", cmd.CommandPath()).
			WithHint("%s --help lists the commands", cmd.CommandPath())
	}
	return cmd.Help()
}

// flagError names the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	e := fault.New(fault.UsageError, "%w", err).WithHint("%s --help lists the flags", cmd.CommandPath())
	if strings.Contains(err.Error(), "duration") {
		return e.WithHint("a duration has a unit: 500ms, 5s, 2m")
	}
	var told *fault.Error // by the flag itself
	if errors.As(err, &told) && told.Hint != "" {
		return e.WithHint("%s", told.Hint)
	}
	var invalid *invalidValue
	if errors.As(err, &invalid) && strings.HasPrefix(invalid.GetFlag().Value.Type(), "int") {
		return fault.New(fault.UsageError, "--%s takes a whole number, not %q", invalid.GetFlag().Name, invalid.GetValue()).
			WithHint("%s --help lists the flags", cmd.CommandPath())
	}
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if !ok {
		return e
	}
	var names []string
	cmd.Flags().VisitAll(func(f *flag) { names = append(names, f.Name) })
	switch near := catalog.Nearest(name, names, 1); {
	case name == "version": // so many programs have it
		e.WithHint("tenon version shows it")
	case len(near) == 1:
		e.WithHint("did you mean --%s?", near[0])
	}
	return e
}

// noNegative refuses counts and durations below 0: none of the flags has a
// meaning for them.
func noNegative(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *flag) {
		kind, text := f.Value.Type(), f.Value.String()
		if (kind == "int" || kind == "duration") && strings.HasPrefix(text, "-") {
			err = fault.New(fault.UsageError, "--%s cannot be negative: %s", f.Name, text)
		}
	})
	return err
}

// args makes a check of the number of arguments that says what is expected.
func args(low, high int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, got []string) error {
		if len(got) < low {
			return fault.New(fault.UsageError, "%s: %s is missing", cmd.CommandPath(), strings.Fields(cmd.Use)[1+len(got)]).WithHint("usage: %s", cmd.UseLine())
		}
		if high >= 0 && len(got) > high {
			return fault.New(fault.UsageError, "%s: unexpected argument %q", cmd.CommandPath(), got[high]).WithHint("usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// connect makes the client of this invocation.
func (a *app) connect() (*client.Client, error) {
	if a.client != nil {
		return a.client, nil
	}
	paths, err := a.paths()
	if err != nil {
		return nil, err
	}
	id := client.Identity{
		Session: first(a.flags.session, a.env["TENON_SESSION_ID"]),
		Ticket:  a.env["TENON_TICKET"],
		Dir:     a.Cwd,
		Config:  a.configFile(),
		// Whoever sees standard error and types on standard input can answer.
		Interactive: a.inTerminal && a.errTerminal && !a.flags.quiet,
	}
	id.Env = config.Pick(a.Environ, config.Wanted(id.Dir, id.Config))
	a.client = &client.Client{
		Paths: paths, Socket: first(a.flags.socket, a.env["TENON_SOCKET"]), Token: a.env["TENON_TOKEN"],
		NoStart: a.flags.noAutostart, Identity: id, Environ: a.Environ,
		Notice: func(text string) {
			if !a.flags.quiet {
				a.note("%s", text)
			}
		},
	}
	return a.client, nil
}

// configFile is --config or TENON_CONFIG as an absolute path, or empty.
func (a *app) configFile() string { return a.abs(first(a.flags.config, a.env["TENON_CONFIG"])) }

func (a *app) paths() (local.Paths, error) {
	return local.Resolve(func(k string) string { return a.env[k] })
}

// first is the first text that is not empty.
func first(texts ...string) string {
	if i := slices.IndexFunc(texts, func(s string) bool { return s != "" }); i >= 0 {
		return texts[i]
	}
	return ""
}

// failed is an outcome whose output has been written already: only the exit
// code is left.
type failed struct{ kind fault.Kind }

func (f failed) Error() string { return fmt.Sprintf("ended with %s", f.kind) }

// exit is an end with a code of its own, which is no failure to speak of.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// finish writes a failure and gives the exit code.
func (a *app) finish(err error) int {
	if err == nil {
		return 0
	}
	var code exit
	if errors.As(err, &code) {
		return int(code)
	}
	var f failed
	if errors.As(err, &f) {
		return f.kind.ExitCode()
	}
	var e *fault.Error
	if !errors.As(err, &e) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		// What cobra itself refuses (a flag's value, a number of arguments).
		e = fault.New(fault.UsageError, "%w", err)
	}
	if e == nil {
		e = fault.From(err)
	}
	a.fail(e)
	return e.Kind.ExitCode()
}
