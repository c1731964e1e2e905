package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/config/jsonc"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
)

// importable are the hosts whose servers tenon can read.
var importable = []string{"opencode", "claude", "cursor", "vscode"}

type initOptions struct {
	app     *app
	hosts   []string
	disable bool // opencode's own copies
}

func (a *app) initCommand() *cobra.Command {
	o := &initOptions{app: a}
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration, with the servers of other programs if you like",
		Long: "Writes the user's configuration if there is none. With --import the servers of other\n" +
			"programs are read from their own files, now and whenever those change. Browser\n" +
			"servers found there get an entry of their own with scope session: one browser a session.\n\n" +
			"What opencode starts itself would run twice. On a terminal it is offered to move those\n" +
			"servers: tenon gets entries of its own, opencode's get \"enabled\": false, which\n" +
			"tenon opencode uninstall undoes.",
		Example: "  tenon init --import opencode,claude",
		Args:    args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return initRun(cmd.Context(), o) },
	}
	c.Flags().StringSliceVar(&o.hosts, "import", nil, "`hosts` whose servers to read: "+strings.Join(importable, ", "))
	c.Flags().BoolVar(&o.disable, "disable-host-copies", false, "with --import opencode: move the servers out of opencode, without asking")
	return c
}

// initDocument is the --json form.
type initDocument struct {
	Config   string   `json:"config"`
	Created  bool     `json:"created"`
	Changed  bool     `json:"changed"`
	Servers  []string `json:"servers"`
	Session  []string `json:"session"`  // browser servers that were given scope session
	Twice    []string `json:"twice"`    // servers that opencode starts as well
	Disabled []string `json:"disabled"` // those that it started until now
}

// starter is the file for somebody who has none.
const starter = `{
  // Servers by name. A program calls them by that name: await fake.echo({text: "hi"})
  "servers": {
    // "browser": {
    //   "command": ["npx", "-y", "chrome-devtools-mcp"],
    //   "scope": "session"   // shared (the default), session, repo or directory
    // }
  }
}
`

func initRun(ctx context.Context, o *initOptions) error {
	for _, h := range o.hosts {
		if !slices.Contains(importable, h) {
			return fault.New(fault.UsageError, "tenon cannot import from %q", h).
				WithHint("it can from %s", strings.Join(importable, ", "))
		}
	}
	if o.disable && !slices.Contains(o.hosts, "opencode") {
		return fault.New(fault.UsageError, "--disable-host-copies goes with --import opencode")
	}
	// Before anything is written: an agent that adds servers would approve itself.
	if err := o.app.mayInstall(ctx); err != nil {
		return err
	}
	doc := initDocument{Config: o.app.userConfig(), Servers: []string{}, Session: []string{}, Twice: []string{}, Disabled: []string{}}
	if !exists(doc.Config) {
		if err := os.MkdirAll(filepath.Dir(doc.Config), 0o700); err != nil {
			return fault.New(fault.ConfigError, "cannot make %s: %w", filepath.Dir(doc.Config), err)
		}
		if err := local.WriteFile(doc.Config, []byte(starter), 0o600); err != nil {
			return err
		}
		doc.Created = true
	}
	changed, err := o.addImports(doc.Config)
	if err != nil {
		return err
	}
	view, err := o.view()
	if err != nil {
		return err
	}
	doc.Servers = append(doc.Servers, view.Names()...)
	if len(o.hosts) > 0 {
		if doc.Session, err = o.giveBrowsersASession(doc.Config, view); err != nil {
			return err
		}
	}
	if len(doc.Session) > 0 {
		if view, err = o.view(); err != nil {
			return err
		}
	}
	if err := o.switchOffCopies(ctx, &doc, view); err != nil {
		return err
	}
	doc.Changed = doc.Created || changed || len(doc.Session)+len(doc.Disabled) > 0
	return o.report(doc)
}

// addImports adds the hosts that the file does not import yet.
func (o *initOptions) addImports(file string) (bool, error) {
	if len(o.hosts) == 0 {
		return false, nil
	}
	return o.edit(file, func(text []byte) ([]byte, error) {
		for _, host := range o.hosts {
			have, _, err := jsonc.Get(text, []string{"import"})
			if err != nil {
				return nil, err
			}
			if list, ok := have.([]any); ok && slices.Contains(list, any(host)) {
				continue
			}
			if text, err = jsonc.Append(text, []string{"import"}, host); err != nil {
				return nil, err
			}
		}
		return text, nil
	})
}

