package config

import (
	"path/filepath"
	"testing"
)

func codes(hooks []Hook) (out []string) {
	for _, h := range hooks {
		out = append(out, h.Code+h.Script)
	}
	return out
}

func TestHooksOfAProjectRunOnceTheyAreTrusted(t *testing.T) {
	w := newWorld(t)
	w.user(`{"hooks": {"before": "user1", "after": "user2"}}`)
	w.projectConfig(`{"hooks": {"before": {"script": "check"}, "after": "project2", "onError": "project3"}}`)
	script := w.write(filepath.Join(w.project, ".tenon/scripts/check.ts"), "1")
	equal := func(step string, before, after, onError int) {
		t.Helper()
		h := w.view().Hooks
		if len(h.Before) != before || len(h.After) != after || len(h.OnError) != onError || len(h.OnSuccess) != 0 {
			t.Errorf("%s: before %q, after %q, onError %q", step, codes(h.Before), codes(h.After), codes(h.OnError))
		}
	}
	equal("untrusted", 1, 1, 0)
	if _, err := w.store.Trust(w.project); err != nil {
		t.Fatal(err)
	}
	equal("trusted", 2, 2, 1)
	h := w.view().Hooks
	if got := codes(h.Before); got[0] != "user1" || got[1] != "check" {
		t.Errorf("before: %q", got)
	}
	if got := codes(h.After); got[0] != "project2" || got[1] != "user2" {
		t.Errorf("after: %q", got)
	}
	w.write(script, "2 + 2")
	equal("its script changed", 1, 1, 0)
	w.write(script, "1")
	equal("its script is as it was", 2, 2, 1)
	if before := w.view().Hash; before == "" {
		t.Error("no hash")
	} else if w.user(`{"hooks": {"before": "other"}}`); w.view().Hash == before {
		t.Error("another hook, and the same hash")
	}
}

func TestTrustCoversTheTextOfTheScriptThatAHookNames(t *testing.T) {
	for _, name := range []string{"check", "check.ts"} { // a script's file is also a name of it
		w := newWorld(t)
		w.projectConfig(`{"hooks": {"before": {"script": "` + name + `"}}}`)
		script := w.write(filepath.Join(w.project, ".tenon/scripts/check.ts"), "1")
		if _, err := w.store.Trust(w.project); err != nil {
			t.Fatal(err)
		}
		h := w.view().Hooks.Before
		if len(h) != 1 || !h[0].Covers("1") || h[0].Covers("2") {
			t.Errorf("%s: %+v", name, h)
		}
		w.write(script, "2 + 2")
		if h := w.view().Hooks.Before; len(h) != 0 {
			t.Errorf("%s: it runs although its script has changed", name)
		}
	}
	if !(Hook{Script: "mine"}).Covers("anything") {
		t.Error("the user's own needs no trust")
	}
}

func TestAFileCanSetHostOnlyAndOnlyTheUsersOwnLeavesIt(t *testing.T) {
	w := newWorld(t)
	if w.view().Scripts.HostOnly {
		t.Error("set by default")
	}
	w.projectConfig(`{"scripts": {"hostOnly": true}}`)
	if !w.view().Scripts.HostOnly {
		t.Error("a project cannot set it")
	}
	w.projectConfig(`{"scripts": {"hostOnly": false}}`)
	w.user(`{"scripts": {"hostOnly": true}}`)
	if !w.view().Scripts.HostOnly {
		t.Error("a project unset it")
	}
	other := w.write(filepath.Join(w.home, "other.json"), `{"scripts": {"hostOnly": false}, "hooks": {"before": "mine"}}`)
	w.user(`{"scripts": {"hostOnly": true}, "hooks": {"before": "user1"}}`)
	v, err := w.store.View(w.project, other, w.env())
	if err != nil || !v.Scripts.HostOnly || len(v.Hooks.Before) != 2 {
		t.Errorf("with another file: %+v, %q, %v", v.Scripts, codes(v.Hooks.Before), err)
	}
}

func TestWrongHooksAreNamed(t *testing.T) {
	w := newWorld(t)
	for doc, want := range map[string]string{
		`{"hooks": {"before": 1}}`:                     "hooks.before",
		`{"hooks": {"before": {}}}`:                    "hooks.before",
		`{"hooks": {"before": {"code": "1"}}}`:         "hooks.before.code",
		`{"hooks": {"before": {"script": ""}}}`:        "hooks.before.script",
		`{"hooks": {"prefix": "1"}}`:                   "prefix",
		`{"scripts": {"hostOnly": "yes"}}`:             "scripts.hostOnly",
		`{"hooks": {"after": {"script": "a", "b":1}}}`: "hooks.after.b",
	} {
		w.user(doc)
		w.open()
		_, err := w.store.View(w.project, "", w.env())
		wantConfigError(t, err, want)
	}
}
