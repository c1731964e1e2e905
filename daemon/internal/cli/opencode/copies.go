package opencode

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"tenon/daemon/internal/config/jsonc"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
)

// Copy is an entry of a server in one of opencode's own files.
type Copy struct {
	File   string   `json:"file"`
	Name   string   `json:"name"`
	Path   []string `json:"path"`   // of its member enabled
	Stated bool     `json:"stated"` // enabled was written there, as true
}

// UserFiles are the files that opencode reads for a user, as far as they exist.
func UserFiles(config, home string) []string {
	var out []string
	for dir, names := range map[string][]string{
		config:                           {"config.json", "opencode.json", "opencode.jsonc"},
		filepath.Join(home, ".opencode"): {"opencode.json", "opencode.jsonc"},
	} {
		for _, name := range names {
			file := filepath.Join(dir, name)
			if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
				out = append(out, file)
			}
		}
	}
	sort.Strings(out)
	return out
}

// Running lists the entries that opencode would start, of the servers that
// known accepts. A file that cannot be read has none: tenon imports nothing
// from it either.
func Running(files []string, known func(name string) bool) []Copy {
	var out []Copy
	for _, file := range files {
		doc, err := readFile(file)
		if err != nil {
			continue
		}
		path := []string{"mcp"}
		value, _, err := jsonc.Get(doc, path)
		entries, _ := value.(map[string]any)
		if err != nil || entries == nil {
			continue
		}
		entries, second := serversOf(entries)
		if second {
			path = []string{"mcp", "servers"}
		}
		for name, value := range entries {
			entry, ok := value.(map[string]any)
			enabled, stated := entry["enabled"]
			if !ok || enabled == false || !known(name) {
				continue
			}
			out = append(out, Copy{File: file, Name: name, Path: append(slices.Clone(path), name, "enabled"), Stated: stated})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].File < out[j].File || out[i].File == out[j].File && out[i].Name < out[j].Name
	})
	return out
}

// Disabled is the file that remembers which entries tenon has switched off.
type Disabled string

// list reads it; without a file it is empty.
func (d Disabled) list() ([]Copy, error) {
	raw, err := os.ReadFile(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var copies []Copy
	if err == nil {
		err = json.Unmarshal(raw, &copies)
	}
	if err != nil {
		return nil, fault.New(fault.ConfigError, "what tenon switched off in opencode cannot be read: %w", err).
			WithHint("remove %s and look for \"enabled\": false in opencode's files", string(d))
	}
	return copies, nil
}

func (d Disabled) keep(copies []Copy) error {
	if len(copies) == 0 {
		if err := os.Remove(string(d)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.ConfigError, "%w", err)
		}
		return nil
	}
	raw, err := json.MarshalIndent(copies, "", "  ")
	if err != nil {
		return fault.New(fault.InternalError, "%w", err)
	}
	if err := os.MkdirAll(filepath.Dir(string(d)), 0o700); err != nil {
		return fault.New(fault.ConfigError, "%w", err)
	}
	return local.WriteFile(string(d), append(raw, '\n'), 0o600)
}

// Switch sets the entries to "enabled": false, leaving every other byte and a
// backup of each file. They are remembered before the first file is touched.
func (d Disabled) Switch(copies []Copy) error {
	had, err := d.list()
	if err != nil {
		return err
	}
	all := slices.Clone(copies)
	for _, old := range had { // what is switched off anew is remembered as it is now
		if !slices.ContainsFunc(copies, func(c Copy) bool { return c.File == old.File && slices.Equal(c.Path, old.Path) }) {
			all = append(all, old)
		}
	}
	if err := d.keep(all); err != nil {
		return err
	}
	again := func(file string) bool { return slices.ContainsFunc(had, func(c Copy) bool { return c.File == file }) }
	return edit(copies, again, func(doc []byte, c Copy) ([]byte, error) { return jsonc.Set(doc, c.Path, false) })
}

// Undo gives the entries back what they had, and forgets them. What somebody
// has changed since is left as it is. It returns what it gave back.
func (d Disabled) Undo() ([]Copy, error) {
	copies, err := d.list()
	if err != nil {
		return nil, err
	}
	var undone []Copy
	always := func(string) bool { return true } // what is undone was done
	err = edit(copies, always, func(doc []byte, c Copy) ([]byte, error) {
		now, _, err := jsonc.Get(doc, c.Path)
		if err != nil || now != false {
			return doc, err
		}
		undone = append(undone, c)
		if c.Stated {
			return jsonc.Set(doc, c.Path, true)
		}
		return jsonc.Remove(doc, c.Path)
	})
	if err != nil {
		return nil, err
	}
	return undone, d.keep(nil)
}

// edit changes each file once. One that has gone has nothing to change. Again is
// whether tenon has switched something off in a file before: its backup stays then.
func edit(copies []Copy, again func(file string) bool, change func([]byte, Copy) ([]byte, error)) error {
	files := map[string][]Copy{}
	for _, c := range copies {
		files[c.File] = append(files[c.File], c)
	}
	for file, copies := range files {
		before := func(doc []byte) bool { return again(file) || installed(doc) }
		_, err := jsonc.EditFileAgain(file, before, func(doc []byte) (out []byte, err error) {
			for _, c := range copies {
				if doc, err = change(doc, c); err != nil {
					return nil, err
				}
			}
			return doc, nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.ConfigError, "opencode's configuration is left alone: %w", err).
				WithHint("mend %s and try again", file)
		}
	}
	return nil
}
