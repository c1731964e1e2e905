package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/cli/opencode"
	"tenon/daemon/internal/fault"
)

type opencodeOptions struct {
	app     *app
	v1, v2  bool
	project bool
}

func (a *app) opencodeCommand() *cobra.Command {
	o := &opencodeOptions{app: a}
	command := func(use, short, without string, run func(context.Context, *opencodeOptions) error) *cobra.Command {
		c := &cobra.Command{Use: use, Short: short, Long: short + ".\n\n" + without, Args: args(0, 0),
			RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) }}
		c.Flags().BoolVar(&o.v1, "v1", false, "for opencode v1 (1.18)")
		c.Flags().BoolVar(&o.v2, "v2", false, "for opencode v2")
		c.Flags().BoolVar(&o.project, "project", false, "in this project instead of the user's configuration: its opencode.jsonc, else its opencode.json, else a new opencode.jsonc")
		return c
	}
	return group("opencode", "Install tenon's plugin into opencode, or take it out",
		command("install", "Add the plugin to opencode's configuration",
			"Without --v1 or --v2: for each generation of opencode that is found on the PATH.", opencodeInstall),
		command("status", "Show what is installed, and what else of tenon the hosts find",
			"Without --v1 or --v2: of both.", opencodeStatus),
		command("uninstall", "Take the plugin out again, and undo what init disabled there",
			"Without --v1 or --v2: of both.", opencodeUninstall))
}

// target is where this invocation installs the plugin of a generation.
func (o *opencodeOptions) target(g opencode.Generation) (opencode.Target, error) {
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
	return opencode.Target{Generation: g, ConfigDir: dir, Data: p.Data, Bin: bin}, nil
}

// targets are those of the generations that the flags name, else of all.
func (o *opencodeOptions) targets() ([]opencode.Target, error) {
	var out []opencode.Target
	for _, g := range opencode.Generations() {
		if o.v1 || o.v2 {
			if named := map[opencode.Generation]bool{opencode.V1: o.v1, opencode.V2: o.v2}[g]; !named {
				continue
			}
		}
		t, err := o.target(g)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// mayInstall asks the daemon whether this caller may change a host's files, a
// service manager's, or the user's configuration of tenon: an agent's shell may not.
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
	return fault.OnlyTheUser(caller.Class == "session", "change configurations")
}

// installDocument is the --json form of install and uninstall.
type installDocument struct {
	Changed bool              `json:"changed"`
	Hosts   []opencode.Result `json:"hosts"`
	// Enabled are the servers that an uninstall gave back to opencode.
	Enabled []string `json:"enabled"`
}

func opencodeInstall(ctx context.Context, o *opencodeOptions) error {
	if !o.v1 && !o.v2 {
		chosen, err := opencode.Chosen(opencode.Programs(o.app.env["PATH"], o.app.Environ))
		if err != nil {
			return err
		}
		for _, g := range chosen {
			o.v1, o.v2 = o.v1 || g == opencode.V1, o.v2 || g == opencode.V2
		}
	}
	targets, err := o.targets()
	if err != nil {
		return err
	}
	bundles := make([]*opencode.Bundle, len(targets))
	for i, t := range targets {
		if bundles[i], err = opencode.Carried(t.Generation); err != nil {
			return err
		}
	}
	if err := o.app.mayInstall(ctx); err != nil {
		return err
	}
	doc := installDocument{Enabled: []string{}}
	if doc.Hosts, err = opencode.InstallAll(targets, bundles); err != nil {
		return err
	}
	for _, r := range doc.Hosts {
		doc.Changed = doc.Changed || r.Changed
	}
	if o.app.flags.json {
		return o.app.document(doc)
	}
	for _, r := range doc.Hosts {
		if !r.Changed {
			o.app.say("opencode %s: nothing to do, %s has the plugin", r.Host, r.Config)
			continue
		}
		o.app.say("opencode %s: installed, %s names %s", r.Host, r.Config, r.Plugin)
		for _, e := range r.Edits {
			switch {
			case e.Backup != "":
				o.app.say("the file as it was: %s", e.Backup)
			case e.File != r.Config:
				o.app.say("made %s, for its terminal interface", e.File)
			}
		}
	}
	if doc.Changed {
		o.app.say("opencode loads it at its next start")
	}
	return nil
}

// opencodeDocument is the --json form of status.
type opencodeDocument struct {
	Hosts []opencode.Status `json:"hosts"`
	// Project are the generations whose plugin this project's configuration
	// names besides; none with --project.
	Project []opencode.Status `json:"project"`
	Others  []opencode.Other  `json:"others"`
}

// inProject looks for the plugin in the configuration of this project, where
// the command is about the user's.
func (o *opencodeOptions) inProject() ([]opencode.Status, error) {
	out := []opencode.Status{}
	if o.project {
		return out, nil
	}
	here := *o
	here.project = true
	targets, err := here.targets()
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if s := t.Status(nil, nil); s.Installed {
			out = append(out, s)
		}
	}
	return out, nil
}

