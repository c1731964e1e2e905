// Package shelf finds, reads and keeps saved scripts: programs in files that are
// run by name. It executes nothing.
package shelf

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
)

// Folder is where a project keeps its scripts, below any of its directories.
const Folder = ".tenon/scripts"

// Who a script belongs to.
const (
	Project = "project"
	User    = "user"
)

// Bounds of one folder. What is beyond them is not listed.
const (
	maxScripts = 1000
	maxDepth   = 8
	maxFile    = 1 << 20 // bytes; no longer one is compiled
	maxName    = 128     // bytes of a script's name
)

// extensions of a script's file; of two files of one name in a folder, the
// earlier one is run.
var extensions = []string{".ts", ".mts", ".js", ".mjs"}

// Shelf finds saved scripts. It is safe for concurrent use.
type Shelf struct {
	user string

	mu    sync.Mutex
	known map[string]known // guarded by mu: headers by file
}

// known is a header, and what its file was when it was read.
type known struct {
	size  int64
	mtime int64
	Header
}

// New makes a shelf; user is the folder of the user's own scripts, absolute.
func New(user string) *Shelf { return &Shelf{user: user, known: map[string]known{}} }

// Script is one saved script.
type Script struct {
	Name     string // path in its folder, with slashes, without the extension
	File     string // absolute
	Where    string // Project or User
	Shadowed string // the file that is run in its place; empty: this one is
	Header

	root string // the folder, absolute, links resolved
	rel  string // the file from there, with slashes
}

// place is a folder of scripts.
type place struct {
	dir   string // absolute, links resolved
	where string
}

// places are the folders that a caller in dir sees, nearest first: .tenon/scripts
// from dir up to the repository's top, outside of one only dir's own, then the
// user's. A project's folder that a link leads out of the project is none.
func (s *Shelf) places(dir string) []place {
	var out []place
	for _, d := range surroundings(dir) {
		if real, ok := folder(filepath.Join(d, Folder)); ok && within(config.Workspace(dir), real) {
			out = append(out, place{real, Project})
		}
	}
	if real, ok := folder(s.user); ok && !slices.ContainsFunc(out, func(p place) bool { return p.dir == real }) {
		out = append(out, place{real, User})
	}
	return out
}

// surroundings are dir and what is above it up to the top of its repository.
func surroundings(dir string) []string {
	if dir == "" {
		return nil
	}
	top := config.Workspace(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	out := []string{dir}
	for dir != top && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		out = append(out, dir)
	}
	return out
}

func folder(dir string) (real string, ok bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", false
	}
	st, err := os.Stat(real)
	return real, err == nil && st.IsDir()
}

// within reports whether a path is another or lies below it.
func within(top, file string) bool {
	rel, err := filepath.Rel(top, file)
	return err == nil && filepath.IsLocal(rel)
}

// List shows the scripts that a caller in dir sees, by name; of one name the
// nearest first, the others with what shadows them.
func (s *Shelf) List(dir string) []Script {
	var out []Script
	first := map[string]string{}
	for _, p := range s.places(dir) {
		for _, x := range s.in(p) {
			x.Shadowed = first[x.Name]
			if x.Shadowed == "" {
				first[x.Name] = x.File
			}
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b Script) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// in lists the scripts of one folder. What leads out of it is not followed.
func (s *Shelf) in(p place) []Script {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	var out []Script
	_ = fs.WalkDir(root.FS(), ".", func(rel string, d fs.DirEntry, err error) error { // a folder that cannot be read holds none
		switch {
		case err != nil || len(out) >= maxScripts:
			return fs.SkipDir
		case d.IsDir() && rel != "." && (!segment().MatchString(d.Name()) || strings.Count(rel, "/") >= maxDepth):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		name, ok := nameOf(rel)
		if !ok {
			return nil
		}
		st, err := root.Stat(rel)
		if err != nil || !st.Mode().IsRegular() || st.Size() > maxFile {
			return nil
		}
		x := Script{Name: name, File: filepath.Join(p.dir, filepath.FromSlash(rel)), Where: p.where, root: p.dir, rel: rel}
		x.Header = s.header(root, x, st)
		out = append(out, x)
		return nil
	})
	slices.SortStableFunc(out, func(a, b Script) int {
		if a.Name != b.Name {
			return strings.Compare(a.Name, b.Name)
		}
		return slices.Index(extensions, path.Ext(a.rel)) - slices.Index(extensions, path.Ext(b.rel))
	})
	return out
}

// header reads a script's header, once for each state of its file.
func (s *Shelf) header(root *os.Root, x Script, st fs.FileInfo) Header {
	s.mu.Lock()
	k, ok := s.known[x.File]
	s.mu.Unlock()
	if ok && k.size == st.Size() && k.mtime == st.ModTime().UnixNano() {
		return k.Header
	}
	text, err := root.ReadFile(filepath.FromSlash(x.rel))
	if err != nil {
		return Header{Problem: "it cannot be read"}
	}
	k = known{st.Size(), st.ModTime().UnixNano(), ParseHeader(string(text))}
	s.mu.Lock()
	if len(s.known) >= 10*maxScripts {
		clear(s.known)
	}
	s.known[x.File] = k
	s.mu.Unlock()
	return k.Header
}

// segment is one part of a script's name. What begins with an underscore is a
// module for scripts to import, and none itself.
var segment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })

// nameOf is the name of the script in a file, if it is one.
func nameOf(rel string) (string, bool) {
	ext := path.Ext(rel)
	if !slices.Contains(extensions, ext) || strings.HasSuffix(rel, ".d"+ext) {
		return "", false
	}
	name := strings.TrimSuffix(rel, ext)
	return name, CheckName(name) == nil
}

// CheckName refuses a name that no script can have, as a UsageError.
func CheckName(name string) error {
	bad := len(name) > maxName || len(strings.Split(name, "/")) > maxDepth+1
	for part := range strings.SplitSeq(name, "/") {
		bad = bad || !segment().MatchString(part)
	}
	if !bad {
		return nil
	}
	e := fault.New(fault.UsageError, "%q cannot be the name of a script", clip(name, 60))
	if ext := path.Ext(name); slices.Contains(extensions, ext) {
		return e.WithHint("without the extension: %s", strings.TrimSuffix(name, ext))
	}
	return e.WithHint("letters, digits, dots, dashes and underscores, each part beginning with a letter or digit; slashes for folders; %d bytes at most", maxName)
}

// Find is the script that a name means to a caller in dir; NotFound with the
// nearest names when there is none. An extension may be written.
func (s *Shelf) Find(dir, name string) (*Script, error) {
	all := s.List(dir)
	wanted := strings.TrimPrefix(name, "./")
	if slices.Contains(extensions, path.Ext(wanted)) {
		for i := range all {
			if all[i].rel == wanted && all[i].Shadowed == "" {
				return &all[i], nil
			}
		}
	}
	var names []string
	for i := range all {
		if all[i].Name == wanted {
			return &all[i], nil
		}
		if all[i].Shadowed == "" {
			names = append(names, all[i].Name)
		}
	}
	e := fault.New(fault.NotFound, "there is no saved script %q", clip(name, maxName))
	if near := catalog.Nearest(wanted, names, 3); len(near) > 0 {
		return nil, e.WithHint("did you mean %s?", strings.Join(near, ", "))
	}
	if len(names) == 0 {
		return nil, e.WithHint("there are none for %s: tenon scripts save NAME FILE makes one", dir)
	}
	return nil, e.WithHint("tenon scripts lists those there are")
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