// edit changes the user's file; formats without an editor are left to the user.
func (o *initOptions) edit(file string, change func([]byte) ([]byte, error)) (bool, error) {
	if ext := filepath.Ext(file); ext != ".json" && ext != ".jsonc" {
		return false, fault.New(fault.ConfigError, "%s is not edited: only JSON files are", file).
			WithHint("add by hand: import: [%s]", strings.Join(o.hosts, ", "))
	}
	changed, err := jsonc.EditFile(file, change)
	if err != nil {
		return false, fault.New(fault.ConfigError, "%s is left alone: %w", file, err)
	}
	return changed, nil
}

// view reads the configuration as the daemon will.
func (o *initOptions) view() (*config.View, error) {
	p, err := o.app.paths()
	if err != nil {
		return nil, err
	}
	env := config.EnvFrom(o.app.Environ)
	store, err := config.Open(config.Options{StateDir: p.State, Home: p.Home, Environ: env, Socket: p.Socket})
	if err != nil {
		return nil, err
	}
	return store.View(o.app.Cwd, o.app.configFile(), env)
}

// browserServers are packages that drive one browser a process: shared, two
// sessions would fight for its tab.
var browserServers = []string{
	"chrome-devtools-mcp", "@playwright/mcp", "playwright-mcp", "puppeteer", "browsermcp", "browser-use", "browserbase", "opencode-browser",
}

func drivesBrowser(s *config.Server) bool {
	return slices.ContainsFunc(s.Command, func(word string) bool {
		return slices.ContainsFunc(browserServers, func(name string) bool { return strings.Contains(word, name) })
	})
}

// giveBrowsersASession copies imported browser servers into the user's file,
// with scope session. The copy stands before the imported entry.
func (o *initOptions) giveBrowsersASession(file string, view *config.View) ([]string, error) {
	given := []string{}
	_, err := o.edit(file, func(text []byte) ([]byte, error) {
		given = given[:0]
		for _, name := range view.Names() {
			s := view.Servers[name]
			if s.Origin.Format == config.FormatTenon || s.Origin.File == file || s.Untrusted || s.Scope != config.Shared || !drivesBrowser(s) {
				continue
			}
			entry := ownEntry(s)
			entry["scope"] = string(config.Session)
			var err error
			if text, err = jsonc.Set(text, []string{"servers", name}, entry); err != nil {
				return nil, err
			}
			given = append(given, name)
		}
		return text, nil
	})
	return given, err
}

func (o *initOptions) report(doc initDocument) error {
	a := o.app
	if a.flags.json {
		return a.document(doc)
	}
	switch {
	case doc.Created:
		a.say("wrote %s", doc.Config)
	case doc.Changed:
		a.say("changed %s; the file as it was: %s", doc.Config, doc.Config+jsonc.BackupSuffix)
	default:
		a.say("%s is there already; nothing to do", doc.Config)
	}
	if len(doc.Session) > 0 {
		a.say("one instance a session: %s", strings.Join(doc.Session, ", "))
	}
	if len(doc.Servers) == 0 {
		if len(o.hosts) > 0 {
			a.say("%s has no servers that count here: add some to %s", strings.Join(o.hosts, " or "), doc.Config)
		} else {
			a.say("it has no servers yet: add one, or tenon init --import opencode")
		}
		return nil
	}
	if err := a.text(fmt.Sprintf("servers here: %s", strings.Join(doc.Servers, ", "))); err != nil {
		return err
	}
	if len(doc.Disabled) > 0 {
		a.say("opencode no longer starts them, from its next start on: %s (tenon opencode uninstall undoes that)", strings.Join(doc.Disabled, ", "))
	}
	if len(doc.Twice) > 0 {
		a.say("opencode starts these as well, so they run twice: %s", strings.Join(doc.Twice, ", "))
		a.say("hint: tenon init --import opencode --disable-host-copies gives tenon its own entries and disables opencode's")
	}
	return nil
}
