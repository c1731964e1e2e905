package config

import (
	"os"
	"path/filepath"
	"strings"

	"tenon/daemon/internal/fault"
)

// LookPath finds a program. A name with a slash is a path, meant from cwd when
// relative; a bare name is looked up in the folders of path (a PATH variable),
// of which relative ones are skipped: they would depend on whoever asks. The
// result is absolute. The ConfigError names the folders that were searched.
func LookPath(name, path, cwd string) (string, error) {
	if strings.ContainsRune(name, os.PathSeparator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(cwd, name)
		}
		if err := executable(name); err != "" {
			return "", fault.New(fault.ConfigError, "%s %s", name, err)
		}
		return name, nil
	}
	var searched []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if executable(file) == "" {
			return file, nil
		}
		searched = append(searched, dir)
	}
	if len(searched) == 0 {
		return "", fault.New(fault.ConfigError, "%s not found: the caller's PATH names no folder", name).
			WithHint("give the program's full path in command")
	}
	return "", fault.New(fault.ConfigError, "%s not found in PATH; looked in %s", name, strings.Join(searched, ", ")).
		WithHint("install %s, give its full path in command, or start your agent from a shell whose PATH has it", name)
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
	case info.Mode().Perm()&0o111 == 0:
		return "is not executable"
	}
	return ""
}
