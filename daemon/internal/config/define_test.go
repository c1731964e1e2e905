package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

// program makes an executable file.
func (w *world) program(path string) string {
	w.t.Helper()
	w.write(path, "#!/bin/sh\n")
	if err := os.Chmod(path, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// the same syntax in every field.
func TestPlaceholdersWorkInEveryField(t *testing.T) {
	w := newWorld(t)
	w.program(filepath.Join(w.home, "bin/fake"))
	w.write(filepath.Join(w.home, ".config/tenon/t"), "from-file\r\n")
	const all = `${HOME}|${UNSET:-x}|{env:X}|{file:./t}|${workspace}|$${Y}|$5`
	w.user(fmt.Sprintf(`{"servers": {
		"local": {"command": ["${HOME}/bin/fake", %q], "env": {"A": %q}, "cwd": "${HOME}/${UNSET:-x}"},
		"remote": {"url": "https://host/${X}?a={env:X}", "headers": {"A": %q}},
		"nested": {"command": ["${UNSET:-${HOME}}/bin/fake", "${EMPTY:-${UNSET:-deep}}", "${EMPTY}"]}
	}}`, all, all, all))
	want := w.home + "|x|ex|from-file|" + w.project + "|${Y}|$5"
	env := w.env("X", "ex", "EMPTY", "")
	v := w.view()
	d, err := v.Define("local", env, Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d.Command, []string{w.home + "/bin/fake", want}) || d.Env["A"] != want || d.Cwd != w.home+"/x" || !d.Personal {
		t.Errorf("local: %+v", d)
	}
	if d, err = v.Define("remote", env, Placeholders{}); err != nil {
		t.Fatal(err)
	}
	if d.URL != "https://host/ex?a=ex" || d.Headers["A"] != want {
		t.Errorf("remote: %+v", d)
	}
	if d, err = v.Define("nested", env, Placeholders{}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d.Command, []string{w.home + "/bin/fake", "deep", ""}) || d.Personal {
		t.Errorf("nested: %+v", d)
	}
}

// a missing variable disables that server only, and names no value.
func TestAMissingVariableNamesServerFieldAndVariable(t *testing.T) {
	w := newWorld(t)
	for field, entry := range map[string]string{
		"command":     `{"command": ["${UNSET}/fake"]}`,
		"args":        `{"command": ["sh", "${SECRET}${UNSET}"]}`,
		"env.A":       `{"command": "sh", "env": {"A": "${SECRET}-${UNSET}"}}`,
		"cwd":         `{"command": "sh", "cwd": "${UNSET}"}`,
		"url":         `{"url": "https://h/${SECRET}/{env:UNSET}"}`,
		"headers.Key": `{"url": "https://h", "headers": {"Key": "${SECRET}${UNSET}"}}`,
	} {
		w.user(`{"servers": {"broken": ` + entry + `, "good": {"command": "sh"}}}`)
		v := w.view()
		_, err := v.Define("broken", w.env("SECRET", "hunter22"), Placeholders{})
		wantConfigError(t, err, "server broken", field, "UNSET")
		if strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: the error shows a value: %s", field, err)
		}
		if _, err := v.Define("good", w.env(), Placeholders{}); err != nil {
			t.Errorf("%s: the other server is disabled too: %v", field, err)
		}
	}
	for text, part := range map[string]string{"{file:gone}": "gone does not exist", "${a b}": "not a placeholder", "${X": `no "}"`, "${TENON_TICKET}": "TENON_TICKET"} {
		w.user(`{"servers": {"broken": {"command": ["sh", "` + text + `"]}}}`)
		_, err := w.view().Define("broken", w.env("TENON_TICKET", "t"), Placeholders{})
		wantConfigError(t, err, "server broken", "args", part)
	}
}

// relative to the file that names them.
func TestRelativePathsAreMeantFromTheProject(t *testing.T) {
	w := newWorld(t)
	fake := w.program(filepath.Join(w.project, "tools/fake"))
	w.projectConfig(`{"servers": {
		"plain": {"command": ["./tools/fake"]},
		"moved": {"command": ["tools/fake"], "cwd": "sub"},
		"repo": {"command": ["./tools/fake"], "scope": "repo"},
		"dir": {"command": ["./tools/fake"], "scope": "directory"}}}`)
	w.trust()
	sub := filepath.Join(w.project, "sub")
	v, err := w.store.View(sub, "", w.env())
	if err != nil {
		t.Fatal(err)
	}
	for name, cwd := range map[string]string{"plain": w.project, "moved": sub, "repo": w.project, "dir": sub} {
		d, err := v.Define(name, w.env(), Placeholders{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Command[0] != fake || d.Cwd != cwd {
			t.Errorf("%s: command %s, cwd %s", name, d.Command[0], d.Cwd)
		}
	}
}

// a worktree is a workspace of its own; a nested directory is not.
func TestWorkspaceIsTheTopOfTheCallersOwnRepositoryOrWorktree(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {"a": {"command": ["sh", "${workspace}"]}, "repo": {"command": "sh", "scope": "repo"}, "dir": {"command": "sh", "scope": "directory"}}}`)
	worktree := filepath.Join(w.home, "worktree")
	w.write(filepath.Join(worktree, ".git"), "gitdir: /elsewhere\n")
	w.write(filepath.Join(worktree, "sub/file"), "")
	for caller, want := range map[string][2]string{
		"":                              {w.project, w.project},
		filepath.Join(w.project, "sub"): {w.project, filepath.Join(w.project, "sub")},
		filepath.Join(worktree, "sub"):  {worktree, filepath.Join(worktree, "sub")},
		w.home:                          {w.home, w.home},
	} {
		got := map[string]*Definition{}
		for _, name := range []string{"a", "repo", "dir"} {
			d, err := w.view().Define(name, w.env(), Placeholders{Workspace: caller})
			if err != nil {
				t.Fatal(err)
			}
			got[name] = d
		}
		if got["a"].Command[1] != want[0] || got["repo"].Cwd != want[0] || got["dir"].Cwd != want[1] || got["a"].Cwd != w.home {
			t.Errorf("%q: %s, %s, %s", caller, got["a"].Command[1], got["repo"].Cwd, got["dir"].Cwd)
		}
	}
}

// the caller's PATH counts; the error lists the folders.
func TestCommandsAreFoundInTheCallersPath(t *testing.T) {
	w := newWorld(t)
	fake := w.program(filepath.Join(w.home, "tools/fake"))
	w.user(`{"servers": {"a": {"command": "fake"}}}`)
	v := w.view()
	found, err := v.Define("a", w.env("PATH", "/usr/bin:"+filepath.Dir(fake)), Placeholders{})
	if err != nil || found.Command[0] != fake {
		t.Fatalf("got %v, %v", found, err)
	}
	_, err = v.Define("a", w.env("PATH", "/usr/bin:relative:/bin"), Placeholders{})
	wantConfigError(t, err, "server a", "fake not found", "/usr/bin, /bin")
	again := w.program(filepath.Join(w.home, "other/fake"))
	if d, err := v.Define("a", Env{"PATH": filepath.Dir(fake)}, Placeholders{}); err != nil || d.BaseEnv["PATH"] != filepath.Dir(fake) {
		t.Errorf("got %v, %v", d, err)
	}
	_, err = v.Define("a", nil, Placeholders{}) // no environment was sent: the daemon's
	wantConfigError(t, err, "looked in /nowhere")
	second, err := v.Define("a", w.env("PATH", filepath.Dir(again)), Placeholders{})
	if err != nil || second.ID != found.ID {
		t.Errorf("where PATH finds the program changes the sharing key: %v, %v", second, err)
	}
}

func TestACommandLineInOneTextIsToldToBeAList(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {"a": {"command": "npx -y some-server"}}}`)
	_, err := w.view().Define("a", w.env("PATH", "/usr/bin:/usr/bin"), Placeholders{})
	wantConfigError(t, err, "npx -y some-server not found in PATH; looked in /usr/bin")
	if hint := fault.From(err).Hint; !strings.Contains(hint, `"command": ["npx","-y","some-server"]`) || strings.Contains(err.Error(), "/usr/bin, /usr/bin") {
		t.Errorf("%v, hint %q", err, hint)
	}
}

// allow-listed variables, and secrets only where they are declared.
func TestServersGetTheAllowListAndWhatTheyDeclare(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {"with": {"command": "sh", "env": {"SECRET_X": "${SECRET_X}", "TENON_TICKET": "no", "TENON_GROUP": "no"}}, "without": {"command": "sh"}}}`)
	env := w.env("SECRET_X", "value-of-x", "TENON_TICKET", "ticket", "TENON_SESSION_ID", "id", "LC_ALL", "C", "OTHER", "o")
	v := w.view()
	with, err := v.Define("with", env, Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	without, err := v.Define("without", env, Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(with.Env, map[string]string{"SECRET_X": "value-of-x"}) || len(without.Env) != 0 {
		t.Errorf("declared: %v, %v", with.Env, without.Env)
	}
	want := map[string]string{"HOME": w.home, "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
	if !reflect.DeepEqual(without.BaseEnv, want) || !reflect.DeepEqual(with.BaseEnv, want) {
		t.Errorf("base: %v", without.BaseEnv)
	}
	if !reflect.DeepEqual(with.Secrets, []string{"value-of-x"}) || len(without.Secrets) != 0 {
		t.Errorf("secrets: %v, %v", with.Secrets, without.Secrets)
	}
}

func TestSecretsAreCollectedLongestFirst(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.home, ".config/tenon/key"), "file-secret\n")
	w.user(`{"servers": {"a": {"url": "https://u:pass-word@h/?api_key=literal-key&q=plain-text",
		"headers": {"Authorization": "Bearer ${T}", "X-Api-Key": "literal-header", "X-File": "{file:key}", "X-Home": "${HOME}"}}}}`)
	d, err := w.view().Define("a", w.env("T", "tok-1234"), Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tok-1234", "literal-header", "file-secret", "pass-word", "literal-key"} {
		if !slices.Contains(d.Secrets, want) {
			t.Errorf("%q is not among the secrets %q", want, d.Secrets)
		}
	}
	if slices.Contains(d.Secrets, "plain-text") {
		t.Errorf("too many secrets: %q", d.Secrets)
	}
	if !slices.IsSortedFunc(d.Secrets, func(a, b string) int { return len(b) - len(a) }) {
		t.Errorf("not longest first: %q", d.Secrets)
	}
}

func TestTheSharingKeyFollowsTheExpandedFieldsAndTheTemplateTheWrittenOnes(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {"a": {"command": ["sh", "${V}"]}, "b": {"command": ["sh", "one"]}, "dirs": {"command": ["sh", "${sessionDir}"]}}}`)
	v := w.view()
	define := func(name, value string) *Definition {
		d, err := v.Define(name, w.env("V", value), Placeholders{SessionDir: func() (string, error) { return "/s/" + value, nil }})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one, two, b := define("a", "one"), define("a", "two"), define("b", "")
	if one.ID == two.ID || one.ID != b.ID || one.Template != two.Template || one.Template == b.Template {
		t.Errorf("ids %s %s %s, templates %s %s %s", one.ID, two.ID, b.ID, one.Template, two.Template, b.Template)
	}
	if d := define("dirs", "x"); d.Command[1] != "/s/x" || !d.Personal {
		t.Errorf("sessionDir: %+v", d)
	}
	_, err := v.Define("dirs", w.env(), Placeholders{})
	wantConfigError(t, err, "sessionDir", "server dirs")
}

