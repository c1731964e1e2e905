package house

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/script"
)

// fenced are the blocks of a language in a page.
func fenced(t *testing.T, page, language string) []string {
	t.Helper()
	var out []string
	for _, part := range strings.Split("\n"+read(t, page), "\n```"+language+"\n")[1:] {
		block, _, closed := strings.Cut(part, "\n```")
		if !closed {
			t.Fatalf("%s: a block of %s does not end", page, language)
		}
		out = append(out, block)
	}
	return out
}

func TestProgramsOfThePagesCompile(t *testing.T) {
	found := 0
	for _, page := range tracked(t) {
		if !strings.HasSuffix(page, ".md") {
			continue
		}
		for _, source := range fenced(t, page, "ts") {
			found++
			if _, err := script.Transform(source, script.QuickJS); err != nil {
				t.Errorf("%s: %v\n%s", page, err, source)
			}
		}
	}
	if found < 3 {
		t.Errorf("only %d programs found in the pages", found)
	}
}

// TestTheExampleOfTheConfigurationIsRead writes the first block of the page as
// a user's file and reads it.
func TestTheExampleOfTheConfigurationIsRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.jsonc")
	if err := os.WriteFile(file, []byte(fenced(t, "docs/config.md", "jsonc")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	env := config.Env{"HOME": dir, "PATH": os.Getenv("PATH")}
	store, err := config.Open(config.Options{UserFile: file, StateDir: dir, Home: dir, Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	view, err := store.View(dir, "", env)
	if err != nil {
		t.Fatal(err)
	}
	if len(view.Servers) == 0 || view.Problems() != "" || len(view.Notes) > 0 {
		t.Errorf("servers %v, notes %+v", view.Names(), view.Notes)
	}
}
