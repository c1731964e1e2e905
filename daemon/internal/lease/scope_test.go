package lease_test

import (
	"os"
	"path/filepath"
	"testing"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/lease"
)

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func real(t *testing.T, dir string) string {
	t.Helper()
	out, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func key(t *testing.T, s config.Scope, cwd string) string {
	t.Helper()
	k, _, err := lease.ScopeKey(s, "ses", cwd)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestScopeRepoIsTheTopOfTheWorkTree(t *testing.T) {
	base := real(t, t.TempDir())
	mkdir(t, base, "main", ".git")
	sub := mkdir(t, base, "main", "a", "b")
	tree := mkdir(t, base, "worktree", "a")
	// A linked worktree has a file where the main one has a folder.
	if err := os.WriteFile(filepath.Join(base, "worktree", ".git"), []byte("gitdir: ../main/.git/worktrees/w\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(sub, link); err != nil {
		t.Fatal(err)
	}
	if got := key(t, config.Repo, sub); got != "repo:"+filepath.Join(base, "main") {
		t.Errorf("below the top: %s", got)
	}
	if got := key(t, config.Repo, link); got != "repo:"+filepath.Join(base, "main") {
		t.Errorf("through a link: %s", got)
	}
	if got := key(t, config.Repo, tree); got != "repo:"+filepath.Join(base, "worktree") {
		t.Errorf("a worktree is a repository of its own: %s", got)
	}
	if got := key(t, config.Directory, link); got != "directory:"+sub {
		t.Errorf("directory, through a link: %s", got)
	}
	outside := mkdir(t, base, "outside")
	if got := key(t, config.Repo, outside); got != "repo:"+outside {
		t.Errorf("outside of any repository: %s", got)
	}
}

func TestAScopeThatNeedsADirectorySaysSo(t *testing.T) {
	for _, s := range []config.Scope{config.Repo, config.Directory} {
		if _, _, err := lease.ScopeKey(s, "ses", ""); fault.KindOf(err) != fault.UsageError || fault.From(err).Hint == "" {
			t.Errorf("%s without a directory: %v", s, err)
		}
	}
	if _, _, err := lease.ScopeKey(config.Directory, "ses", filepath.Join(t.TempDir(), "gone")); fault.KindOf(err) != fault.UsageError {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, _, err := lease.ScopeKey("planet", "ses", "/"); fault.KindOf(err) != fault.ConfigError {
		t.Errorf("an unknown scope: %v", err)
	}
}
