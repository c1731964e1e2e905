package house

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

// rooms is the order of the rooms, top first. A package may import those in
// lower rows, and those standing later in its own row. It is the list of
// docs/architecture.md.
var rooms = [][]string{
	{"cmd/tenon"},
	{"cli"},
	{"serve"},
	{"api", "client"},
	{"mcpserver", "bridge"},
	{"run"},
	{"engine/embedded", "engine/process", "engine/attached", "engine", "script"},
	{"call"},
	{"consent", "policy"},
	{"session", "peer"},
	{"lease"},
	{"catalog", "typegen"},
	{"pool"},
	{"fakeserver", "upstream", "upstream/auth"},
	{"history"},
	{"config", "config/jsonc", "local", "proctree", "sandbox", "fault"},
	{"proto"},
}

// generated and test-only packages, which stand outside the order.
var outside = []string{"engine/embedded/qjs", "engine/embedded/gen", "house", "cases", "bench"}

func TestArrowsPointOnlyDown(t *testing.T) {
	place := map[string][2]int{}
	for row, names := range rooms {
		for col, name := range names {
			place[name] = [2]int{row, col}
		}
	}
	for name, imports := range packages(t) {
		if slices.Contains(outside, name) {
			continue
		}
		from, known := room(place, name)
		if !known {
			t.Errorf("package %s stands in no room: add it to rooms here and in docs/architecture.md", name)
			continue
		}
		for _, imported := range imports {
			if slices.Contains(outside, imported) {
				continue
			}
			to, known := room(place, imported)
			if !known || sameRoom(name, imported) {
				continue
			}
			if to[0] < from[0] || to[0] == from[0] && to[1] <= from[1] {
				t.Errorf("%s imports %s, which stands above it", name, imported)
			}
		}
	}
}

// room finds the row of a package; a sub-package without a place of its own
// stands with its parent.
func room(place map[string][2]int, name string) ([2]int, bool) {
	for {
		if at, ok := place[name]; ok {
			return at, true
		}
		cut := strings.LastIndex(name, "/")
		if cut < 0 {
			return [2]int{}, false
		}
		name = name[:cut]
	}
}

// sameRoom reports whether one is a sub-package of the other: inside a room,
// Go's own ban on cycles is order enough.
func sameRoom(a, b string) bool {
	return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

func TestEveryPackageHasItsSentence(t *testing.T) {
	for dir, files := range goFiles(t) {
		if strings.Contains(dir, "embedded/qjs") {
			continue
		}
		said := false
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			doc := parsed.Doc.Text()
			if strings.HasPrefix(doc, "Package "+parsed.Name.Name+" ") || parsed.Name.Name == "main" && strings.HasPrefix(doc, "Command ") {
				said = true
			}
		}
		if !said {
			t.Errorf("package %s has no sentence that starts with \"Package …\" (main: \"Command …\")", dir)
		}
	}
}

func TestEveryModuleHasItsSentence(t *testing.T) {
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, ".ts") || strings.HasSuffix(file, ".d.ts") {
			continue
		}
		text := read(t, file)
		text = strings.TrimPrefix(text, "#!/usr/bin/env node\n")
		if !strings.HasPrefix(text, "/**") && !strings.HasPrefix(text, "//") {
			t.Errorf("%s does not start with a comment that says what it is for", file)
		}
	}
}

func TestEveryFailureKindHasItsPage(t *testing.T) {
	index := read(t, "docs/errors/index.md")
	for _, kind := range fault.Kinds() {
		page, err := os.ReadFile(filepath.Join(top(t), kind.Page()))
		if err != nil {
			t.Errorf("kind %s has no page: %v", kind, err)
			continue
		}
		numbers := fmt.Sprintf("Exit code %d · HTTP status %d\n", kind.ExitCode(), kind.HTTPStatus())
		if !strings.Contains(string(page), numbers) {
			t.Errorf("%s does not say %q", kind.Page(), numbers)
		}
		for _, heading := range []string{"# " + string(kind), "## What happened", "## Common causes", "## What to do"} {
			if !strings.Contains(string(page), heading+"\n") {
				t.Errorf("%s lacks the heading %q", kind.Page(), heading)
			}
		}
		if !strings.Contains(index, "("+string(kind)+".md)") {
			t.Errorf("docs/errors/index.md does not link %s", kind)
		}
	}
	pages, err := filepath.Glob(filepath.Join(top(t), "docs/errors/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		if name != "index" && !fault.Kind(name).Valid() {
			t.Errorf("%s is a page for a kind that does not exist", page)
		}
	}
}

// machinePath is a path of somebody's machine; a system directory is none.
var machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9_.~$}])/(home|Users|work|farm|root)/[A-Za-z0-9_.-]+`)

// registryHost is where packages come from on one machine, not everywhere.
var registryHost = regexp.MustCompile(`"resolved":\s*"https?://`)

