package opencode

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
)

// Program is an opencode that was found on the PATH.
type Program struct {
	Path    string     `json:"path"`
	Version string     `json:"version"`
	Host    Generation `json:"host"`
}

// versionTimeout bounds `opencode --version`, which takes about a second.
const versionTimeout = 10 * time.Second

var version = regexp.MustCompile(`\b(\d+)\.\d+\.\d+[\w.+-]*`)

// Programs finds every opencode in the folders of a PATH, links resolved, in
// order. The version is the one of the npm package that the program lies in,
// else what `opencode --version` says with the given environment.
func Programs(path string, environ []string) []Program {
	var out []Program
	seen := map[string]bool{}
	for _, dir := range filepath.SplitList(path) {
		file, err := filepath.EvalSymlinks(filepath.Join(dir, "opencode"))
		if err != nil || !filepath.IsAbs(dir) || seen[file] {
			continue
		}
		seen[file] = true
		if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0 {
			continue
		}
		text, known := packaged(file)
		if !known {
			text = asked(file, environ)
		}
		m := version.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		host := V2
		if m[1] == "0" || m[1] == "1" {
			host = V1
		}
		out = append(out, Program{Path: filepath.Join(dir, "opencode"), Version: m[0], Host: host})
	}
	return out
}

// packaged is the version of the npm package of opencode that a program is part
// of: its package.json stands one or two folders above.
func packaged(file string) (string, bool) {
	dir := filepath.Dir(file)
	for range 2 {
		dir = filepath.Dir(dir)
		raw, err := readBounded(filepath.Join(dir, "package.json"))
		if err != nil {
			continue
		}
		var p npmPackage
		if json.Unmarshal(raw, &p) == nil && strings.Contains(p.Name, "opencode") {
			return p.Version, p.Version != ""
		}
	}
	return "", false
}

// asked runs the program for its version; empty when it says none in time.
func asked(file string, environ []string) string {
	var out bytes.Buffer
	cmd := exec.Command(file, "--version")
	cmd.Env, cmd.Stdout, cmd.WaitDelay = environ, &out, time.Second
	if cmd.Start() != nil {
		return ""
	}
	limit := time.AfterFunc(versionTimeout, func() { _ = cmd.Process.Kill() }) // it may have ended
	defer limit.Stop()
	if cmd.Wait() != nil {
		return ""
	}
	return out.String()
}

// Chosen are the generations that an installation without a flag is for: those
// of the programs that were found. None is a NotFound that names the flags.
func Chosen(programs []Program) ([]Generation, error) {
	var out []Generation
	for _, g := range Generations() {
		for _, p := range programs {
			if p.Host == g {
				out = append(out, g)
				break
			}
		}
	}
	if len(out) == 0 {
		return nil, fault.New(fault.NotFound, "no opencode is on the PATH, so its generation is not known").
			WithHint("say which: --v1 for opencode 1.18, --v2 for opencode 2")
	}
	return out, nil
}
