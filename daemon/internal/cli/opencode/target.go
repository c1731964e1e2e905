package opencode

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tenon/daemon/internal/config/jsonc"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
)

// Names below plugins/ in tenon's data directory, which no host scans: what is
// there is loaded once, by its entry, and with its options.
const (
	v1Server = "opencode-v1.js"
	v1TUI    = "opencode-v1-tui.js"
	v2Dir    = "opencode-v2"
)

// Target is where a plugin is installed.
type Target struct {
	Generation Generation
	ConfigDir  string // of opencode: ~/.config/opencode, or a project's directory
	Data       string // tenon's data directory; plugins go to plugins/ in it
	Bin        string // the tenon program that the plugin runs
}

// Plugin is what the configuration names: the file of v1, the directory of v2.
func (t Target) Plugin() string {
	if t.Generation == V2 {
		return t.placed(v2Dir)
	}
	return t.placed(v1Server)
}

func (t Target) placed(name string) string {
	return filepath.Join(t.Data, "plugins", filepath.FromSlash(name))
}

// configFile is the file of that name to edit: the one that exists, .jsonc
// before .json as opencode reads them, else a new .jsonc.
func configFile(dir, name string) string {
	for _, ext := range []string{".jsonc", ".json"} {
		if file := filepath.Join(dir, name+ext); lexists(file) {
			return file
		}
	}
	return filepath.Join(dir, name+".jsonc")
}

func lexists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// File is opencode's configuration file.
func (t Target) File() string { return configFile(t.ConfigDir, "opencode") }

// entry is one line in one of the host's files.
type entry struct {
	file   string
	plugin jsonc.Plugin
}

// entries are the lines that make up an installation. v1 has a second file for
// what runs beside its terminal interface; v2 finds that part by itself.
func (t Target) entries() []entry {
	options := map[string]any{"bin": t.Bin}
	if t.Generation == V2 {
		return []entry{{t.File(), jsonc.Plugin{List: "plugins", Path: t.Plugin(), Options: options}}}
	}
	return []entry{
		{t.File(), jsonc.Plugin{List: "plugin", Path: t.Plugin(), Options: options}},
		{configFile(t.ConfigDir, "tui"), jsonc.Plugin{List: "plugin", Path: t.placed(v1TUI)}},
	}
}

// byHand says how an entry is added without tenon.
func (e entry) byHand() string {
	doc, err := jsonc.AddPlugin([]byte("{}"), e.plugin)
	if err != nil { // a constant document takes any entry
		return e.plugin.Path
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(doc), "{"), "}")
}

// Edit is one changed file of the host.
type Edit struct {
	File    string `json:"file"`
	Backup  string `json:"backup,omitempty"`  // the file as it was; none where there was no file
	Removed bool   `json:"removed,omitempty"` // install had made the file, and it is gone
}

// Result says what a change did.
type Result struct {
	Host    Generation `json:"host"`
	Config  string     `json:"config"`
	Plugin  string     `json:"plugin"`
	Changed bool       `json:"changed"`
	Edits   []Edit     `json:"edits"` // of the host's files
}

func (t Target) result() Result {
	return Result{Host: t.Generation, Config: t.File(), Plugin: t.Plugin(), Edits: []Edit{}}
}

// newConfig is what a configuration starts from where there is none.
const newConfig = "{}\n"

// InstallAll is Install for several targets, each with its bundle; they may share
// files. Where one of these cannot be read, nothing is done for any target.
func InstallAll(targets []Target, bundles []*Bundle) ([]Result, error) {
	for _, t := range targets {
		if err := t.check(); err != nil {
			return nil, err
		}
	}
	var out []Result
	for i, t := range targets {
		r, err := t.Install(bundles[i])
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

// check reports whether all the entries can be added, without changing anything;
// the error says how to do it by hand.
func (t Target) check() error {
	for _, e := range t.entries() {
		if _, err := e.edited(); err != nil {
			return err
		}
	}
	return nil
}

// Install writes the plugin's files and adds its entries. Doing it again
// changes nothing. Where one of the configurations cannot be read, nothing at
// all is done, and the error says how to do it by hand.
func (t Target) Install(b *Bundle) (Result, error) {
	r := t.result()
	if err := t.check(); err != nil {
		return r, err
	}
	// The plugin first, so that the configuration never names what is not there.
	changed, err := t.place(b)
	if err != nil {
		return r, err
	}
	r.Changed = changed
	for _, e := range t.entries() {
		edit, err := e.write()
		if err != nil {
			return r, err
		}
		if edit != nil {
			r.Changed, r.Edits = true, append(r.Edits, *edit)
		}
	}
	return r, nil
}

// place writes the plugin's files, those that differ, and removes what an older
// build had put beside them.
func (t Target) place(b *Bundle) (changed bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		file := t.placed(name)
		if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, b.Files[name]) {
			continue
		}
		changed = true
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return changed, fault.New(fault.ConfigError, "cannot make a place for the plugin: %w", err)
		}
		if err := local.WriteFile(file, b.Files[name], 0o600); err != nil {
			return changed, err
		}
	}
	if t.Generation != V2 {
		return changed, nil
	}
	present, _ := os.ReadDir(t.Plugin()) // it has just been written
	for _, f := range present {
		if _, ours := b.Files[v2Dir+"/"+f.Name()]; !ours && f.Type().IsRegular() {
			changed = true
			if err := os.Remove(filepath.Join(t.Plugin(), f.Name())); err != nil {
				return changed, fault.New(fault.ConfigError, "cannot remove a file of an older plugin: %w", err)
			}
		}
	}
	return changed, nil
}

