package opencode

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tenon/daemon/internal/config/jsonc"
)

// Status says what is installed for one generation of the host.
type Status struct {
	Host      Generation `json:"host"`
	Config    string     `json:"config"`
	Plugin    string     `json:"plugin"`
	Installed bool       `json:"installed"` // the configuration names the plugin
	Present   bool       `json:"present"`   // the plugin's files are there
	Current   bool       `json:"current"`   // and they are those that this program carries
	Version   string     `json:"version,omitempty"`
	Carried   string     `json:"carried,omitempty"` // the version that this program carries
	Programs  []Program  `json:"programs"`          // of this generation, on the PATH
	Problem   string     `json:"problem,omitempty"`
}

// Status looks without changing anything. b is what this program carries; nil
// when it carries none.
func (t Target) Status(b *Bundle, programs []Program) Status {
	s := Status{Host: t.Generation, Config: t.File(), Plugin: t.Plugin(), Programs: []Program{}}
	for _, p := range programs {
		if p.Host == t.Generation {
			s.Programs = append(s.Programs, p)
		}
	}
	main := t.entries()[0]
	if doc, err := readFile(main.file); err == nil {
		has, err := jsonc.HasPlugin(doc, main.plugin.List, main.plugin.Path)
		s.Installed = has
		if err != nil {
			s.Problem = main.file + ": " + err.Error()
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		s.Problem = err.Error()
	}
	if made, ok := madeBy(t.Plugin()); ok {
		s.Present, s.Version = true, made.version
	}
	if b != nil {
		s.Carried, s.Current = b.Version, s.Present && t.same(b)
	}
	if s.Installed && !s.Present && s.Problem == "" {
		s.Problem = "the configuration names " + s.Plugin + ", which is not there: install again"
	}
	return s
}

// same reports whether the placed files are the bundle's.
func (t Target) same(b *Bundle) bool {
	for _, name := range slices.Collect(maps.Keys(b.Files)) {
		if old, err := os.ReadFile(t.placed(name)); err != nil || !bytes.Equal(old, b.Files[name]) {
			return false
		}
	}
	return true
}

// Other is a copy of a plugin of tenon's that the hosts find without our entry.
type Other struct {
	Path string     `json:"path"`
	In   string     `json:"in"`             // the configuration that names it, or the folder that is scanned
	Made Generation `json:"made"`           // the generation it is made for
	Text string     `json:"text"`           // what each host makes of it
	List string     `json:"list,omitempty"` // the key that names it; empty in a scanned folder
}

// scanned are the names of the folders whose files both hosts load by themselves.
var scanned = []string{"plugin", "plugins"}

// Others looks for copies in the scanned folders of the given directories (see
// ConfigDirs), and for entries of the given files (see ConfigFiles) that name
// another one than the targets' own.
func Others(dirs, files []string, own ...Target) []Other {
	out := []Other{}
	mine := func(path string) bool {
		return slices.ContainsFunc(own, func(t Target) bool {
			return slices.ContainsFunc(t.entries(), func(e entry) bool { return e.plugin.Path == path })
		})
	}
	for _, dir := range dirs {
		for _, name := range scanned {
			folder := filepath.Join(dir, name)
			found, _ := os.ReadDir(folder) // usually there is none
			for _, f := range found {
				path := filepath.Join(folder, f.Name())
				if m, ok := madeBy(path); ok {
					out = append(out, Other{Path: path, In: folder, Made: m.host, Text: inFolder(m, isDir(path))})
				}
			}
		}
	}
	for _, file := range files {
		doc, err := readFile(file)
		if err != nil {
			continue
		}
		for _, list := range []string{"plugin", "plugins"} {
			names, _ := jsonc.Plugins(doc, list) // what cannot be read is a finding of the status
			for _, name := range names {
				path, m, ok := named(name, filepath.Dir(file))
				if !ok || mine(path) {
					continue
				}
				out = append(out, Other{Path: path, In: file, List: list, Made: m.host, Text: inList(list, m)})
			}
		}
	}
	return out
}

// inFolder says what the hosts make of a copy in a folder that both scan.
func inFolder(made maker, dir bool) string {
	switch {
	case made.dual:
		return "opencode v1 and v2 both load it from there as well, without its options"
	case made.host == V1:
		return "opencode v1 loads it from there as well, without its options; v2 reads the same folder, cannot use it and goes on"
	case dir:
		return "opencode v2 loads it from there as well, without its options; v1 looks into no directories"
	}
	return "opencode v2 loads it from there as well, without its options; v1 reads the same folder, logs that it cannot use it and goes on"
}

// inList says what the hosts make of an entry: v2 also reads v1's list, v1
// drops v2's.
func inList(list string, made maker) string {
	switch {
	case list == "plugins" && made.host == V1:
		return "it is v1's plugin in v2's list: neither host can use it"
	case list == "plugin" && made.host == V2 && !made.dual:
		return "it is v2's plugin in v1's list: v1 logs that it cannot use it, v2 may load it"
	}
	return "opencode " + string(made.host) + " loads it besides what tenon installs"
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
