package opencode

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// hostPackage is what opencode installs into each of its configuration
// directories so that plugins can import it.
const hostPackage = "@opencode-ai/plugin"

// ConfigDirs are the directories into which opencode 1.18 installs by itself,
// as far as they exist: its configuration's, ~/.opencode, the one that
// OPENCODE_CONFIG_DIR names (extra), and each .opencode from cwd up to the
// repository's top.
func ConfigDirs(config, home, extra, cwd string) []string {
	candidates := []string{config, filepath.Join(home, ".opencode"), extra}
	for at := cwd; ; at = filepath.Dir(at) {
		candidates = append(candidates, filepath.Join(at, ".opencode"))
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil || at == filepath.Dir(at) {
			break
		}
	}
	var out []string
	seen := map[string]bool{"": true}
	for _, dir := range candidates {
		if st, err := os.Stat(dir); !seen[dir] && err == nil && st.IsDir() {
			out = append(out, dir)
		}
		seen[dir] = true
	}
	return out
}

// Unfinished are those of the directories in which opencode will run an npm
// install at its next start: no plugin is loaded until that has ended or
// failed. A directory is done when it has node_modules and a lock file that
// lists the package. tenon itself writes neither.
func Unfinished(dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		if st, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil || !st.IsDir() || !locked(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// locked reports whether the directory's lock file lists opencode's package.
func locked(dir string) bool {
	raw, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return false
	}
	var lock struct {
		Packages map[string]struct {
			Dependencies map[string]string `json:"dependencies"`
		} `json:"packages"`
	}
	if json.Unmarshal(raw, &lock) != nil {
		return false
	}
	_, has := lock.Packages[""].Dependencies[hostPackage]
	return has
}

// ConfigFiles are the files of a user's and a project's configuration in which
// the hosts look for plugins, as far as they exist: in each of the directories,
// and beside the project's, from cwd up to the repository's top.
func ConfigFiles(dirs []string, cwd string) []string {
	candidates := append([]string{}, dirs...)
	for at := cwd; ; at = filepath.Dir(at) {
		candidates = append(candidates, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil || at == filepath.Dir(at) {
			break
		}
	}
	var out []string
	seen := map[string]bool{}
	for _, dir := range candidates {
		for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc", "tui.json", "tui.jsonc"} {
			file := filepath.Join(dir, name)
			if st, err := os.Stat(file); !seen[file] && err == nil && st.Mode().IsRegular() {
				out = append(out, file)
			}
			seen[file] = true
		}
	}
	return out
}
