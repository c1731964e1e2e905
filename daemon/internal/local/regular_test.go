package local

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWhatIsNoFileIsRefusedWithoutWaiting(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, "/dev/null"} {
		if _, err := ReadRegular(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("read %s: %v", path, err)
		}
		if f, err := OpenRegular(path, os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
			_ = f.Close()
			t.Errorf("%s is open for writing", path)
		}
	}
	file := filepath.Join(dir, "file")
	f, err := OpenRegular(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("a line\n")
	if got, again := ReadRegular(file); err != nil || again != nil || f.Close() != nil || string(got) != "a line\n" {
		t.Errorf("%q, %v, %v", got, err, again)
	}
}