func TestNoMachinePathInTheTree(t *testing.T) {
	for _, file := range tracked(t) {
		if strings.HasSuffix(file, "house_test.go") || strings.HasSuffix(file, "go.sum") {
			continue
		}
		for i, line := range strings.Split(read(t, file), "\n") {
			if m := machinePath.FindString(line); m != "" && !strings.Contains(line, "house:allow") {
				t.Errorf("%s:%d holds a machine path: %s", file, i+1, strings.TrimSpace(m))
			}
			if registryHost.MatchString(line) {
				t.Errorf("%s:%d names a registry host", file, i+1)
			}
		}
	}
}

func TestEveryDependencyHasItsReason(t *testing.T) {
	reasons := read(t, "docs/dependencies.md")
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if !r.Indirect && !strings.Contains(reasons, "`"+r.Path+"`") {
			t.Errorf("docs/dependencies.md does not say why %s is needed", r.Path)
		}
	}
	for _, file := range tracked(t) {
		if filepath.Base(file) != "package.json" {
			continue
		}
		var pkg struct{ Dependencies, DevDependencies map[string]string }
		if err := json.Unmarshal([]byte(read(t, file)), &pkg); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, deps := range []map[string]string{pkg.Dependencies, pkg.DevDependencies} {
			for name := range deps {
				if !strings.HasPrefix(name, "@tenon/") && !strings.Contains(reasons, "`"+name+"`") {
					t.Errorf("docs/dependencies.md does not say why %s (%s) is needed", name, file)
				}
			}
		}
	}
}

// fileLink is a relative link of a page, or a path it names as code.
var fileLink = regexp.MustCompile("\\]\\(([^)#:]+)(#[^)]*)?\\)|`((?:daemon|plugins|proto|docs|test)/[A-Za-z0-9_./-]+\\.(?:go|ts|md|js|json))`")

func TestEveryFileThatThePagesNameExists(t *testing.T) {
	for _, page := range tracked(t) {
		if !strings.HasSuffix(page, ".md") {
			continue
		}
		for _, m := range fileLink.FindAllStringSubmatch(read(t, page), -1) {
			path := filepath.Join(filepath.Dir(page), m[1])
			if m[1] == "" {
				path = m[3]
			}
			if _, err := os.Stat(filepath.Join(top(t), path)); err != nil {
				t.Errorf("%s names %s, which does not exist", page, path)
			}
		}
	}
}

// wireReaders may not use a scanner: it has a fixed limit on a line and drops
// the rest of the stream when one is longer.
func TestNoLineScannerOnWireInput(t *testing.T) {
	for _, dir := range []string{"upstream", "bridge", "script", "engine", "client"} {
		for _, file := range tracked(t) {
			if !strings.HasPrefix(file, "daemon/internal/"+dir+"/") || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				continue
			}
			if strings.Contains(read(t, file), "bufio.NewScanner") {
				t.Errorf("%s reads wire input with a scanner of fixed size", file)
			}
		}
	}
}

// packages lists every package of the daemon with what it imports, both named
// as in rooms.
func packages(t *testing.T) map[string][]string {
	out := map[string][]string{}
	short := func(path string) (string, bool) {
		if path == "tenon/proto" {
			return "proto", true
		}
		if rest, ok := strings.CutPrefix(path, "tenon/daemon/internal/"); ok {
			return rest, true
		}
		return strings.CutPrefix(path, "tenon/daemon/")
	}
	for dir, files := range goFiles(t) {
		name, ok := short("tenon/" + dir)
		if !ok {
			continue
		}
		out[name] = nil
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range parsed.Imports {
				if imported, ok := short(strings.Trim(spec.Path.Value, `"`)); ok {
					out[name] = append(out[name], imported)
				}
			}
		}
	}
	return out
}

// goFiles lists the Go files by directory, relative to the top.
func goFiles(t *testing.T) map[string][]string {
	root, out := top(t), map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			dir, _ := filepath.Rel(root, filepath.Dir(path))
			out[dir] = append(out[dir], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tracked lists the files that are, or would be, in the repository. Without
// git (a source archive) there is nothing to list and the test says so.
func tracked(t *testing.T) []string {
	cmd := exec.Command("git", "ls-files", "-co", "--exclude-standard")
	cmd.Dir = top(t)
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("git cannot list the files of this tree: %v", err)
	}
	var files []string
	for _, f := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if _, err := os.Stat(filepath.Join(top(t), f)); err == nil {
			files = append(files, f)
		}
	}
	return files
}

func read(t *testing.T, file string) string {
	b, err := os.ReadFile(filepath.Join(top(t), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// top is the directory that holds go.mod.
func top(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = parent
	}
}
