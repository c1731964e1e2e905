package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/cli/opencode"
	"tenon/daemon/internal/fault"
)

type opencodeOptions struct {
	app     *app
	v1      bool
	project bool
}

func (a *app) opencodeCommand() *cobra.Command {
	o := &opencodeOptions{app: a}
	command := func(use, short string, run func(context.Context, *opencodeOptions) error) *cobra.Command {
		c := &cobra.Command{Use: use, Short: short, Args: args(0, 0),
			RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) }}
		c.Flags().BoolVar(&o.v1, "v1", false, "for opencode v1 (the default)")
		c.Flags().BoolVar(&o.project, "project", false, "in this project instead of the user's configuration: its opencode.jsonc, else its opencode.json, else a new opencode.jsonc")
		return c
	}
	return group("opencode", "Install tenon's plugin into opencode, or take it out",
		command("install", "Add the plugin to opencode's configuration", opencodeInstall),
		command("status", "Show what is installed", opencodeStatus),
		command("uninstall", "Take the plugin out again, and undo what init disabled there", opencodeUninstall))
}

// target is where this invocation installs.
func (o *opencodeOptions) target() (opencode.Target, error) {
	p, err := o.app.paths()
	if err != nil {
		return opencode.Target{}, err
	}
	bin, err := os.Executable()
	if err != nil {
		return opencode.Target{}, fault.New(fault.InternalError, "cannot find this executable: %w", err)
	}
	dir := filepath.Join(filepath.Dir(p.Config), "opencode")
	if o.project {
		dir = o.app.Cwd
	}
	return opencode.Target{ConfigDir: dir, Data: p.Data, Bin: bin}, nil
}

// mayInstall asks the daemon whether this caller may change a host's files:
// an agent's shell may not.
func (a *app) mayInstall(ctx context.Context) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	caller, err := c.Caller(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	for _, action := range caller.May {
		if action == "install" {
			return nil
		}
	}
	return fault.New(fault.PermissionDenied, "a %s may not install into hosts", caller.Class).
		WithHint("only the user can, from a terminal outside of the agent")
}

func opencodeInstall(ctx context.Context, o *opencodeOptions) error {
	plugin, err := opencode.Bundle()
	if err != nil {
		return err
	}
	t, err := o.target()
	if err != nil {
		return err
	}
	if err := o.app.mayInstall(ctx); err != nil {
		return err
	}
	r, err := t.Install(plugin)
	if err != nil {
		return err
	}
	if o.app.flags.json {
		return o.app.document(r)
	}
	if !r.Changed {
		o.app.say("nothing to do: %s has the plugin", r.Config)
		return nil
	}
	o.app.say("installed: %s names %s", r.Config, r.Plugin)
	if r.Backup != "" {
		o.app.say("the file as it was: %s", r.Backup)
	}
	o.app.say("opencode loads it at its next start")
	return nil
}

func opencodeStatus(_ context.Context, o *opencodeOptions) error {
	t, err := o.target()
	if err != nil {
		return err
	}
	plugin, _ := opencode.Bundle() // a build without it has nothing to compare
	s := t.Status(plugin)
	if o.app.flags.json {
		return o.app.document(s)
	}
	var lines []string
	switch {
	case s.Problem != "":
		lines = append(lines, "problem: "+s.Problem)
	case !s.Installed:
		lines = append(lines, "not installed: tenon opencode install")
	case !s.Current && plugin != nil:
		lines = append(lines, "installed, but another build of the plugin: tenon opencode install")
	default:
		lines = append(lines, "installed")
	}
	lines = append(lines, "config "+s.Config, "plugin "+s.Plugin)
	return o.app.text(strings.Join(lines, "\n"))
}

func opencodeUninstall(ctx context.Context, o *opencodeOptions) error {
	t, err := o.target()
	if err != nil {
		return err
	}
	if err := o.app.mayInstall(ctx); err != nil {
		return err
	}
	var back []opencode.Copy
	if !o.project {
		p, err := o.app.paths()
		if err != nil {
			return err
		}
		if back, err = switchedOff(p).Undo(); err != nil {
			return err
		}
	}
	r, err := t.Uninstall()
	if err != nil {
		return err
	}
	for _, c := range back {
		r.Changed, r.Enabled = true, append(r.Enabled, c.Name)
	}
	if !o.project { // a project's entry may be one of several that name the file
		gone, err := t.RemovePlugin()
		if err != nil {
			return err
		}
		r.Changed = r.Changed || gone
	}
	if o.app.flags.json {
		return o.app.document(r)
	}
	if !r.Changed {
		o.app.say("nothing to do: the plugin is not in %s", r.Config)
		return nil
	}
	if r.Removed {
		o.app.say("uninstalled: %s, which install had made, is removed", r.Config)
	} else {
		o.app.say("uninstalled from %s", r.Config)
	}
	if len(r.Enabled) > 0 {
		o.app.say("opencode starts these itself again: %s", strings.Join(r.Enabled, ", "))
	}
	return nil
}
