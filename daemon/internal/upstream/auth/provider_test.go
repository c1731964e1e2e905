package auth

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tenon/daemon/internal/fault"
)

func TestABrowserLoginWithRegistrationReachesTheServer(t *testing.T) {
	p := openProvider(t)
	url, dir := p.protect(t), t.TempDir()
	k := keeper(t, dir)
	s := k.Source(Target{Server: "notes", URL: url})
	status, err := reach(t.Context(), s, url)
	if fault.KindOf(err) != fault.Unauthorized || !strings.Contains(fault.From(err).Hint, "tenon auth notes") || status != 401 {
		t.Fatalf("without a login: %d %v", status, err)
	}
	if st := s.Status(); st.State != Needed {
		t.Errorf("state %s before the login", st.State)
	}
	st := login(t, s)
	if st.State != Valid || st.Client != registered || !st.Refreshes || st.Issuer != p.issuer || st.Expires.IsZero() {
		t.Errorf("%+v", st)
	}
	if status, err := reach(t.Context(), s, url); err != nil || status != 200 {
		t.Errorf("after the login: %d %v", status, err)
	}
	// Another daemon on the same directory is logged in as well.
	other := keeper(t, dir).Source(Target{Server: "notes", URL: url})
	if status, err := reach(t.Context(), other, url); err != nil || status != 200 {
		t.Errorf("in another daemon: %d %v", status, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", e.Name(), info.Mode(), err)
		}
	}
	// The same client is used again, and not another registered.
	before := p.count(t, "register 201")
	login(t, s)
	if after := p.count(t, "register 201"); after != before {
		t.Errorf("%d registrations for a second login", after-before)
	}
}

func TestAConfiguredClientIsUsedWithItsSecret(t *testing.T) {
	p := openProvider(t)
	url, dir := p.protect(t), t.TempDir()
	before := p.count(t, "register 201")
	s := keeper(t, dir).Source(Target{Server: "notes", URL: url, ClientID: "fixed", ClientSecret: "fixed-secret-0123456789"})
	if st := login(t, s); st.Client != configured || st.State != Valid {
		t.Errorf("%+v", st)
	}
	if status, err := reach(t.Context(), s, url); err != nil || status != 200 {
		t.Errorf("%d %v", status, err)
	}
	if p.count(t, "register 201") != before {
		t.Error("a client was registered")
	}
	// A login of another client is none of this one.
	other := keeper(t, dir).Source(Target{Server: "notes", URL: url, ClientID: "another"})
	if token, err := other.Token(t.Context()); token != "" || err != nil {
		t.Errorf("token %q %v", token, err)
	}
}

func TestTheDeviceFlowNeedsNoBrowserHere(t *testing.T) {
	p := openProvider(t)
	url := p.protect(t)
	s := keeper(t, t.TempDir()).Source(Target{Server: "notes", URL: url})
	typed := make(chan error, 1)
	st, err := s.Login(t.Context(), Any, func(pr Prompt) {
		if pr.Flow != Device || pr.Code == "" || pr.Complete == "" || pr.Expires.IsZero() {
			t.Errorf("%+v", pr)
		}
		go func() { typed <- typeCode(pr.Complete) }()
	})
	if e := <-typed; e != nil {
		t.Error(e)
	}
	if err != nil || st.State != Valid || !st.Refreshes {
		t.Fatalf("%+v %v", st, err)
	}
	if status, err := reach(t.Context(), s, url); err != nil || status != 200 {
		t.Errorf("%d %v", status, err)
	}
}

func TestManyUsersOfAnEndedTokenRefreshItOnce(t *testing.T) {
	p := openProvider(t)
	url, dir := p.protect(t), t.TempDir()
	s := keeper(t, dir).Source(Target{Server: "notes", URL: url})
	login(t, s)
	before := p.count(t, "refresh_token 200")
	for round := range 3 {
		age(t, dir)
		p.set(t, `{"slow": 100}`)
		var users sync.WaitGroup
		errs := make(chan error, 64)
		// Two daemons, and many calls in each.
		for _, source := range []*Source{s, keeper(t, dir).Source(Target{Server: "notes", URL: url})} {
			for range 16 {
				users.Go(func() {
					status, err := reach(t.Context(), source, url)
					if err == nil && status != 200 {
						err = fault.New(fault.InternalError, "status %d", status)
					}
					errs <- err
				})
			}
		}
		users.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		if n := p.count(t, "refresh_token 200") - before; n != round+1 {
			t.Fatalf("%d refreshes after %d ends", n, round+1)
		}
	}
	if n := p.count(t, "refresh_token 400"); n != 0 {
		t.Errorf("%d refresh tokens were used twice", n)
	}
}

func TestATokenThatTheServerRefusesIsRefreshedThoughItLooksGood(t *testing.T) {
	p := openProvider(t)
	url, dir := p.protect(t), t.TempDir()
	s := keeper(t, dir).Source(Target{Server: "notes", URL: url})
	login(t, s)
	edit(t, dir, func(r *record) { r.Access = "forged" })
	if status, err := reach(t.Context(), s, url); err != nil || status != 200 {
		t.Errorf("%d %v", status, err)
	}
}

