package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestTheBrowserGetsTheAddressAsOneWordOfNoShell(t *testing.T) {
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	opener := filepath.Join(dir, "opener")
	if err := os.WriteFile(opener, []byte("#!/bin/sh\nprintf '%s\\n' \"$#\" \"$1\" > "+said+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const address = "https://login.example.com/a?x=$(touch%20pwned);y='1'&z=`id`"
	if err := openWith(context.Background(), []string{opener}, address); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(said)
	if err != nil || string(got) != "1\n"+address+"\n" {
		t.Errorf("%q %v", got, err)
	}
	for _, bad := range []string{"file:///etc/passwd", "javascript:alert(1)", "--help", "", "https://", "https://h/\n--x", "ftp://h/"} {
		if err := openWith(context.Background(), []string{opener}, bad); fault.KindOf(err) != fault.UsageError {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestWithoutADesktopThereIsNoBrowser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a desktop is told by its variables on Linux only")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"PATH": dir}, false},
		{map[string]string{"PATH": dir, "DISPLAY": ":0"}, true},
		{map[string]string{"PATH": dir, "WAYLAND_DISPLAY": "wayland-0"}, true},
		{map[string]string{"PATH": t.TempDir(), "DISPLAY": ":0"}, false},
		{map[string]string{"PATH": ".", "DISPLAY": ":0"}, false},
	} {
		if got := browserHere(c.env) != nil; got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}

func TestHowLongATokenLives(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for want, l := range map[string]proto.Login{
		"":                      {},
		"for 1h0m0s":            {Expires: "2026-01-01T13:00:00Z"},
		"expired":               {Expires: "2026-01-01T11:00:00Z"},
		"for 1h0m0s, refreshed": {Expires: "2026-01-01T13:00:00Z", Refreshes: true},
		"refreshed":             {Refreshes: true},
	} {
		if got := tokenUntil(l, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTwoWaysToLogInDoNotGoTogether(t *testing.T) {
	got := tenon(t, "", "auth", "x", "--device", "--no-browser")
	if got.code != 2 || !strings.Contains(got.err, "do not go together") {
		t.Errorf("%+v", got)
	}
}

func TestALoginOfAServerThatIsGoneIsShownAndForgotten(t *testing.T) {
	p := newPlace(t, nil)
	id := strings.Repeat("ab", 12)
	file := p.write("state/tokens/"+id+".json", `{"version": 1, "server": "gone", "url": "https://gone.example.com/mcp", "accessToken": "a-token-of-one"}`)
	if got := p.run("auth", "status"); got.code != 0 || !strings.Contains(got.out, "not configured") || !strings.Contains(got.err, "tenon auth logout gone") {
		t.Errorf("%+v", got)
	}
	if findings, _ := p.diagnosis(); !says(findings, "ok", "logins", "gone", "tenon auth logout") {
		t.Errorf("%+v", findings)
	}
	if got := p.run("auth", "logout", "gone"); got.code != 0 || !strings.Contains(got.err, "logged out of gone") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	p.quiet("after the logout", "logins")
	if findings, _ := p.diagnosis(); says(findings, "ok", "logins") {
		t.Errorf("%+v", findings)
	}
}

func TestHintsOfLoginsAreCommandsThatAShellTakes(t *testing.T) {
	p := newPlace(t, nil)
	names := []string{"*", "-x", "q?x=1#y", "two words", "it's", "a\nb", "$(id)"}
	for i, name := range names {
		doc, err := json.Marshal(map[string]any{"version": 1, "server": name, "url": "https://gone.example.com/mcp", "accessToken": "a-token-of-one"})
		if err != nil {
			t.Fatal(err)
		}
		p.write("state/tokens/"+strings.Repeat(strconv.Itoa(i)+"a", 12)+".json", string(doc))
	}
	got := p.run("auth", "status")
	for _, hint := range []string{"logout '*'", "logout -- -x", "logout 'q?x=1#y'", "logout 'two words'", `logout 'it'\''s'`, "logout '$(id)'"} {
		if !strings.Contains(got.err, "tenon auth "+hint+"\n") {
			t.Errorf("no %s in %s", hint, got.err)
		}
	}
	if got := p.run("auth", "logout", "--", "-x"); got.code != 0 {
		t.Errorf("%+v", got)
	}
}
