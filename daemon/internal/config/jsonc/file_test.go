package jsonc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
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

// A backup is the file before the first of several edits, and what a killed one
// left goes with the next.
func TestEditFileAgainKeepsTheFirstBackupAndSweepsWhatIsLeft(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "opencode.json")
	old, young, foreign := filepath.Join(dir, ".opencode.json.tenon-new-1"), filepath.Join(dir, ".opencode.json.tenon-new-2"), filepath.Join(dir, ".opencode.json.swp")
	for _, name := range []string{old, young, foreign} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-time.Hour)
	if err := errors.Join(os.Chtimes(old, past, past), os.Chtimes(foreign, past, past), os.WriteFile(file, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	ours := func(doc []byte) bool { return string(doc) != "{}" }
	for _, text := range []string{`{"a":1}`, `{"a":2}`} {
		if changed, err := EditFileAgain(file, ours, func([]byte) ([]byte, error) { return []byte(text), nil }); err != nil || !changed {
			t.Fatal(changed, err)
		}
	}
	if backup, err := os.ReadFile(file + BackupSuffix); err != nil || string(backup) != "{}" {
		t.Errorf("backup %q %v", backup, err)
	}
	for name, want := range map[string]bool{old: false, young: true, foreign: true} {
		if _, err := os.Lstat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
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