func TestTheDaemonsEnvironmentIsOnlyTheFallback(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {"a": {"command": ["sh", "${DAEMON_ONLY}"]}}}`)
	for want, env := range map[string]Env{"from-daemon": w.env(), "from-caller": w.env("DAEMON_ONLY", "from-caller")} {
		if d, err := w.view().Define("a", env, Placeholders{}); err != nil || d.Command[1] != want {
			t.Errorf("got %v, %v; want %s", d, err, want)
		}
	}
}

func TestUnusableServersSayWhy(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {"off": {"command": "sh", "enabled": false}}, "mcp": {"odd": {"type": "carrier-pigeon", "url": "https://h"}}}`)
	v := w.view()
	_, err := v.Define("off", w.env(), Placeholders{})
	wantConfigError(t, err, "off", "disabled")
	_, err = v.Define("odd", w.env(), Placeholders{})
	wantConfigError(t, err, "odd", "carrier-pigeon")
	if _, err = v.Define("of", w.env(), Placeholders{}); fault.KindOf(err) != fault.NotFound || !strings.Contains(fault.From(err).Hint, `"off"`) {
		t.Errorf("got %v", err)
	}
}

func TestWantedNamesWhatTheFilesAskFor(t *testing.T) {
	w := newWorld(t)
	t.Setenv("HOME", w.home)
	t.Setenv("XDG_CONFIG_HOME", "")
	w.user(`{"import": ["claude"], "servers": {"a": {"command": ["${ONE}", "${TWO:-x}", "{env:THREE}", "${workspace}", "${TENON_TICKET}"]}}}`)
	w.projectConfig(`{"servers": {"b": {"command": ["${FOUR}"]}}}`)
	w.write(filepath.Join(w.project, ".mcp.json"), `{"mcpServers": {"c": {"command": "${env:FIVE}"}}}`)
	w.write(filepath.Join(w.project, "opencode.json"), `{"mcp": {"d": {"command": ["{env:NOT_IMPORTED}"]}}}`)
	if got := Wanted(w.project, ""); !reflect.DeepEqual(got, []string{"FIVE", "FOUR", "ONE", "THREE", "TWO"}) {
		t.Errorf("got %v", got)
	}
	if got := Pick([]string{"ONE=1", "OTHER=2", "PATH=/b", "TENON_TICKET=t", "TENON_GROUP=g"}, []string{"ONE", "TENON_TICKET", "TENON_GROUP"}); !reflect.DeepEqual(got, Env{"ONE": "1", "PATH": "/b"}) {
		t.Errorf("picked %v", got)
	}
}
