package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unit is where install writes here.
func (p *place) unit() string {
	return filepath.Join(p.home, "config", "systemd", "user", "tenon.service")
}

func (p *place) installed() bool {
	_, err := os.Stat(p.unit())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	return err == nil
}

// An agent neither lets the daemon be started at each login nor takes away what the
// user has installed; it is told so in the words of every other refusal.
func TestAnAgentsShellInstallsAndUninstallsNothing(t *testing.T) {
	p := newPlace(t, nil)
	user := p.environ
	shell := append(user[:len(user):len(user)], "OPENCODE=1") // as opencode marks its shells
	refused := func(args ...string) {
		t.Helper()
		p.environ = shell
		got := p.run(args...)
		p.environ = user
		if got.code != 4 || !strings.Contains(got.err, "a caller inside an agent's shell may not change configurations") || !strings.Contains(got.err, "a terminal outside of the agent") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	refused("daemon", "install")
	refused("daemon", "install", "--now")
	if p.installed() {
		t.Fatal("it was installed")
	}
	p.environ = shell
	if got := p.run("daemon", "install", "--print"); got.code != 0 || !strings.Contains(got.out, "ExecStart=") {
		t.Errorf("nothing would be changed: %+v", got)
	}
	p.environ = user
	if got := p.run("daemon", "install"); got.code != 0 || !p.installed() {
		t.Fatalf("%+v", got)
	}
	refused("daemon", "uninstall")
	refused("daemon", "uninstall", "--now")
	if !p.installed() {
		t.Fatal("it was taken away")
	}
	if got := p.run("daemon", "uninstall"); got.code != 0 || p.installed() {
		t.Errorf("%+v", got)
	}
}

// Where there is no service manager, nobody has written a wrong command: the file is
// there for the next login, and it is said what is missing. One that refuses is another
// matter.
func TestAServiceManagerThatIsNotThereIsNamed(t *testing.T) {
	p := newPlace(t, nil)
	p.environ = append(p.environ, "XDG_RUNTIME_DIR="+p.home+"/none", "DBUS_SESSION_BUS_ADDRESS=unix:path="+p.home+"/none/bus")
	path := func(dir string) { p.environ = append(p.environ, "PATH="+dir) }
	systemctl := func(text string) {
		file := p.write("bin/systemctl", "#!/bin/sh\n"+text)
		if err := os.Chmod(file, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, script, want string }{
		{"none is installed", "", "systemd cannot be reached"},
		{"no bus", "echo 'Failed to connect to bus: No medium found' >&2; exit 1\n", "systemd cannot be reached"},
		{"it refuses", "echo 'Failed to enable unit: Unit tenon.service is masked.' >&2; exit 1\n", "systemd does not do as it is told"},
	} {
		path(p.home + "/bin")
		if c.script != "" {
			systemctl(c.script)
		}
		got := p.run("daemon", "install", "--now")
		if got.code != 3 || !strings.Contains(got.err, c.want) || !strings.Contains(got.err, "systemctl --user daemon-reload") ||
			!strings.Contains(got.err, p.unit()+" is written") || !strings.Contains(got.err, "loginctl enable-linger") || !p.installed() {
			t.Errorf("%s: %+v", c.name, got)
		}
		if got := p.run("daemon", "uninstall", "--now"); got.code != 3 || !strings.Contains(got.err, c.want) || !strings.Contains(got.err, "then tenon daemon stop") || !p.installed() {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
