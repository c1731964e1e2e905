package cli

import (
	"os/exec"
	"path/filepath"
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
	if got := p.run("doctor"); got.code != 1 || !strings.Contains(got.out, "problem  config") || strings.Contains(got.out, "ok       config") {
		t.Errorf("doctor calls one file right and wrong: %+v", got)
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
		"fake\n":             {"call", ""},
		"echo\t":             {"call", "fake", ""},
		":4\n":               {"daemon", ""}, // no file names
		"exec\t":             {"ex"},
		":0\n":               {"exec", ""}, // a file
		"fake\n:":            {"restart", "f"},
		"deno\n":             {"exec", "--engine", ""},
		"read-only\n":        {"exec", "--sandbox", ""},
		"strict\n":           {"exec", "--typecheck", ""},
		"local\n":            {"exec", "--where", ""},
		"claude\n":           {"init", "--import", ""},
		"fake\n:36":          {"mcp", "--server", ""},
		"yolo\tsandbox full": {"preset", "use", ""},
		"cancelled\n":        {"runs", "--status", ""},
		"lost\n":             {"runs", "list", "--status", ""},
		"kind\n":             {"runs", "stats", "--by", ""},
		"fake\n:3":           {"resources", ""},
		"fake\n:36\n":        {"prompts", "get", "--server", ""},
		"embedded\n":         {"run", "--engine", ""},
		"warn\n":             {"daemon", "logs", "--level", ""},
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

func TestAMisspeltServerInAProgramIsNamed(t *testing.T) {
	p := newPlace(t, nil)
	for code, want := range map[string]string{"fkae.echo()": "did you mean fake?", "serch('x')": "did you mean search?"} {
		if got := p.run("exec", "-e", code); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v", code, got)
		}
	}
	for _, code := range []string{"lake", "x", "fetch('x')"} { // a variable; too short; what has a better hint
		if got := p.run("exec", "-e", code); got.code != 1 || strings.Contains(got.err, "did you mean") {
			t.Errorf("%s: %+v", code, got)
		}
	}
}

func TestAWatchOnATerminalAnswersQuestions(t *testing.T) {
	p := asking(t)
	watch := p.terminal("approvals", "--watch")
	watch.waitFor("answer here")
	for keys, code := range map[string]int{"y\r": 0, "no, later\r": 4} {
		cmd := p.command("call", "fake", "echo", "text=hello")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		before := strings.Count(watch.text(), "allow?")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		watch.waitForCount("allow?", before+1)
		watch.types(keys)
		_ = cmd.Wait() // the exit code says it
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%q: exit %d, %s%s; the watch: %s", keys, got, out.String(), errs.String(), watch.text())
		}
	}
	watch.types("\x03")
	if code, shown := watch.ends(); code != 0 || !strings.Contains(shown, "fake_echo") {
		t.Errorf("exit %d: %s", code, shown)
	}
}

func TestSearchTellsAPageBehindTheLastFromNothing(t *testing.T) {
	p := newPlace(t, nil)
	if got := p.run("search", "echo", "--offset", "500"); !strings.Contains(got.err, "nothing from --offset 500 on: ") {
		t.Errorf("%+v", got)
	}
	if got := p.run("search", "zzzzqqqq", "--offset", "500"); !strings.Contains(got.err, "nothing found") {
		t.Errorf("%+v", got)
	}
}

func TestAnImportOfHostsWithoutServersSaysWhichHadNone(t *testing.T) {
	p := newPlace(t, nil)
	p.write("config/tenon/config.jsonc", "{}")
	if got := p.run("init"); !strings.Contains(got.err, "tenon init --import opencode") {
		t.Errorf("%+v", got)
	}
	if got := p.run("init", "--import", "opencode,claude"); !strings.Contains(got.err, "opencode or claude has no servers that count here") {
		t.Errorf("%+v", got)
	}
}

func TestMCPOnATerminalSaysWhatItWaitsFor(t *testing.T) {
	p := newPlace(t, nil)
	s := p.terminal("mcp")
	s.waitFor("into an MCP client's configuration. Ctrl-D ends it")
	s.types("\x04")
	if code, shown := s.ends(); code != 0 {
		t.Errorf("exit %d: %s", code, shown)
	}
}

func TestThePluginInAProjectIsNotOverlooked(t *testing.T) {
	p := newPlace(t, nil)
	if got := p.run("opencode", "install", "--v1", "--project"); got.code != 0 || !strings.Contains(got.err, "made "+filepath.Join(p.cwd, "tui.jsonc")) {
		t.Fatalf("%+v", got)
	}
	file := filepath.Join(p.cwd, "opencode.jsonc")
	if got := p.run("opencode", "status"); !strings.Contains(got.out, "in this project: "+file) {
		t.Errorf("%+v", got)
	}
	if got := p.run("opencode", "uninstall"); !strings.Contains(got.err, file+" still names the plugin for v1: tenon opencode uninstall --project") {
		t.Errorf("%+v", got)
	}
	if got := p.run("opencode", "uninstall", "--project"); got.code != 0 || strings.Contains(got.err, "still names") {
		t.Errorf("%+v", got)
	}
	if got := p.run("opencode", "status"); strings.Contains(got.out, "in this project") {
		t.Errorf("%+v", got)
	}
}

func TestWhatAProgramEmitsIsShownBesideItsResult(t *testing.T) {
	p := newPlace(t, nil)
	got := p.run("exec", "-e", "emit({a: 1}); emit('b'); 4")
	if got.code != 0 || got.out != "4\n" || !strings.Contains(got.err, "emit: {\"a\":1}\nemit: \"b\"\n") {
		t.Errorf("%+v", got)
	}
	if got := p.run("exec", "--json", "-e", "emit(1); 4"); strings.Contains(got.err, "emit") {
		t.Errorf("twice under --json: %+v", got)
	}
}
