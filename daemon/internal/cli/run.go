package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
)

// runOptions are those of exec, and what only a saved script takes.
type runOptions struct {
	execOptions
	script string
	export string
	params []string // k=v
}

func (a *app) runCommand() *cobra.Command {
	o := &runOptions{execOptions: execOptions{app: a}}
	c := &cobra.Command{
		Use:   "run NAME [-- ARGS…]",
		Short: "Run a saved script",
		Long: "Runs a saved script: a file of .tenon/scripts of this directory or of one above it,\n" +
			"up to the repository's top, or of your own scripts; the nearest wins. The name is\n" +
			"its path there, without the extension. tenon scripts lists them.\n\n" +
			"What the script declares as @param is given with --param and read by its type; it is\n" +
			"the script's input. A default export is called with (input, {args}). What is piped in\n" +
			"is read with stdin.text(), .json() and .lines(), and is the input where no other is given.",
		Example: "  tenon run report --param since=monday --param limit=5\n  cat page.html | tenon run extract -- --quiet\n  tenon run report --export weekly",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := o.given(cmd); err != nil {
				return err
			}
			before := words
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				before, o.args = words[:at], words[at:]
			}
			switch {
			case len(before) == 0:
				return fault.New(fault.UsageError, "tenon run: the name of a script is missing").WithHint("tenon scripts lists them; tenon exec runs a file")
			case len(before) > 1:
				return fault.New(fault.UsageError, "unexpected argument %q", before[1]).WithHint("arguments of the script go after --, its parameters are --param NAME=VALUE")
			}
			o.script = before[0]
			return runRun(cmd.Context(), o)
		},
	}
	o.register(c.Flags())
	f := c.Flags()
	f.StringVar(&o.export, "export", "", "the export to run, by its `name`; default: the default export")
	f.StringArrayVar(&o.params, "param", nil, "a parameter of the script, as `NAME=VALUE`; may be given several times")
	return c
}

func runRun(ctx context.Context, o *runOptions) error {
	req, err := o.settings()
	if err != nil {
		return err
	}
	req.Script, req.Export = o.script, o.export
	if req.Params, err = pairs(o.params); err != nil {
		return err
	}
	c, err := o.app.connect()
	if err != nil {
		return err
	}
	// It says whether what is piped in is wanted.
	s, err := c.Script(ctx, o.script, req.Cwd)
	if err != nil {
		return interrupted(ctx, err)
	}
	o.file = s.File
	if err := o.takeInput(ctx, s.Code, &req); err != nil {
		return err
	}
	return o.follow(ctx, c, req, s.Code)
}

// pairs reads k=v words; the last of two of one name counts.
func pairs(words []string) (map[string]string, error) {
	var out map[string]string
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, fault.New(fault.UsageError, "--param %q is no NAME=VALUE", short(word, 60)).WithHint("for example --param limit=5")
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out, nil
}
