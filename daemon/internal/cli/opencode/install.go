package opencode

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tenon/daemon/internal/config/jsonc"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
)

// Target is where to install.
type Target struct {
	ConfigDir string // of opencode: ~/.config/opencode, or a project's .opencode's parent
	Data      string // tenon's data directory; the plugin goes to plugins/ in it
	Bin       string // the tenon program that the plugin runs
}

// newConfig is what a configuration starts from where there is none.
const newConfig = "{}\n"

// File is the configuration file to edit: the one that exists, opencode.jsonc
// before opencode.json as opencode reads them, else a new opencode.jsonc.
func (t Target) File() string {
	for _, name := range []string{"opencode.jsonc", "opencode.json"} {
		f := filepath.Join(t.ConfigDir, name)
		if _, err := os.Lstat(f); err == nil {
			return f
		}
	}
	return filepath.Join(t.ConfigDir, "opencode.jsonc")
}

// Plugin is where the plugin's file is put: outside of every folder that
// opencode scans, so that it is loaded once and with its options.
func (t Target) Plugin() string { return filepath.Join(t.Data, "plugins", "opencode-v1.js") }

// Result says what a change did.
type Result struct {
	Config  string `json:"config"`
	Plugin  string `json:"plugin"`
	Changed bool   `json:"changed"`
	Backup  string `json:"backup,omitempty"`  // of the configuration, when it was changed
	Removed bool   `json:"removed,omitempty"` // the configuration, which install had made, is gone
	// Enabled are the servers that an uninstall gave back to opencode.
	Enabled []string `json:"enabled,omitempty"`
}

// Install writes the plugin's file and adds its one entry. Doing it again
// changes nothing. A configuration that cannot be read is left alone.
func (t Target) Install(plugin []byte) (Result, error) {
	r := Result{Config: t.File(), Plugin: t.Plugin()}
	// The configuration first: when it cannot be edited, nothing is left behind.
	entry := jsonc.Plugin{Path: t.Plugin(), Options: map[string]any{"bin": t.Bin}}
	changed, err := t.edit(r.Config, func(doc []byte) ([]byte, error) { return jsonc.AddPlugin(doc, entry) })
	if err != nil {
		return r, err
	}
	if changed {
		r.Changed = true
		if _, err := os.Stat(r.Config + jsonc.BackupSuffix); err == nil {
			r.Backup = r.Config + jsonc.BackupSuffix
		}
	}
	old, err := os.ReadFile(r.Plugin)
	if err == nil && bytes.Equal(old, plugin) {
		return r, nil
	}
	r.Changed = true
	if err := os.MkdirAll(filepath.Dir(r.Plugin), 0o700); err != nil {
		return r, fault.New(fault.ConfigError, "cannot make a place for the plugin: %w", err)
	}
	return r, local.WriteFile(r.Plugin, plugin, 0o600)
}

// edit changes the configuration, or makes it when there is none.
func (t Target) edit(file string, change func([]byte) ([]byte, error)) (bool, error) {
	changed, err := jsonc.EditFile(file, change)
	if errors.Is(err, fs.ErrNotExist) {
		doc, err := change([]byte(newConfig))
		if err != nil {
			return false, fault.New(fault.ConfigError, "%s: %w", file, err)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return false, fault.New(fault.ConfigError, "cannot make %s: %w", filepath.Dir(file), err)
		}
		return true, local.WriteFile(file, doc, 0o644)
	}
	if err != nil {
		return false, fault.New(fault.ConfigError, "opencode's configuration is left alone: %w", err).
			WithHint("mend %s, or add the plugin by hand: \"plugin\": [[%q, {\"bin\": %q}]]", file, t.Plugin(), t.Bin)
	}
	return changed, nil
}

// made reports whether file is as Install makes it where there is none: a
// regular file of nothing but the entry. A file that was there before has a
// backup without the entry.
func (t Target) made(file string) bool {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return false
	}
	ours := func(file string) bool {
		doc, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		rest, err := jsonc.RemovePlugin(doc, t.Plugin())
		return err == nil && !bytes.Equal(rest, doc) && string(rest) == newConfig
	}
	_, err := os.Lstat(file + jsonc.BackupSuffix)
	return ours(file) && (errors.Is(err, fs.ErrNotExist) || ours(file+jsonc.BackupSuffix))
}

// Uninstall takes the entry out again. A configuration that Install made, and
// that nobody has added to, is removed with its backup.
func (t Target) Uninstall() (Result, error) {
	r := Result{Config: t.File(), Plugin: t.Plugin()}
	if t.made(r.Config) {
		for _, file := range []string{r.Config, r.Config + jsonc.BackupSuffix} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return r, fault.New(fault.ConfigError, "cannot remove the configuration that install made: %w", err)
			}
		}
		r.Changed, r.Removed = true, true
		return r, nil
	}
	changed, err := jsonc.EditFile(r.Config, func(doc []byte) ([]byte, error) { return jsonc.RemovePlugin(doc, t.Plugin()) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return r, fault.New(fault.ConfigError, "opencode's configuration is left alone: %w", err).
			WithHint("take %q out of \"plugin\" in %s by hand", t.Plugin(), r.Config)
	case changed:
		r.Changed, r.Backup = true, r.Config+jsonc.BackupSuffix
	}
	return r, nil
}

// RemovePlugin removes the plugin's file; reports whether there was one. Other
// configurations that name it would fail to load it, so it is apart.
func (t Target) RemovePlugin() (bool, error) {
	err := os.Remove(t.Plugin())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fault.New(fault.ConfigError, "cannot remove the plugin: %w", err)
	}
	return true, nil
}

// Status says what is installed.
type Status struct {
	Config    string `json:"config"`
	Plugin    string `json:"plugin"`
	Installed bool   `json:"installed"` // the configuration names the plugin
	Present   bool   `json:"present"`   // the plugin's file is there
	Current   bool   `json:"current"`   // and it is the one this program carries
	Problem   string `json:"problem,omitempty"`
}

// Status looks without changing anything. plugin is what this program carries;
// nil when it carries none.
func (t Target) Status(plugin []byte) Status {
	s := Status{Config: t.File(), Plugin: t.Plugin()}
	if doc, err := os.ReadFile(s.Config); err == nil {
		has, err := jsonc.HasPlugin(doc, t.Plugin())
		s.Installed = has
		if err != nil {
			s.Problem = s.Config + ": " + err.Error()
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		s.Problem = err.Error()
	}
	if old, err := os.ReadFile(s.Plugin); err == nil {
		s.Present, s.Current = true, plugin != nil && bytes.Equal(old, plugin)
	}
	if s.Installed && !s.Present {
		s.Problem = "the configuration names " + s.Plugin + ", which is not there: install again"
	}
	return s
}
