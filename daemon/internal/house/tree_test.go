package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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

// machinePath is a path of somebody's machine; a system directory is none.
var machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9_.~$}])/(home|Users|work|farm|root)/[A-Za-z0-9_.-]+`)

// madeUp is a home directory of nobody, as examples and fixtures have it.
var madeUp = regexp.MustCompile(`/(home|Users)/(me|you|u|user)$`)

// registryHost is where packages come from on one machine, not everywhere.
var registryHost = regexp.MustCompile(`"resolved":\s*"https?://`)

func TestNoMachinePathInTheTree(t *testing.T) {
	for _, file := range tracked(t) {
		if strings.HasSuffix(file, "house/tree_test.go") || strings.HasSuffix(file, "go.sum") {
			continue
		}
		for i, line := range strings.Split(read(t, file), "\n") {
			for _, m := range machinePath.FindAllString(line, -1) {
				if !madeUp.MatchString(m) {
					t.Errorf("%s:%d holds a machine path: %s", file, i+1, strings.TrimSpace(m))
				}
			}
			if registryHost.MatchString(line) {
				t.Errorf("%s:%d names a registry host", file, i+1)
			}
		}
	}
}

// TestNoLineScannerOnWireInput: readers of the wire may not use a scanner: it has a fixed limit on a line and drops
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

// section is the lines of a page below a heading, to the next of its rank.
func section(t *testing.T, page, heading string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, page), heading+"\n")
	if !ok {
		t.Fatalf("%s has no %q", page, heading)
	}
	rank := heading[:strings.Index(heading, " ")+1]
	var out []string
	for _, line := range strings.Split(rest, "\n") {
		if strings.HasPrefix(line, rank) {
			break
		}
		out = append(out, line)
	}
	return out
}
