package shelf

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree writes files below a new directory; a content that begins with -> is a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, link := cutLink(text); link {
			if err := os.Symlink(filepath.Join(top, to), file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func cutLink(text string) (string, bool) {
	if len(text) > 2 && text[:2] == "->" {
		return text[2:], true
	}
	return "", false
}