func TestARevokedLoginSaysHowToLogInAgain(t *testing.T) {
	p := openProvider(t)
	url, dir := p.protect(t), t.TempDir()
	s := keeper(t, dir).Source(Target{Server: "notes", URL: url})
	login(t, s)
	p.tell(t, "POST", "/-/revoke", "", nil)
	_, err := reach(t.Context(), s, url)
	if fault.KindOf(err) != fault.Unauthorized || !strings.Contains(fault.From(err).Hint, "tenon auth notes") {
		t.Fatalf("%v", err)
	}
	if st := s.Status(); st.State != Needed || !strings.Contains(st.Detail, "invalid_grant") {
		t.Errorf("%+v", st)
	}
	// Nobody asks again and again for what was refused.
	before := p.count(t, "refresh_token 400")
	_, _ = reach(t.Context(), s, url)
	if after := p.count(t, "refresh_token 400"); after != before {
		t.Errorf("%d more refreshes", after-before)
	}
	login(t, s)
	if status, err := reach(t.Context(), s, url); err != nil || status != 200 {
		t.Errorf("after the next login: %d %v", status, err)
	}
}

func TestAProviderThatIsDownEndsNoLogin(t *testing.T) {
	p := openProvider(t)
	url, dir := p.protect(t), t.TempDir()
	s := keeper(t, dir).Source(Target{Server: "notes", URL: url})
	login(t, s)
	age(t, dir)
	p.set(t, `{"down": true}`)
	if _, err := s.Token(t.Context()); fault.KindOf(err) != fault.ServerUnavailable {
		t.Errorf("%v", err)
	}
	p.set(t, `{"down": false}`)
	s.mu.Lock()
	s.failed = nil // as after a while
	s.mu.Unlock()
	if status, err := reach(t.Context(), s, url); err != nil || status != 200 {
		t.Errorf("%d %v", status, err)
	}
}

func TestLogoutForgetsTheTokensHereAndThere(t *testing.T) {
	p := openProvider(t)
	url, dir := p.protect(t), t.TempDir()
	s := keeper(t, dir).Source(Target{Server: "notes", URL: url})
	login(t, s)
	token, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := p.count(t, "revoke 200")
	if ended, err := s.Logout(t.Context()); !ended || err != nil {
		t.Fatalf("%v %v", ended, err)
	}
	if p.count(t, "revoke 200") != before+1 {
		t.Error("the provider was not told")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if again, err := s.Token(t.Context()); again != "" || err != nil || token == "" {
		t.Errorf("%q %v", again, err)
	}
	if ended, err := s.Logout(t.Context()); ended || err != nil {
		t.Errorf("a second logout: %v %v", ended, err)
	}
}

func TestALoginForMoreRightsKeepsThoseItHad(t *testing.T) {
	p := openProvider(t)
	url, dir := p.protect(t, "--login-call-scope", "mcp:admin"), t.TempDir()
	s := keeper(t, dir).Source(Target{Server: "notes", URL: url})
	login(t, s)
	token, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := map[string][]string{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="mcp:admin"`}}
	if _, err := s.Refused(t.Context(), token, 403, h); fault.KindOf(err) != fault.Unauthorized || !strings.Contains(err.Error(), "mcp:admin") {
		t.Fatalf("%v", err)
	}
	// The wish outlives the daemon.
	s = keeper(t, dir).Source(Target{Server: "notes", URL: url})
	if st := s.Status(); st.State != Limited {
		t.Errorf("%+v", st)
	}
	if st := login(t, s); st.State != Valid || !covers(strings.Join(st.Scopes, " "), "mcp:use mcp:admin") {
		t.Errorf("%+v", st)
	}
}

func TestAProviderWithoutRegistrationAsksForAConfiguredClient(t *testing.T) {
	p := ownProvider(t, `{"register": false, "device": false}`)
	s := keeper(t, t.TempDir()).Source(Target{Server: "notes", URL: p.protect(t)})
	_, err := tryLogin(t.Context(), s)
	if fault.KindOf(err) != fault.Unauthorized || !strings.Contains(fault.From(err).Hint, "oauth.clientId") {
		t.Errorf("%v", err)
	}
	if _, err := s.Login(t.Context(), Device, nil); err == nil || !strings.Contains(err.Error(), "offers no device flow") {
		t.Errorf("%v", err)
	}
	p.set(t, `{"pkce": []}`)
	if _, err = tryLogin(t.Context(), s); err == nil || !strings.Contains(err.Error(), "PKCE") {
		t.Errorf("without PKCE: %v", err)
	}
	p.set(t, `{"pkce": ["S256"], "issuer": "https://accounts.example.com"}`)
	if _, err = tryLogin(t.Context(), s); err == nil || !strings.Contains(err.Error(), "another issuer") {
		t.Errorf("another issuer: %v", err)
	}
}

// edit changes the one record of a directory, as another process would.
func edit(t *testing.T, dir string, f func(*record)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	f(&r)
	if err := (&file{path: files[0]}).write(&r); err != nil {
		t.Fatal(err)
	}
}

// age lets the token end, on the file and in truth for whoever looks there.
func age(t *testing.T, dir string) {
	t.Helper()
	edit(t, dir, func(r *record) { r.Expires = r.Issued })
}