// installed looks at everything that status shows.
func (o *opencodeOptions) installed() (opencodeDocument, error) {
	targets, err := o.targets()
	if err != nil {
		return opencodeDocument{}, err
	}
	programs := opencode.Programs(o.app.env["PATH"], o.app.Environ)
	doc := opencodeDocument{}
	for _, t := range targets {
		carried, _ := opencode.Carried(t.Generation) // a build without it has nothing to compare
		doc.Hosts = append(doc.Hosts, t.Status(carried, programs))
	}
	if doc.Project, err = o.inProject(); err != nil {
		return opencodeDocument{}, err
	}
	dirs, err := o.configDirs()
	if err != nil {
		return opencodeDocument{}, err
	}
	own := targets
	for _, g := range opencode.Generations() { // what a project's file names is ours too
		if t, err := o.target(g); err == nil {
			own = append(own, t)
		}
	}
	doc.Others = opencode.Others(dirs, opencode.ConfigFiles(dirs, o.app.Cwd), own...)
	return doc, nil
}

// configDirs are opencode's configuration directories as seen from here.
func (o *opencodeOptions) configDirs() ([]string, error) {
	user := *o
	user.project = false
	t, err := user.target(opencode.V1)
	if err != nil {
		return nil, err
	}
	return opencode.ConfigDirs(t.ConfigDir, o.app.env["HOME"], o.app.env["OPENCODE_CONFIG_DIR"], o.app.Cwd), nil
}

func opencodeStatus(_ context.Context, o *opencodeOptions) error {
	doc, err := o.installed()
	if err != nil {
		return err
	}
	if o.app.flags.json {
		return o.app.document(doc)
	}
	var lines []string
	for _, s := range doc.Hosts {
		lines = append(lines, fmt.Sprintf("opencode %s: %s", s.Host, state(s)))
		for _, p := range s.Programs {
			lines = append(lines, fmt.Sprintf("  program %s %s", p.Path, p.Version))
		}
		lines = append(lines, "  config  "+s.Config)
		if s.Present {
			lines = append(lines, strings.TrimRight("  plugin  "+s.Plugin+" "+s.Version, " "))
		}
	}
	for _, s := range doc.Project {
		lines = append(lines, fmt.Sprintf("in this project: %s names the plugin for %s (tenon opencode status --project)", s.Config, s.Host))
	}
	for _, other := range doc.Others {
		lines = append(lines, fmt.Sprintf("also there: %s (in %s): %s", other.Path, other.In, other.Text))
	}
	return o.app.text(strings.Join(lines, "\n"))
}

// state is one generation's in words.
func state(s opencode.Status) string {
	install := "tenon opencode install --" + string(s.Host)
	switch {
	case s.Problem != "":
		return "problem: " + s.Problem
	case !s.Installed && len(s.Programs) == 0:
		return "not installed, and no such opencode is on the PATH"
	case !s.Installed:
		return "not installed: " + install
	case !s.Current && s.Carried != "":
		return "installed, but another build than this program carries: " + install
	}
	return "installed"
}

func opencodeUninstall(ctx context.Context, o *opencodeOptions) error {
	targets, err := o.targets()
	if err != nil {
		return err
	}
	if err := o.app.mayInstall(ctx); err != nil {
		return err
	}
	doc := installDocument{Enabled: []string{}}
	if !o.project {
		p, err := o.app.paths()
		if err != nil {
			return err
		}
		back, err := switchedOff(p).Undo()
		if err != nil {
			return err
		}
		for _, c := range back {
			doc.Changed, doc.Enabled = true, append(doc.Enabled, c.Name)
		}
	}
	for _, t := range targets {
		r, err := t.Uninstall()
		if err != nil {
			return err
		}
		if !o.project { // a project's entry may be one of several that name the files
			gone, err := t.RemovePlugin()
			if err != nil {
				return err
			}
			r.Changed = r.Changed || gone
		}
		doc.Hosts, doc.Changed = append(doc.Hosts, r), doc.Changed || r.Changed
	}
	if o.app.flags.json {
		return o.app.document(doc)
	}
	for _, r := range doc.Hosts {
		switch {
		case len(r.Edits) == 0 && r.Changed:
			o.app.say("opencode %s: the plugin's files are removed; %s did not name them", r.Host, r.Config)
		case !r.Changed:
			o.app.say("opencode %s: nothing to do, the plugin is not in %s", r.Host, r.Config)
		}
		for _, e := range r.Edits {
			if e.Removed {
				o.app.say("opencode %s: uninstalled; %s, which install had made, is removed", r.Host, e.File)
			} else {
				o.app.say("opencode %s: uninstalled from %s", r.Host, e.File)
			}
		}
	}
	left, err := o.inProject()
	if err != nil {
		return err
	}
	for _, s := range left {
		o.app.say("%s still names the plugin for %s: tenon opencode uninstall --project", s.Config, s.Host)
	}
	if len(doc.Enabled) > 0 {
		o.app.say("opencode starts these itself again: %s", strings.Join(doc.Enabled, ", "))
	}
	return nil
}
