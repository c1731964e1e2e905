package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func (a *app) scriptsCommand() *cobra.Command {
	list := &cobra.Command{Use: "list", Short: "List saved scripts, with those that are shadowed", Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return scriptsList(cmd.Context(), a) }}
	show := &cobra.Command{Use: "show NAME", Short: "Show a script: what it takes, examples, its code", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error { return scriptsShow(cmd.Context(), a, words[0]) }}
	o := &saveOptions{app: a}
	save := &cobra.Command{Use: "save NAME [FILE | -]", Short: "Keep a file, or the program of a run, under a name", Args: args(1, 2),
		Long: "Keeps a program as a saved script: FILE, standard input, or with --run what a run\n" +
			"executed. It goes to the project: the nearest .tenon/scripts of this directory or above,\n" +
			"else a new one at the repository's top; with --user to your own scripts. Nothing is\n" +
			"replaced without --force. With scripts.hostOnly in the configuration no session saves any.",
		Example: "  tenon scripts save report report.ts\n  tenon scripts save report --run last\n  echo '1 + 1' | tenon scripts save --user two -",
		RunE: func(cmd *cobra.Command, words []string) error {
			o.name = words[0]
			o.file = strings.Join(words[1:], "")
			return scriptsSave(cmd.Context(), o)
		}}
	f := save.Flags()
	f.StringVar(&o.run, "run", "", "`id` of the run whose program is kept; last is the newest")
	f.BoolVar(&o.user, "user", false, "keep it among your own scripts")
	f.BoolVar(&o.project, "project", false, "keep it in the project; the default")
	f.BoolVar(&o.force, "force", false, "replace a script of that name, and keep the program of a run that failed")
	save.MarkFlagsMutuallyExclusive("user", "project")
	c := group("scripts", "List, show and keep saved scripts", list, show, save)
	c.Long = "Saved scripts are programs in files, run by name: tenon run NAME, and run(\"name\", input)\n" +
		"in a program. They lie in .tenon/scripts of a directory and of those above it, up to\n" +
		"the repository's top, and in scripts beside your configuration. The nearest of a name\n" +
		"is run; the others are listed as shadowed."
	holder := c.RunE
	c.RunE = func(cmd *cobra.Command, words []string) error {
		if len(words) == 0 {
			return scriptsList(cmd.Context(), a)
		}
		return holder(cmd, words)
	}
	return c
}

func scriptsList(ctx context.Context, a *app) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	list, err := c.Scripts(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	return rows(a, list, "no saved scripts: tenon scripts save NAME FILE makes one", []string{"SCRIPT", "PARAMETERS", "ENGINE", "WHERE", "DESCRIPTION"},
		func(s proto.Script) []string {
			about := short(s.Description, 80)
			switch {
			case s.Shadowed != "":
				about = "shadowed by " + s.Shadowed
			case s.Problem != "":
				about = strings.TrimSpace(about + " (" + s.Problem + ")")
			}
			return []string{s.Name, dash(paramNames(s.Params)), dash(s.Engine), s.Where + " " + s.File, dash(about)}
		})
}

// paramNames shows parameters in a column: those that may be left out in
// brackets.
func paramNames(params []proto.ScriptParam) string {
	var out []string
	for _, p := range params {
		name := p.Name
		if !p.Required || len(p.Default) > 0 {
			name = "[" + name + "]"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func scriptsShow(ctx context.Context, a *app, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	s, err := c.Script(ctx, name, "")
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(s)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s)\n%s\n", s.Name, s.Where, s.File, s.Signature)
	if s.Description != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Description)
	}
	if s.Engine != "" {
		fmt.Fprintf(&b, "\nengine: %s\n", s.Engine)
	}
	for i, p := range s.Params {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "  --param %s=… (%s%s)  %s\n", p.Name, p.Type, need(p), p.Description)
	}
	for _, x := range s.Examples {
		fmt.Fprintf(&b, "\nexample: %s\n", x)
	}
	if s.Problem != "" {
		fmt.Fprintf(&b, "\nnot understood: %s\n", s.Problem)
	}
	b.WriteString("\n" + s.Code)
	return a.text(b.String())
}

func need(p proto.ScriptParam) string {
	switch {
	case len(p.Default) > 0:
		return ", default " + string(p.Default)
	case p.Required:
		return ", required"
	}
	return ""
}

type saveOptions struct {
	app                  *app
	name, file, run      string
	user, project, force bool
}

func scriptsSave(ctx context.Context, o *saveOptions) error {
	a := o.app
	if o.run != "" && o.file != "" {
		return fault.New(fault.UsageError, "a script is saved from FILE or from --run, not from both")
	}
	req := proto.ScriptSave{Name: o.name, Force: o.force, Where: "project"}
	if o.user {
		req.Where = "user"
	}
	if o.run == "" {
		code, err := o.source(ctx)
		if err != nil {
			return err
		}
		req.Code = code
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	if o.run != "" {
		if req.Run, err = runNamed(ctx, a, c, o.run, false); err != nil {
			return err
		}
	}
	s, err := c.SaveScript(ctx, req)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(s)
	}
	if s.Problem != "" {
		a.say("warning: of its header was not understood: %s", s.Problem)
	}
	a.say("saved as %s in %s; run it: tenon run %s", s.Name, s.File, s.Name)
	return nil
}

// source reads what is saved: FILE, or standard input.
func (o *saveOptions) source(ctx context.Context) (string, error) {
	a := o.app
	if o.file != "" && o.file != "-" {
		raw, err := os.ReadFile(a.abs(o.file))
		if err != nil {
			return "", fault.New(fault.UsageError, "cannot read the program: %w", err)
		}
		return string(raw), nil
	}
	if o.file == "" && !piped(a.In) {
		return "", fault.New(fault.UsageError, "no program: give a FILE, - for standard input, or --run ID").
			WithHint("tenon scripts save %s --run last", o.name)
	}
	raw, err := a.readInput(ctx, "the program")
	return string(raw), err
}
