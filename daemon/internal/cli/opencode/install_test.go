package opencode

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func target(t *testing.T, config string) Target {
	t.Helper()
	dir := t.TempDir()
	target := Target{ConfigDir: filepath.Join(dir, "opencode"), Data: filepath.Join(dir, "data"), Bin: "/opt/tenon"}
	if config != "" {
		if err := os.MkdirAll(target.ConfigDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(target.ConfigDir, "opencode.jsonc"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return target
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// wxtsky/CodeIsland#105.
func TestInstallingTwiceAndUninstallingLeavesTheFileAsItWas(t *testing.T) {
	before := "\ufeff{\r\n  // mine\r\n  \"theme\": \"x\",\r\n  \"plugin\": [\"other\"], /* one line */\r\n}\r\n"
	x := target(t, before)
	first, err := x.Install([]byte("plugin"))
	if err != nil || !first.Changed || first.Backup == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	if read(t, first.Backup) != before || read(t, first.Plugin) != "plugin" {
		t.Error("the backup or the plugin is not what it should be")
	}
	if s := x.Status([]byte("plugin")); !s.Installed || !s.Present || !s.Current || s.Problem != "" {
		t.Errorf("status %+v", s)
	}
	after := read(t, first.Config)
	if second, err := x.Install([]byte("plugin")); err != nil || second.Changed || read(t, first.Config) != after {
		t.Errorf("second: %+v, %v", second, err)
	}
	if r, err := x.Uninstall(); err != nil || !r.Changed {
		t.Errorf("uninstall: %+v, %v", r, err)
	}
	if got := read(t, first.Config); got != before {
		t.Errorf("not restored:\n%q\n%q", got, before)
	}
	if s := x.Status(nil); s.Installed {
		t.Errorf("status %+v", s)
	}
}

func TestAFileThatCannotBeReadIsLeftAlone(t *testing.T) {
	before := "{ \"plugin\": [ oops"
	x := target(t, before)
	_, err := x.Install([]byte("plugin"))
	if fault.KindOf(err) != fault.ConfigError || fault.From(err).Hint == "" {
		t.Errorf("got %v", err)
	}
	if read(t, x.File()) != before {
		t.Error("the file was touched")
	}
	if _, err := os.Stat(x.Plugin()); err == nil {
		t.Error("a plugin was left behind")
	}
}

func TestWithoutAFileOneIsMade(t *testing.T) {
	x := target(t, "")
	r, err := x.Install([]byte("plugin"))
	if err != nil || !r.Changed || r.Backup != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if s := x.Status([]byte("newer")); !s.Installed || s.Current {
		t.Errorf("status %+v", s)
	}
}

func TestUninstallRemovesTheFileThatInstallMade(t *testing.T) {
	x := target(t, "")
	if _, err := x.Install([]byte("plugin")); err != nil {
		t.Fatal(err)
	}
	moved := x
	moved.Bin = "/elsewhere/tenon" // an edit, which leaves a backup
	if r, err := moved.Install([]byte("plugin")); err != nil || r.Backup == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := x.Uninstall(); err != nil || !r.Changed || !r.Removed || r.Backup != "" {
		t.Errorf("%+v, %v", r, err)
	}
	if left, err := os.ReadDir(x.ConfigDir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if r, err := x.Uninstall(); err != nil || r.Changed {
		t.Errorf("again: %+v, %v", r, err)
	}
}

func TestUninstallKeepsAFileThatIsTheUsers(t *testing.T) {
	empty := target(t, "{}\n") // as install would have made it, but it was there
	added := target(t, "")
	for name, x := range map[string]Target{"there before": empty, "added to": added} {
		if _, err := x.Install([]byte("plugin")); err != nil {
			t.Fatal(err)
		}
		if name == "added to" {
			doc := "{\n  // mine\n" + read(t, x.File())[1:]
			if err := os.WriteFile(x.File(), []byte(doc), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := x.Uninstall(); err != nil || !r.Changed || r.Removed {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if _, err := os.Stat(x.File()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
