package config

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const projectDoc = `{
  // the project's servers
  "servers": {
    "danger": {"command": ["sh", "-c", "touch pwned"], "env": {"A": "1"}, "warm": 0},
    "off": {"command": "sh", "enabled": false}
  },
  "script": {"timeout": "10s"}
}`

// R-38, TEN-7: shown, never defined, until trusted; a changed argument ends trust.
func TestAProjectStartsNothingUntilItIsTrusted(t *testing.T) {
	w := newWorld(t)
	w.projectConfig(projectDoc)
	untrusted := func(step string) {
		t.Helper()
		v := w.view()
		s := v.Servers["danger"]
		if s == nil || !s.Untrusted || !v.Untrusted || v.Trusted || v.Script.Timeout != 2*time.Minute {
			t.Fatalf("%s: server %+v, script %+v", step, s, v.Script)
		}
		if !hasNote(v, "not trusted") {
			t.Errorf("%s: no note: %+v", step, v.Notes)
		}
		_, err := v.Define("danger", w.env(), Placeholders{})
		wantConfigError(t, err, "danger", "not trusted", "tenon trust")
	}
	trusted := func(step string) {
		t.Helper()
		v := w.view()
		if v.Untrusted || !v.Trusted || v.Servers["danger"].Untrusted {
			t.Fatalf("%s: not trusted", step)
		}
		if _, err := v.Define("danger", w.env(), Placeholders{}); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	untrusted("at first")
	st, err := w.store.Status(w.project)
	if err != nil || st.Trusted || st.Root != w.project || len(st.Items) != 2 || !strings.Contains(st.Items[1].Shown, "'touch pwned'") {
		t.Fatalf("status: %+v, %v", st, err)
	}
	_, err = w.store.TrustSeen(w.project, "what was shown before")
	wantConfigError(t, err, w.project, "changed since it was shown")
	untrusted("after a yes to something else")
	if r, err := w.store.TrustSeen(w.project, st.Digest); err != nil || !r.Changed {
		t.Fatalf("trust of what was shown: %+v, %v", r, err)
	}
	trusted("after a yes to what was shown")
	if err := os.Remove(filepath.Join(w.home, "state/trust.json")); err != nil {
		t.Fatal(err)
	}
	w.open()
	if r, err := w.store.Trust(filepath.Join(w.project, "sub")); err != nil || !r.Trusted || !r.Changed {
		t.Fatalf("trust: %+v, %v", r, err)
	}
	trusted("after trust")
	if v := w.view(); v.Script.Timeout != 10*time.Second {
		t.Errorf("script of the trusted project: %+v", v.Script)
	}
	w.open() // a new daemon
	trusted("after a restart")

	w.projectConfig(strings.Replace(projectDoc, "the project's servers", "another comment", 1))
	trusted("a comment")
	w.projectConfig(strings.Replace(projectDoc, `"warm": 0`, `"warm": 2`, 1))
	trusted("a switch that starts nothing")
	for what, change := range map[string][2]string{
		"argument":          {"touch pwned", "touch pwned2"},
		"environment":       {`"A": "1"`, `"A": "2"`},
		"enabled":           {`"enabled": false`, `"enabled": true`},
		"script":            {"10s", "11s"},
		"import":            {`"script"`, `"import": ["claude"], "script"`},
		"working directory": {`"warm": 0`, `"cwd": "/"`},
		"name":              {`"off"`, `"danger2": {"command": "sh"}, "off"`},
	} {
		w.projectConfig(strings.Replace(projectDoc, change[0], change[1], 1))
		untrusted("changed " + what)
	}
	w.projectConfig(projectDoc)
	trusted("changed back")
}

func TestAHiddenPartOfACommandIsShown(t *testing.T) {
	w := newWorld(t)
	w.projectConfig(`{"servers": {"a": {"command": ["sh", "-c", "evil\u001b[2K\rls \u202edlrow\n"]}}}`)
	st, err := w.store.Status(w.project)
	if err != nil || st.Items[0].Shown != `sh -c 'evil\x1b[2K\rls \u202edlrow\n'` {
		t.Errorf("shown %q, %v", st.Items[0].Shown, err)
	}
	w.projectConfig(`{"servers": {"a\u202e": {"command": "sh"}}}`)
	if v := w.view(); !hasNote(v, "cannot be a server's name") {
		t.Errorf("notes: %+v", v.Notes)
	}
	w.projectConfig(`{"servers": {"a\u001b[2K": {"command": 5}}}`)
	if v := w.view(); !hasNote(v, `servers.a\x1b[2K.command`) {
		t.Errorf("notes: %+v", v.Notes)
	}
}

func TestTheTrustFileIsPrivateAndADamagedOneTrustsNothing(t *testing.T) {
	w := newWorld(t)
	w.projectConfig(projectDoc)
	w.trust()
	file := filepath.Join(w.home, "state/trust.json")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	w.write(file, "{")
	w.open()
	if v := w.view(); !v.Untrusted {
		t.Error("trusted without a readable trust file")
	}
}

func TestAnUntrustedProjectCannotTakeTheNameOfAUsersServer(t *testing.T) {
	w := newWorld(t)
	user := w.user(`{"servers": {"fs": {"command": "sh"}}}`)
	w.projectConfig(`{"servers": {"fs": {"command": ["sh", "evil"]}}}`)
	v := w.view()
	if s := v.Servers["fs"]; s.Untrusted || s.Origin.File != user || !hasNote(v, "untrusted", user) {
		t.Errorf("server %+v, notes %+v", s, v.Notes)
	}
	w.trust()
	if s := w.view().Servers["fs"]; len(s.Command) != 2 {
		t.Errorf("after trust the project's entry wins: %+v", s)
	}
}

func TestProjectsMayOnlyTighten(t *testing.T) {
	w := newWorld(t)
	w.user(`{"permissions": {"sandbox": "read-only", "approval": "never", "rules": {"git_*": "allow", "fs_*": "deny"}}}`)
	w.projectConfig(`{"permissions": {"sandbox": "full", "approval": "ask", "askTimeout": "1s", "rules": {"git_push": "deny", "fs_read": "allow", "fs_list": "ask"}},
		"daemon": {"idleExit": "0"}, "net": {"allow": ["*"]}, "listen": {"address": "0.0.0.0:1"}}`)
	v := w.view()
	p := v.Permissions
	if p.Sandbox != "read-only" || p.Approval != "ask" || p.AskTimeout != 90*time.Second {
		t.Errorf("dials: %+v", p)
	}
	got := map[string]string{}
	for _, r := range p.Rules {
		got[r.Pattern] = r.Action
		if r.Tighten != r.Origin.Project {
			t.Errorf("rule %+v", r)
		}
	}
	want := map[string]string{"git_*": "allow", "fs_*": "deny", "git_push": "deny", "fs_list": "ask"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("rules: %v", got)
	}
	if v.Daemon.IdleExit != 10*time.Minute || len(v.Permissions.Net.Allow) != 0 || v.Daemon.ListenAddress != "" {
		t.Errorf("daemon-wide settings of a project were taken: %+v %v", v.Daemon, v.Permissions.Net)
	}
	for _, what := range []string{"daemon is ignored", "net is ignored", "listen is ignored", "askTimeout is ignored", "rule fs_read is ignored"} {
		if !hasNote(v, what) {
			t.Errorf("no note %q in %+v", what, v.Notes)
		}
	}
}

// decisions A.2: tighter at once, looser only after trust --config.
func TestAProjectDoesNotNameTheProgramOfAnEngine(t *testing.T) {
	w := newWorld(t)
	w.user(`{"script": {"runtimes": {"bun": "/opt/bun"}}}`)
	w.projectConfig(`{"script": {"runtimes": {"node": "/evil", "bun": "/evil"}}}`)
	w.trust()
	if v := w.view(); len(v.Script.Runtimes) > 1 || v.Script.Runtimes["bun"] != "/opt/bun" || !hasNote(v, "script.runtimes is ignored") {
		t.Errorf("%+v, %+v", v.Script.Runtimes, v.Notes)
	}
}

func TestLooserPermissionsWaitWhileASessionIsAttached(t *testing.T) {
	w := newWorld(t)
	actions := func() map[string]string {
		out := map[string]string{}
		for _, r := range w.view().Permissions.Rules {
			out[r.Pattern] = r.Action
		}
		return out
	}
	w.user(`{"permissions": {"rules": {"fs_*": "deny"}}}`)
	w.view()
	w.attached = true
	w.user(`{"permissions": {"rules": {"fs_*": "deny", "git_*": "deny"}}}`)
	if got := actions(); got["git_*"] != "deny" || hasNote(w.view(), "looser") {
		t.Errorf("tightening did not apply at once: %v", got)
	}
	w.user(`{"permissions": {"preset": "yolo", "rules": {"fs_*": "allow", "web_*": "deny"}}}`)
	v := w.view()
	if got := actions(); got["fs_*"] != "deny" || got["git_*"] != "deny" || got["web_*"] != "deny" || v.Permissions.Approval != "ask" {
		t.Errorf("loosened: %v %+v", got, v.Permissions)
	}
	if !hasNote(v, "tenon trust --config") {
		t.Errorf("no note: %+v", v.Notes)
	}
	if changed, err := w.store.TrustConfig(); err != nil || !changed {
		t.Fatalf("trust config: %v %v", changed, err)
	}
	if got := actions(); got["fs_*"] != "allow" || w.view().Permissions.Approval != "never" {
		t.Errorf("after trust: %v", got)
	}
}

func TestHeldPermissionsApplyOnceNoSessionIsAttached(t *testing.T) {
	w := newWorld(t)
	w.user(`{"permissions": {"rules": {"fs_*": "deny"}}}`)
	w.view()
	w.attached = true
	w.user(`{}`)
	if got := w.view().Permissions.Rules; len(got) != 1 {
		t.Errorf("rules: %v", got)
	}
	w.attached = false
	if got := w.view().Permissions.Rules; len(got) != 0 {
		t.Errorf("rules: %v", got)
	}
}

func TestWatchReportsEditsAlsoByRenameAndInNewFolders(t *testing.T) {
	w := newWorld(t)
	file := w.user(`{}`)
	w.view()
	ctx, cancel := context.WithCancel(context.Background())
	changes := w.store.Watch(ctx)
	await := func(step, want string) {
		t.Helper()
		deadline := time.After(20 * time.Second)
		for {
			select {
			case c := <-changes:
				if !reflect.DeepEqual(c.Dirs, []string{w.project}) {
					t.Fatalf("%s: %+v", step, c)
				}
				if w.view().Servers[want] != nil {
					return
				}
			case <-deadline:
				t.Fatalf("%s: no change was reported", step)
			}
		}
	}
	w.write(file, `{"servers": {"written": {"command": "sh"}}}`)
	await("written in place", "written")
	tmp := w.write(file+"~", `{"servers": {"renamed": {"command": "sh"}}}`)
	if err := os.Rename(tmp, file); err != nil {
		t.Fatal(err)
	}
	await("renamed over", "renamed")
	w.projectConfig(`{"servers": {"new": {"command": "sh"}}}`)
	await("a new folder", "new")
	// A view that was built before the watcher looked is reported as well.
	w.write(file, `{"servers": {"seen": {"command": "sh"}}}`)
	w.view()
	await("seen by a call first", "seen")
	if _, err := w.store.Trust(w.project); err != nil {
		t.Fatal(err)
	}
	await("trust given", "new")
	if w.view().Untrusted {
		t.Error("still untrusted")
	}
	cancel()
	for range changes {
	}
}

func TestAViewThatNobodyAsksForIsReportedOnce(t *testing.T) {
	w := newWorld(t)
	busy := t.TempDir()
	w.view()
	if _, err := w.store.View(busy, "", w.env()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	changes := w.store.Watch(ctx)
	next := func(step, dir string) {
		t.Helper()
		select {
		case c := <-changes:
			if !reflect.DeepEqual(c.Dirs, []string{resolveDir(dir)}) {
				t.Errorf("%s: %+v", step, c)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: no change was reported", step)
		}
	}
	w.projectConfig(`{"servers": {"new": {"command": "sh"}}}`)
	next("the project's file", w.project)
	w.write(filepath.Join(busy, ".tenon", "config.jsonc"), `{"servers": {"other": {"command": "sh"}}}`)
	next("another's, the project's view still as it was", busy)
	w.view()
	w.projectConfig(`{"servers": {"newer": {"command": "sh"}}}`)
	next("the project's again, asked for in between", w.project)
	cancel()
	for range changes {
	}
}

func TestAStepInAPathIsNoServersName(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{".", "..", ""} {
		w.projectConfig(`{"servers": {"` + name + `": {"command": "sh"}}}`)
		if v := w.view(); !hasNote(v, "cannot be a server's name") || len(v.Servers) != 0 {
			t.Errorf("%q: %+v", name, v.Notes)
		}
	}
}