// edited is the entry's file with the entry in it, without writing anything.
func (e entry) edited() ([]byte, error) {
	doc, err := readFile(e.file)
	if errors.Is(err, fs.ErrNotExist) && !lexists(e.file) {
		doc, err = []byte(newConfig), nil
	}
	if err == nil {
		doc, err = jsonc.AddPlugin(doc, e.plugin)
	}
	if err != nil {
		return nil, fault.New(fault.ConfigError, "opencode's configuration is left alone: %s: %w", e.file, err).
			WithHint("mend %s and try again, or add by hand: %s", e.file, e.byHand())
	}
	return doc, nil
}

// readFile reads one of the host's files. A pipe or a device is refused: to read
// it would wait for a writer, and no signal ends that.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.ReadFile(path)
}

// installed is whether a file of opencode's names a plugin of tenon's, of whatever
// generation and place: then its backup is older than that.
func installed(doc []byte) bool {
	for _, list := range []string{"plugin", "plugins"} {
		value, _, err := jsonc.Get(doc, []string{list})
		entries, ok := value.([]any)
		if err != nil || !ok {
			continue
		}
		for _, e := range entries {
			switch entry := e.(type) {
			case []any:
				if len(entry) > 0 {
					e = entry[0]
				}
			case map[string]any:
				e = entry["package"]
			}
			if path, ok := e.(string); ok && strings.Contains(filepath.ToSlash(path), "/plugins/opencode-v") {
				return true
			}
		}
	}
	return false
}

// write puts the entry into its file, or makes the file; nil when it was there.
func (e entry) write() (*Edit, error) {
	if !lexists(e.file) {
		doc, err := e.edited()
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(filepath.Dir(e.file), 0o755); err != nil {
			return nil, fault.New(fault.ConfigError, "cannot make %s: %w", filepath.Dir(e.file), err)
		}
		return &Edit{File: e.file}, local.WriteFile(e.file, doc, 0o644)
	}
	changed, err := jsonc.EditFileAgain(e.file, installed, func(doc []byte) ([]byte, error) { return jsonc.AddPlugin(doc, e.plugin) })
	if err != nil {
		return nil, fault.New(fault.ConfigError, "opencode's configuration is left alone: %w", err).
			WithHint("mend %s and try again, or add by hand: %s", e.file, e.byHand())
	}
	if !changed {
		return nil, nil
	}
	return &Edit{File: e.file, Backup: e.file + jsonc.BackupSuffix}, nil
}

// Uninstall takes the entries out again. A configuration that Install made, and
// that nobody has added to, is removed with its backup. The plugin's files
// stay: see RemovePlugin.
func (t Target) Uninstall() (Result, error) {
	r := t.result()
	for _, e := range t.entries() {
		edit, err := t.takeOut(e)
		if err != nil {
			return r, err
		}
		if edit != nil {
			r.Changed, r.Edits = true, append(r.Edits, *edit)
		}
	}
	return r, nil
}

func (t Target) takeOut(e entry) (*Edit, error) {
	if t.made(e.file) {
		for _, file := range []string{e.file, e.file + jsonc.BackupSuffix} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fault.New(fault.ConfigError, "cannot remove the configuration that install made: %w", err)
			}
		}
		return &Edit{File: e.file, Removed: true}, nil
	}
	changed, err := jsonc.EditFileAgain(e.file, installed, func(doc []byte) ([]byte, error) {
		return jsonc.RemovePlugin(doc, e.plugin.List, e.plugin.Path)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !changed:
		return nil, nil
	case err != nil:
		return nil, fault.New(fault.ConfigError, "opencode's configuration is left alone: %w", err).
			WithHint("take %q out of %q in %s by hand", e.plugin.Path, e.plugin.List, e.file)
	}
	return &Edit{File: e.file, Backup: e.file + jsonc.BackupSuffix}, nil
}

// made reports whether file is as Install makes it where there is none: a
// regular file of nothing but this target's entries. A file that was there
// before has a backup without any entry of tenon's.
func (t Target) made(file string) bool {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return false
	}
	if !nothingBut(file, t) {
		return false
	}
	backup := file + jsonc.BackupSuffix
	other := t
	other.Generation = t.Generation.other()
	return !lexists(backup) || nothingBut(backup, t, other)
}

// nothingBut reports whether a file holds entries of the targets, one at least,
// and not a byte besides.
func nothingBut(file string, targets ...Target) bool {
	doc, err := readFile(file)
	if err != nil {
		return false
	}
	rest := doc
	for _, t := range targets {
		for _, e := range t.entries() {
			if rest, err = jsonc.RemovePlugin(rest, e.plugin.List, e.plugin.Path); err != nil {
				return false
			}
		}
	}
	return !bytes.Equal(rest, doc) && strings.Join(strings.Fields(string(rest)), "") == "{}" && bytes.HasSuffix(rest, []byte("}\n"))
}

// RemovePlugin removes the plugin's files; reports whether there were any. Other
// configurations that name them would fail to load them, so it is apart.
func (t Target) RemovePlugin() (bool, error) {
	removed := false
	names := []string{v1Server, v1TUI}
	if t.Generation == V2 {
		names = []string{v2Dir}
	}
	for _, name := range names {
		file := t.placed(name)
		if !lexists(file) {
			continue
		}
		removed = true
		if err := os.RemoveAll(file); err != nil {
			return removed, fault.New(fault.ConfigError, "cannot remove the plugin: %w", err)
		}
	}
	return removed, nil
}
