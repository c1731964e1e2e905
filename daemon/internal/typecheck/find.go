package typecheck

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
)

// tool is a checker that was found.
type tool struct {
	kind    string   // tsc, deno
	command []string // what its own arguments are appended to
	path    string   // of the file that decides what it does
	version string   // empty where only running it would tell
	stamp   string   // changes when the file does
	// reads is set for a project's own: the directories that it is made of and
	// may read. It is confined to them and to its directory where the kernel can.
	reads []string
}

// untrusted is why a checker that was found is left out.
const untrusted = " (not used: the project is not trusted)"

func (t *tool) String() string {
	name := t.kind
	if t.version != "" {
		name += " " + t.version
	}
	return name + " (" + t.path + ")"
}

// find looks for a checker: the project's own TypeScript, whose version the
// project is written against; tsc of PATH; deno of PATH. Executing a file of a
// project is what trust is for, so those of a project that is not trusted are
// left out, wherever PATH names them.
func find(p Place) (*tool, error) {
	var searched []string
	path := p.Env["PATH"]
	if pkg := projectPackage(p); pkg != "" {
		node, err := config.LookPath("node", path, p.Dir)
		switch {
		case !p.Trusted:
			searched = append(searched, pkg+untrusted)
		case err != nil:
			searched = append(searched, pkg+" (not used: there is no node in PATH to run it)")
		default:
			t := tscOf(filepath.Join(pkg, "bin", "tsc"), node)
			// The native compiler lies in a package beside this one.
			t.reads = []string{filepath.Dir(pkg), filepath.Dir(resolved(pkg)), filepath.Dir(resolved(node))}
			return t, nil
		}
	} else {
		searched = append(searched, "node_modules/typescript of "+p.Workspace)
	}
	for _, kind := range []string{"tsc", "deno"} {
		file, err := config.LookPath(kind, path, p.Dir)
		switch {
		case err != nil:
			searched = append(searched, kind+" in PATH")
		case !p.Trusted && within(file, p.Workspace):
			searched = append(searched, file+untrusted)
		case kind == "tsc":
			return tscOf(file, ""), nil
		default:
			return &tool{kind: kind, command: []string{file}, path: file, stamp: stampOf(file)}, nil
		}
	}
	e := fault.New(fault.TypeCheckError, "there is no type checker on this machine that may be used; looked for %s", strings.Join(searched, ", "))
	if slices.ContainsFunc(searched, func(s string) bool { return strings.HasSuffix(s, untrusted) }) {
		return nil, e.WithHint("tenon trust lets the project's own be used, where its .tenon/config.jsonc has something to trust, such as a script section; else install TypeScript 5 or later, or deno, so that PATH has it")
	}
	return nil, e.WithHint("install TypeScript 5 or later (npm install --global typescript) or deno, so that PATH has it; or set script.typecheck to off")
}

// projectPackage is the nearest TypeScript installed between the run's
// directory and the project's top, or empty. Above the top are folders that
// belong to no project, and /tmp among them to anybody.
func projectPackage(p Place) string {
	dir := p.Dir
	for within(dir, p.Workspace) {
		pkg := filepath.Join(dir, "node_modules", "typescript")
		if info, err := os.Stat(filepath.Join(pkg, "bin", "tsc")); err == nil && info.Mode().IsRegular() {
			return pkg
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

// within reports whether file lies in dir, also by way of links.
func within(file, dir string) bool {
	if dir == "" {
		return false
	}
	for _, f := range []string{file, resolved(file)} {
		if rel, err := filepath.Rel(resolved(dir), f); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return true
		}
		if rel, err := filepath.Rel(dir, f); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return true
		}
	}
	return false
}

func resolved(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return real
	}
	return file
}

// tscOf is TypeScript's compiler: file, executed by node where that is given.
// Only its command line is used, which is the same in the compiler that is
// written in JavaScript and in the native one.
func tscOf(file, node string) *tool {
	t := &tool{kind: "tsc", command: []string{file}, path: file, stamp: stampOf(file)}
	if node != "" {
		t.command = []string{node, file}
	}
	// PATH leads by a link to typescript/bin/tsc, and package.json says which
	// version that is.
	manifest := filepath.Join(filepath.Dir(filepath.Dir(resolved(file))), "package.json")
	if f, err := os.Open(manifest); err == nil {
		defer f.Close()
		var pkg struct{ Name, Version string }
		raw, err := io.ReadAll(io.LimitReader(f, 64<<10))
		if err == nil && json.Unmarshal(raw, &pkg) == nil && pkg.Name == "typescript" {
			t.version = pkg.Version
		}
	}
	return t
}

// stampOf tells one state of a file from another.
func stampOf(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(info.ModTime().UnixNano(), 36) + "-" + strconv.FormatInt(info.Size(), 36)
}
