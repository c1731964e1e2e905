package cli

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tenon/daemon/internal/fault"
)

// awkward is what a path may have, and a unit or a property list must survive.
var awkward = service{executable: `/opt/a b/50% "x" $HOME & <y>/tenon`, env: [][2]string{{"TENON_STATE_DIR", `/tmp/a&b "c" 100%`}}}

func TestTheSystemdUnitIsOne(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed: nobody can tell")
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, `a b`, "tenon")
	if err := os.MkdirAll(filepath.Dir(exe), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "tenon.service")
	if err := os.WriteFile(file, []byte(systemdUnit(service{executable: exe, env: awkward.env})), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(verify, "--user", "verify", "--man=no", file)
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "SYSTEMD_LOG_LEVEL=warning")
	out, err := c.CombinedOutput()
	if strings.Contains(string(out), "tenon.service:") || err != nil && strings.Contains(string(out), "tenon") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestWordsOfAUnitSurvive(t *testing.T) {
	text := systemdUnit(awkward)
	for _, want := range []string{
		`ExecStart="/opt/a b/50%% \"x\" $HOME & <y>/tenon" daemon run --supervised`,
		`Environment="TENON_STATE_DIR=/tmp/a&b \"c\" 100%%"`,
		"KillMode=mixed", "Restart=on-failure",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
}

func TestThePropertyListIsWellFormed(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(launchAgent(awkward)))
	var words []string
	depth := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			depth[x.Name.Local]++
		case xml.CharData:
			words = append(words, string(x))
		}
	}
	all := strings.Join(words, "\n")
	if !strings.Contains(all, awkward.executable) || !strings.Contains(all, awkward.env[0][1]) || depth["plist"] != 1 || depth["dict"] != 3 {
		t.Errorf("%v %q", depth, all)
	}
}

func TestInstallTouchesOnlyWhatItWrote(t *testing.T) {
	dir := t.TempDir()
	m := &manager{file: filepath.Join(dir, "systemd", "user", "tenon.service")}
	text := systemdUnit(awkward)
	for _, want := range []bool{true, false} { // a second time changes nothing
		if changed, err := m.put(text); err != nil || changed != want {
			t.Fatalf("%v, %v", changed, err)
		}
	}
	if changed, err := m.put(text + "# newer\n"); err != nil || !changed {
		t.Fatalf("%v, %v", changed, err)
	}
	mine := []byte("[Service]\nExecStart=/mine\n")
	if err := os.WriteFile(m.file, mine, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := m.put(text); fault.KindOf(err) != fault.UsageError || !strings.Contains(err.Error(), "left alone") {
		t.Errorf("%v", err)
	}
	if have, _ := os.ReadFile(m.file); !bytes.Equal(have, mine) {
		t.Errorf("it was overwritten: %s", have)
	}
	if err := errors.Join(os.Remove(m.file), syscall.Mkfifo(m.file, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.put(text); err == nil || !strings.Contains(err.Error(), "is not a regular file") { // and does not wait for who writes into it
		t.Errorf("%v", err)
	}
}
