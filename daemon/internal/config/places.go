package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ConfigDir is where the user's file lives: $XDG_CONFIG_HOME/tenon, or
// ~/.config/tenon. A relative XDG_CONFIG_HOME is ignored, as its rules ask.
func ConfigDir(env Env, home string) string {
	return filepath.Join(xdgConfig(env, home), "tenon")
}

func xdgConfig(env Env, home string) string {
	if dir := env["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home, ".config")
}

// stamp is what is known of a file without reading it. Two equal stamps mean
// the same content, unless fresh: a file changed in the same tick of the file
// system's clock as it was read could change again without a trace.
type stamp struct {
	exists bool
	size   int64
	mtime  int64
	fresh  bool
	dir    bool // only presence counts
	odd    bool // where a file should be is a folder, a pipe or what cannot be told; devices are nothing
}

// named reports whether something that should be a file bears the name.
func (s stamp) named() bool { return s.exists || s.odd }

// freshFor is longer than the coarsest tick of a local file system's clock.
const freshFor = 20 * time.Millisecond

func stampOf(path string, dir bool) stamp {
	info, err := os.Stat(path)
	if err != nil {
		gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		return stamp{dir: dir, odd: !dir && !gone}
	}
	if dir {
		return stamp{exists: true, dir: true}
	}
	if !info.Mode().IsRegular() {
		return stamp{odd: info.Mode()&fs.ModeDevice == 0}
	}
	age := time.Since(info.ModTime())
	return stamp{exists: true, size: info.Size(), mtime: info.ModTime().UnixNano(), fresh: age >= 0 && age < freshFor}
}

// probes remembers every path that a view depends on, present or not.
type probes struct {
	order []string
	seen  map[string]stamp
}

func newProbes() *probes { return &probes{seen: map[string]stamp{}} }

func (p *probes) look(path string, dir bool) stamp {
	if s, ok := p.seen[path]; ok {
		return s
	}
	s := stampOf(path, dir)
	p.order, p.seen[path] = append(p.order, path), s
	return s
}

// unchanged reports whether every path is still as it was.
func (p *probes) unchanged() bool {
	for _, path := range p.order {
		was := p.seen[path]
		if was.fresh || stampOf(path, was.dir) != was {
			return false
		}
	}
	return true
}

// configIn returns the one config file in dir with the base name config, or
// "". Two at once are a mistake: nobody could say which counts.
func (p *probes) configIn(dir string) (string, error) {
	if !p.look(dir, true).exists {
		return "", nil
	}
	found := ""
	for _, ext := range extensions {
		file := filepath.Join(dir, "config"+ext)
		if !p.look(file, false).named() {
			continue
		}
		if found != "" {
			return found, &BadFile{File: file, Message: fmt.Sprintf("%s is there as well", found), Hint: "keep one of the two files"}
		}
		found = file
	}
	return found, nil
}

// project is what surrounds a directory.
type project struct {
	dir  string   // absolute, links resolved
	top  string   // of the repository, or dir outside of one
	dirs []string // dir, its parent, … top
}

// surroundings walks from dir up to the repository's top: the first folder
// with a .git entry (a file in worktrees and submodules, so that each worktree
// is a project of its own). Outside of a repository only dir itself counts:
// a stranger's file in a parent folder must not.
func (p *probes) surroundings(dir string) project {
	pr := project{dir: dir, top: dir}
	for d := dir; ; d = filepath.Dir(d) {
		pr.dirs = append(pr.dirs, d)
		if p.look(filepath.Join(d, ".git"), true).exists {
			pr.top = d
			return pr
		}
		if d == filepath.Dir(d) {
			pr.dirs = pr.dirs[:1]
			return pr
		}
	}
}

// Workspace is the top of the repository that holds dir, or dir itself
// outside of one. Links are resolved.
func Workspace(dir string) string {
	return newProbes().surroundings(resolveDir(dir)).top
}

// resolveDir makes dir absolute and resolves its links as far as it exists.
func resolveDir(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// projectFile returns the nearest .tenon/config.* from the directory upwards.
func (p *probes) projectFile(pr project) (string, error) {
	for _, d := range pr.dirs {
		if file, err := p.configIn(filepath.Join(d, ".tenon")); file != "" {
			return file, err
		}
	}
	return "", nil
}

// hostFiles returns the own files of a host that exist: the user's and the
// project's, each lowest precedence first.
func (p *probes) hostFiles(host string, pr project, env Env, home string) (user, projects []source) {
	add := func(list *[]source, isProject bool, parts ...string) {
		file := filepath.Join(parts...)
		if p.look(file, false).exists {
			*list = append(*list, source{file: file, format: host, project: isProject})
		}
	}
	xdg := xdgConfig(env, home)
	switch host {
	case FormatOpencode:
		for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
			add(&user, false, xdg, "opencode", name)
		}
		add(&user, false, home, ".opencode", "opencode.json")
		add(&user, false, home, ".opencode", "opencode.jsonc")
	case FormatClaude:
		add(&user, false, home, ".claude.json")
	case FormatCursor:
		add(&user, false, home, ".cursor", "mcp.json")
	case FormatVSCode:
		add(&user, false, xdg, "Code", "User", "mcp.json")
	}
	for i := len(pr.dirs) - 1; i >= 0; i-- {
		for _, name := range projectHostFiles[host] {
			if dir := filepath.Dir(name); dir != "." && !p.look(filepath.Join(pr.dirs[i], dir), true).exists {
				continue
			}
			add(&projects, true, pr.dirs[i], name)
		}
	}
	return user, withoutFiles(projects, user)
}

// projectHostFiles are the files that a host reads in a project, lowest first.
var projectHostFiles = map[string][]string{
	FormatOpencode: {"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"},
	FormatClaude:   {".mcp.json"},
	FormatCursor:   {".cursor/mcp.json"},
	FormatVSCode:   {".vscode/mcp.json"},
}

// withoutFiles drops sources whose file is in other: in the home directory a
// host's project file is the user's own.
func withoutFiles(list, other []source) []source {
	out := list[:0]
	for _, s := range list {
		own := false
		for _, o := range other {
			own = own || o.file == s.file
		}
		if !own {
			out = append(out, s)
		}
	}
	return out
}

// expandHome replaces a leading ~ or ~/ by the home directory.
func expandHome(path, home string) string {
	if path == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}
