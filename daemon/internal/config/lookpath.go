package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tenon/daemon/internal/fault"
)

// LookPath finds a program as the system at hand does; see Lookup.Find.
func LookPath(name, path, cwd string) (string, error) {
	return Lookup{OS: runtime.GOOS, PathExt: os.Getenv("PATHEXT"), Why: executable}.Find(name, path, cwd)
}

// Lookup finds programs by the rules of an operating system.
type Lookup struct {
	OS      string                   // runtime.GOOS's names
	PathExt string                   // on windows: PATHEXT; empty: its usual value
	Why     func(file string) string // why a file cannot be run; empty: it can
}

// Find finds a program. A name with a separator is a path, meant from cwd when
// relative; a bare name is looked up in the folders of path (a PATH variable),
// of which relative ones are skipped: they would depend on whoever asks. The
// result is absolute. The ConfigError names the folders that were searched.
//
// On windows a file is a program by its extension: a name without one of
// PATHEXT's is tried with each of them, in their order, and never without. A
// folder may hold `npx`, a script for other systems, beside `npx.cmd`.
func (l Lookup) Find(name, path, cwd string) (string, error) {
	if strings.ContainsAny(name, l.separators()) {
		if !l.absolute(name) {
			name = l.join(cwd, name)
		}
		why := ""
		for _, file := range l.candidates(name) {
			if why = l.Why(file); why == "" {
				return file, nil
			}
		}
		return "", fault.New(fault.ConfigError, "%s %s", name, why)
	}
	var searched []string
	for _, dir := range l.folders(path) {
		if !l.absolute(dir) {
			continue
		}
		for _, file := range l.candidates(l.join(dir, name)) {
			if l.Why(file) == "" {
				return file, nil
			}
		}
		if !slices.Contains(searched, dir) {
			searched = append(searched, dir)
		}
	}
	if len(searched) == 0 {
		return "", fault.New(fault.ConfigError, "%s not found: the caller's PATH names no folder", name).
			WithHint("give the program's full path in command")
	}
	return "", fault.New(fault.ConfigError, "%s not found in PATH; looked in %s", name, strings.Join(searched, ", ")).
		WithHint("install %s, give its full path in command, or start your agent from a shell whose PATH has it", name)
}

func (l Lookup) windows() bool { return l.OS == "windows" }

func (l Lookup) separators() string {
	if l.windows() {
		return `\/`
	}
	return "/"
}

// folders splits a PATH. On windows a folder with a semicolon in its name stands
// in quotes.
func (l Lookup) folders(path string) []string {
	if !l.windows() {
		return strings.Split(path, ":")
	}
	quoted := false
	parts := strings.FieldsFunc(path, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ';' && !quoted
	})
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, `"`, "")
	}
	return parts
}

// absolute on windows: C:\x and \\server\share\x. \x and C:x depend on where
// the process stands.
func (l Lookup) absolute(path string) bool {
	if !l.windows() {
		return strings.HasPrefix(path, "/")
	}
	slashed := strings.ReplaceAll(path, `\`, "/")
	return strings.HasPrefix(slashed, "//") || len(slashed) > 2 && slashed[1] == ':' && slashed[2] == '/'
}

func (l Lookup) join(dir, name string) string {
	if !l.windows() {
		return filepath.Join(dir, name)
	}
	name = strings.TrimPrefix(strings.ReplaceAll(name, "/", `\`), `.\`)
	return strings.TrimRight(dir, `\/`) + `\` + name
}

// startable are the extensions that a process can be started from: programs,
// and what cmd.exe runs. Whatever else PATHEXT names needs an interpreter.
const startable = ".COM;.EXE;.BAT;.CMD"

// candidates are the files that a path may mean.
func (l Lookup) candidates(path string) []string {
	if !l.windows() {
		return []string{path}
	}
	known := l.PathExt
	if known == "" {
		known = startable
	}
	var out []string
	for ext := range strings.SplitSeq(known, ";") {
		if ext == "" || !strings.Contains(startable+";", strings.ToUpper(ext)+";") {
			continue
		}
		if len(path) > len(ext) && strings.EqualFold(path[len(path)-len(ext):], ext) {
			return []string{path}
		}
		out = append(out, path+strings.ToLower(ext))
	}
	return out
}

// executable says why a file cannot be run, or nothing.
func executable(file string) string {
	info, err := os.Stat(file)
	switch {
	case os.IsNotExist(err):
		return "does not exist"
	case err != nil:
		return "cannot be read: " + reason(err)
	case info.IsDir():
		return "is a folder"
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return "is not executable"
	}
	return ""
}
