package house

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

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
			// A link is meant from the page; a path as code from the top, or the page.
			path := filepath.Join(filepath.Dir(page), m[1]+m[3])
			if _, err := os.Stat(filepath.Join(top(t), path)); err == nil {
				continue
			}
			if _, err := os.Stat(filepath.Join(top(t), m[3])); err != nil || m[3] == "" {
				t.Errorf("%s names %s, which does not exist", page, m[1]+m[3])
			}
		}
	}
}
