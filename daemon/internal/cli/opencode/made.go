package opencode

import (
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// maker is what a file or directory tells of itself.
type maker struct {
	host    Generation
	version string
	dual    bool // one file for both generations
}

// The names of the npm packages; the built files start with them in a comment.
const (
	v1Package = "opencode-tenon"
	v2Package = "opencode-tenon-v2"
)

// maxPlugin bounds what is read of a file in a folder that anybody may fill.
const maxPlugin = 4 << 20

// title is the first line of a built file; hello is what every build of the
// plugin sends, also those before the title was added.
var (
	title = regexp.MustCompile(`(?m)\A// (opencode-tenon(?:-v2)?)(?:/(\w+))? (\S+)$`)
	hello = regexp.MustCompile(`\bplugin: "(opencode-tenon(?:-v2)?)"`)
)

// madeBy recognises a plugin of tenon's, a file or a directory, whatever it is
// called by now.
func madeBy(path string) (maker, bool) {
	st, err := os.Stat(path)
	if err != nil {
		return maker{}, false
	}
	if st.IsDir() {
		raw, err := readBounded(filepath.Join(path, "package.json"))
		var p npmPackage
		if err != nil || json.Unmarshal(raw, &p) != nil {
			return maker{}, false
		}
		return makerOf(p.Name, p.Version)
	}
	switch filepath.Ext(path) {
	case ".js", ".ts", ".mjs":
	default:
		return maker{}, false
	}
	raw, err := readBounded(path)
	if err != nil {
		return maker{}, false
	}
	if m := title.FindSubmatch(raw); m != nil {
		made, ok := makerOf(string(m[1]), string(m[3]))
		made.dual = string(m[2]) == "dual"
		return made, ok
	}
	if m := hello.FindSubmatch(raw); m != nil {
		return makerOf(string(m[1]), "")
	}
	return maker{}, false
}

func makerOf(name, version string) (maker, bool) {
	switch name {
	case v1Package:
		return maker{host: V1, version: version}, true
	case v2Package:
		return maker{host: V2, version: version}, true
	}
	return maker{}, false
}

func readBounded(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, os.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, maxPlugin))
}

// named recognises what an entry of a list names: a path, relative to the
// directory of the file it stands in, or a package of npm.
func named(entry, dir string) (path string, m maker, ok bool) {
	switch {
	case strings.HasPrefix(entry, "file://"):
		u, err := url.Parse(entry)
		if err != nil {
			return "", maker{}, false
		}
		path = u.Path
	case strings.HasPrefix(entry, "."):
		path = filepath.Join(dir, entry)
	case filepath.IsAbs(entry):
		path = entry
	default:
		name, version, _ := strings.Cut(entry, "@")
		m, ok = makerOf(name, version)
		return entry, m, ok
	}
	m, ok = madeBy(path)
	return path, m, ok
}
