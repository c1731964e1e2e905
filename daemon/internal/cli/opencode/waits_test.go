package opencode

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestDirectoriesThatOpencodeInstallsIntoAreFound(t *testing.T) {
	top := t.TempDir()
	make := func(parts ...string) string {
		t.Helper()
		dir := filepath.Join(append([]string{top}, parts...)...)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, home, extra := make("config"), make("home"), make("extra")
	make(".opencode") // above the repository: not opencode's
	make("repo", ".git")
	outer, inner := make("repo", ".opencode"), make("repo", "a", "b", ".opencode")

	dirs := ConfigDirs(config, home, extra, filepath.Join(top, "repo", "a", "b"))
	if want := []string{config, extra, inner, outer}; !slices.Equal(dirs, want) {
		t.Errorf("got %q\nwant %q", dirs, want)
	}

	for _, dir := range []string{config, extra, inner} {
		make(dir[len(top):], "node_modules")
	}
	write(config, "package-lock.json", `{"lockfileVersion":3,"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}`)
	write(extra, "package-lock.json", `{"lockfileVersion":3,"packages":{"":{}}}`)
	write(inner, "package-lock.json", `{`)
	if got, want := Unfinished(dirs), []string{extra, inner, outer}; !slices.Equal(got, want) {
		t.Errorf("unfinished %q\nwant %q", got, want)
	}
}
