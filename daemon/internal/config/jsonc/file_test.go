package jsonc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// a backup exists, links and modes stay, and a file that cannot be read
// as JSON is left alone.
func TestEditFileKeepsModeLinkAndBackup(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real.jsonc"), filepath.Join(dir, "opencode.jsonc")
	const doc = "{} // c\n"
	if err := os.WriteFile(file, []byte(doc), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.jsonc", link); err != nil {
		t.Fatal(err)
	}
	add := func(doc []byte) ([]byte, error) { return AddPlugin(doc, tenon) }
	for _, want := range []bool{true, false} {
		if changed, err := EditFile(link, add); err != nil || changed != want {
			t.Fatalf("changed %v, %v; want %v", changed, err, want)
		}
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, err = os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode: %v, %v", info, err)
	}
	if backup, err := os.ReadFile(file + BackupSuffix); err != nil || string(backup) != doc {
		t.Errorf("backup: %q, %v", backup, err)
	}
	if _, err := EditFile(link, func(doc []byte) ([]byte, error) { return RemovePlugin(doc, tenon.List, tenon.Path) }); err != nil {
		t.Fatal(err)
	}
	if back, err := os.ReadFile(file); err != nil || string(back) != doc {
		t.Errorf("after removal: %q, %v", back, err)
	}
}

func TestEditFileLeavesABadFileAlone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "opencode.json")
	if err := os.WriteFile(file, []byte("{ oops"), 0o600); err != nil {
		t.Fatal(err)
	}
	var bad *Error
	if _, err := EditFile(file, func(doc []byte) ([]byte, error) { return AddPlugin(doc, tenon) }); !errors.As(err, &bad) {
		t.Errorf("got %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := EditFile(filepath.Join(dir, "gone"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
