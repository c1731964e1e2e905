package cli

import (
	"os/exec"
	"strings"
	"testing"
)

func TestCtrlCEndsTheReadingOfStandardInput(t *testing.T) {
	p := newPlace(t, nil)
	for _, args := range [][]string{{"exec", "-"}, {"call", "fake", "echo", "-"}, {"exec", "--input", "-", "-e", "input"}} {
		s := p.terminal(args...)
		s.waitFor("Ctrl-D ends it")
		s.types("\x03")
		if code, shown := s.ends(); code != 130 {
			t.Errorf("%v: code %d: %s", args, code, shown)
		}
	}
}

func TestLsSaysWhichEditDoesNotCount(t *testing.T) {
	p := newPlace(t, nil)
	if got := p.run("ls"); got.code != 0 || strings.Contains(got.err, "problem") {
		t.Fatalf("before: %+v", got)
	}
	p.write("config/tenon/config.jsonc", `{"servers": {"fake": {"comand": "x"}}}`)
	got := p.run("ls")
	if got.code != 0 || !strings.Contains(got.out, "fake") || !strings.Contains(got.err, `the nearest known key is "command"`) {
		t.Errorf("%+v", got)
	}
}

func TestAToolListThatIsNotKnownYetSaysHowToGetIt(t *testing.T) {
	p := newPlace(t, nil)
	got := p.run("ls", "fake")
	if !strings.Contains(got.err, "tenon search --namespace fake") {
		t.Fatalf("%+v", got)
	}
	if got := p.run("search", "--namespace", "fake"); !strings.Contains(got.out, "tools.fake.echo(") {
		t.Errorf("%+v", got)
	}
	if got := p.run("search", "echo", "--namespace", "fkae"); got.code != 1 || !strings.Contains(got.err, "did you mean fake?") {
		t.Errorf("%+v", got)
	}
}

func TestTabCompletesServersToolsAndNoFiles(t *testing.T) {
	p := newPlace(t, nil)
	if got := p.run("__complete", "ls", ""); strings.Contains(got.out, "fake") {
		t.Errorf("a Tab started the daemon: %+v", got)
	}
	p.run("search", "--namespace", "fake")
	for want, args := range map[string][]string{
		"fake\n":  {"call", ""},
		"echo\t":  {"call", "fake", ""},
		":4\n":    {"daemon", ""}, // no file names
		"exec\t":  {"ex"},
		":0\n":    {"exec", ""}, // a file
		"fake\n:": {"restart", "f"},
	} {
		if got := p.run(append([]string{"__complete"}, args...)...); !strings.Contains(got.out, want) {
			t.Errorf("%v: want %q: %+v", args, want, got)
		}
	}
}

func TestBashCompletionNeedsNoFurtherPackage(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	p := newPlace(t, nil)
	tenonNamed := p.write("bin/tenon", "#!/bin/sh\nexec "+p.exe+" \"$@\"\n")
	script := `chmod +x ` + tenonNamed + `; PATH=` + p.home + `/bin:$PATH; source <(tenon completion bash)
COMP_WORDS=(tenon ex) COMP_CWORD=1 COMP_LINE='tenon ex' COMP_POINT=8 COMP_TYPE=9
__start_tenon; echo "got: ${COMPREPLY[*]}"`
	cmd := exec.Command(bash, "--norc", "--noprofile", "-c", script)
	cmd.Env, cmd.Dir = p.environ, p.cwd
	out, _ := cmd.CombinedOutput()
	if !strings.Contains(string(out), "got: exec") || strings.Contains(string(out), "not found") {
		t.Errorf("%s", out)
	}
}
