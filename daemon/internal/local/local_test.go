package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

func TestPlacesFollowTheEnvironment(t *testing.T) {
	mine := t.TempDir()
	for _, c := range []struct {
		name string
		env  map[string]string
		want func(Paths) (got, want string)
	}{
		{"our variable wins", map[string]string{"HOME": "/h", "TENON_RUNTIME_DIR": "/r", "XDG_RUNTIME_DIR": mine},
			func(p Paths) (string, string) { return p.Runtime, "/r" }},
		{"then the session's directory", map[string]string{"HOME": "/h", "XDG_RUNTIME_DIR": mine},
			func(p Paths) (string, string) { return p.Runtime, filepath.Join(mine, "tenon") }},
		{"a session directory that is not there is passed over", map[string]string{"HOME": "/h", "XDG_RUNTIME_DIR": mine + "/none"},
			func(p Paths) (string, string) { return p.Runtime, privateTemp() }},
		{"temporary files elsewhere do not make another daemon", map[string]string{"HOME": "/h", "TMPDIR": mine},
			func(p Paths) (string, string) { return p.Runtime, privateTemp() }},
		{"state by XDG", map[string]string{"HOME": "/h", "XDG_STATE_HOME": "/s"},
			func(p Paths) (string, string) { return p.State, "/s/tenon" }},
		{"a relative XDG directory is ignored", map[string]string{"HOME": "/h", "XDG_STATE_HOME": "s"},
			func(p Paths) (string, string) { return p.State, "/h/.local/state/tenon" }},
		{"config below home", map[string]string{"HOME": "/h"},
			func(p Paths) (string, string) { return p.ConfigFile(), "/h/.config/tenon/config.jsonc" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Resolve(func(k string) string { return c.env[k] })
			if err != nil {
				t.Fatal(err)
			}
			if got, want := c.want(p); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestARelativePlaceOfOursIsAUsageError(t *testing.T) {
	_, err := Resolve(func(k string) string { return map[string]string{"HOME": "/h", "TENON_STATE_DIR": "x"}[k] })
	if fault.KindOf(err) != fault.UsageError || !strings.Contains(err.Error(), "TENON_STATE_DIR") {
		t.Errorf("got %v", err)
	}
}

func TestTheConfigFileThatExistsIsTheConfigFile(t *testing.T) {
	p := Paths{Config: t.TempDir()}
	want := filepath.Join(p.Config, "config.toml")
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.ConfigFile(); got != want {
		t.Errorf("got %s", got)
	}
}

func TestDirectoriesThatOthersCanEnterAreRefused(t *testing.T) {
	p := places(t)
	if err := os.Chmod(p.Runtime, 0o755); err != nil {
		t.Fatal(err)
	}
	err := p.Ensure()
	if err == nil || !strings.Contains(err.Error(), p.Runtime) || !strings.Contains(fault.From(err).Hint, "chmod 700") {
		t.Errorf("got %v", err)
	}
	if st, _ := os.Stat(p.Runtime); st.Mode().Perm() != 0o755 {
		t.Error("the mode of a directory that was there was changed")
	}
}

func TestALinkInPlaceOfTheRuntimeDirectoryIsRefused(t *testing.T) {
	p := places(t)
	real := p.Runtime + "-real"
	if err := os.Rename(p.Runtime, real); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, p.Runtime); err != nil {
		t.Fatal(err)
	}
	if err := p.Ensure(); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("got %v", err)
	}
}

func TestADirectoryOfAnotherUserIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory to somebody else")
	}
	p := places(t)
	if err := os.Chown(p.Runtime, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := p.Ensure(); err == nil || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("got %v", err)
	}
}
