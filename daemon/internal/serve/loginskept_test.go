package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// keepLogin puts a login on the disk, as one of an earlier configuration.
func (r *running) keepLogin(server, url, revoke string) (id string) {
	r.t.Helper()
	sum := sha256.Sum256([]byte(server + "\n" + url))
	id = hex.EncodeToString(sum[:12])
	r.putToken(id, fmt.Sprintf(`{"version": 1, "server": %q, "url": %q, "resource": %q, "issuer": "https://login.example.com", "tokenEndpoint": "",
		"revocationEndpoint": %q, "client": {"id": "c", "method": "none", "from": "registered"},
		"accessToken": "access-of-%s", "refreshToken": "refresh", "issued": "2026-01-01T00:00:00Z", "scope": "read"}`, server, url, url, revoke, server))
	return id
}

func (r *running) putToken(id, text string) {
	r.t.Helper()
	dir := filepath.Join(r.paths.State, "tokens")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, id+".json"), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func TestLoginsOfServersThatAreGoneAreListedAndForgotten(t *testing.T) {
	var revoked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/revoke" {
			revoked.Add(1)
		}
	}))
	defer srv.Close()
	url := srv.URL + "/mcp"
	r := start(t, map[string]any{"servers": map[string]any{"notes": map[string]any{"url": url}}})
	ctx, user := context.Background(), r.client("")
	r.keepLogin("notes", url, "")
	moved := r.keepLogin("notes", srv.URL+"/old?key=hidden-in-the-address", "")
	r.keepLogin("renamed", url, srv.URL+"/revoke")
	twice := []string{r.keepLogin("twice", srv.URL+"/a", ""), r.keepLogin("twice", srv.URL+"/b", "")}
	broken := strings.Repeat("0a", 12)
	r.putToken(broken, "{ not JSON")
	r.putToken("README", "no login")

	rows := func() map[string]proto.Login {
		t.Helper()
		list, err := user.Logins(ctx)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]proto.Login{}
		for _, row := range list {
			if strings.Contains(fmt.Sprint(row), "hidden") || strings.Contains(fmt.Sprint(row), "access-of") {
				t.Errorf("a secret is shown: %+v", row)
			}
			out[row.Server] = row
		}
		return out
	}
	got := rows()
	if n := got["notes"]; n.State != "valid" || len(got) != 6 {
		t.Fatalf("%+v", got)
	}
	for name, words := range map[string]string{moved: "once of notes", "renamed": "renamed, moved or removed", twice[0]: "once of twice", twice[1]: "once of twice", broken: "makes no sense"} {
		if row := got[name]; row.State != "unconfigured" || !strings.Contains(row.Detail, words) || name != broken && row.URL != srv.URL {
			t.Errorf("%s: %+v", name, row)
		}
	}

	// What is left of other servers is nothing to a session.
	made, err := user.CreateSession(ctx, proto.SessionCreate{ID: "work"})
	if err != nil {
		t.Fatal(err)
	}
	agent := r.client("work")
	agent.Identity.Ticket = made.Ticket
	list, err := agent.Logins(ctx)
	if err != nil || slices.ContainsFunc(list, func(l proto.Login) bool { return l.State == "unconfigured" }) {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := agent.Logout(ctx, "renamed"); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("%v", err)
	}

	if _, err := user.Logout(ctx, "nobody"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	if _, err := user.Logout(ctx, "twice"); fault.KindOf(err) != fault.UsageError || !strings.Contains(fault.From(err).Hint, "by its id") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"renamed", moved, twice[0], twice[1][:8], broken} {
		if ended, err := user.Logout(ctx, name); err != nil || !ended.Ended {
			t.Errorf("%s: %+v, %v", name, ended, err)
		}
	}
	if got := rows(); len(got) != 1 || got["notes"].State != "valid" {
		t.Errorf("%+v", got)
	}
	if revoked.Load() == 0 {
		t.Error("the authorization server was not told")
	}
	left, err := os.ReadDir(filepath.Join(r.paths.State, "tokens"))
	if err != nil || len(left) != 2 { // that of notes, and what is no login
		t.Errorf("%v, %v", left, err)
	}
}

func TestALoginThatIsCalledAStepInAPathIsForgottenByItsID(t *testing.T) {
	r := start(t, map[string]any{})
	ctx, user := context.Background(), r.client("")
	for _, name := range []string{".", ".."} {
		id := r.keepLogin(name, "http://127.0.0.1:1/mcp", "")
		list, err := user.Logins(ctx)
		if err != nil || len(list) != 1 || list[0].Server != id {
			t.Fatalf("%+v %v", list, err)
		}
		if ended, err := user.Logout(ctx, id); err != nil || !ended.Ended {
			t.Errorf("%+v %v", ended, err)
		}
	}
	for _, name := range []string{"", ".", ".."} {
		_, err := user.Logout(ctx, name)
		_, restarted := user.RestartServer(ctx, name)
		_, listed := user.Server(ctx, name)
		_, run := user.Run(ctx, name)
		for _, err := range []error{err, restarted, listed, run} {
			if fault.KindOf(err) != fault.NotFound || strings.Contains(err.Error(), "route") {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}
