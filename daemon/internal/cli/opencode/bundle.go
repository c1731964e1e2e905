// Package opencode installs tenon's plugins into opencode's configuration and
// takes them out again, leaving every other byte of the files as it is. Each
// generation of opencode has a plugin of its own; both read the same files.
package opencode

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"path"

	"tenon/daemon/internal/fault"
)

// Generation is a line of opencode with a plugin interface of its own.
type Generation string

// The generations that tenon has a plugin for.
const (
	V1 Generation = "v1"
	V2 Generation = "v2"
)

// Generations lists them, oldest first.
func Generations() []Generation { return []Generation{V1, V2} }

// other is the generation that reads the same folders and files.
func (g Generation) other() Generation {
	if g == V1 {
		return V2
	}
	return V1
}

//go:embed all:bundle
var bundle embed.FS

// Bundle is the plugin of one generation, by the names that its files get in
// tenon's data directory: those of v1 stand there by themselves, those of v2
// are a directory.
type Bundle struct {
	Version string // as the plugin tells it
	Files   map[string][]byte
}

// contents are the files that `make build` puts into the bundle's folder.
var contents = map[Generation][]string{
	V1: {"tenon.js", "tui.js", "package.json"},
	V2: {"server.js", "tui.js", "rpc.js", "package.json"},
}

// Carried is the plugin that this program carries. One that was built without
// it (go build instead of make build) has none, which is an EngineUnavailable.
func Carried(g Generation) (*Bundle, error) {
	dir, err := fs.Sub(bundle, "bundle/opencode-"+string(g))
	if err != nil {
		return nil, fault.New(fault.InternalError, "the plugin's bundle: %w", err)
	}
	b, err := readBundle(g, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.EngineUnavailable, "this tenon was built without the plugin for opencode %s", g).
			WithHint("build it with: make build")
	}
	return b, err
}

// readBundle reads what `make build` wrote and gives it the names of Bundle.
func readBundle(g Generation, dir fs.FS) (*Bundle, error) {
	files := map[string][]byte{}
	for _, name := range contents[g] {
		raw, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		files[name] = raw
	}
	var p npmPackage
	if err := json.Unmarshal(files["package.json"], &p); err != nil {
		return nil, fault.New(fault.InternalError, "the package.json of the plugin for %s: %w", g, err)
	}
	out := &Bundle{Version: p.Version, Files: map[string][]byte{}}
	if g == V1 {
		out.Files[v1Server], out.Files[v1TUI] = files["tenon.js"], files["tui.js"]
		return out, nil
	}
	for name, raw := range files {
		out.Files[path.Join(v2Dir, name)] = raw
	}
	return out, nil
}

// npmPackage is what is read of a package.json.
type npmPackage struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Type    string            `json:"type"`
	Exports map[string]string `json:"exports"`
}
