package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

// kept is a source with a login in its file, that is refreshed at where.
func kept(t *testing.T, where string) (*Source, string) {
	t.Helper()
	dir := t.TempDir()
	s := keeper(t, dir).Source(Target{Server: "notes", URL: where + "/mcp"})
	r := record{Version: recordVersion, Server: "notes", URL: where + "/mcp", Issuer: where, Token: where + "/token",
		Client: client{ID: "c", Method: "none", From: registered}, Access: "access-0", Refresh: "refresh-0", Issued: time.Now(), Scope: "read"}
	if err := s.file.write(&r); err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func TestWhatAKilledWriterLeftIsRemoved(t *testing.T) {
	for name, f := range map[string]func(*Source) error{
		"by the next write": func(s *Source) error {
			return s.change(t.Context(), func(r *record) bool { r.Wants = "x"; return true })
		},
		"by a logout": func(s *Source) error { _, err := s.Logout(t.Context()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := kept(t, "http://127.0.0.1:1")
			tmp, err := os.CreateTemp(dir, s.file.temporary("*"))
			if err != nil {
				t.Fatal(err)
			}
			_ = tmp.Close()
			other := filepath.Join(dir, ".new-of-another-login-1")
			if err := os.WriteFile(other, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := f(s); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(tmp.Name()); !os.IsNotExist(err) {
				t.Errorf("what was left is there: %v", err)
			}
			if _, err := os.Stat(other); err != nil {
				t.Errorf("what another may be writing is gone: %v", err)
			}
		})
	}
}

func TestOddFilesInPlaceOfALogin(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a pipe":         func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":       func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":         func(path string) error { return os.Symlink("/dev/zero", path) },
		"half of itself": func(path string) error { return os.WriteFile(path, []byte(`{"version":1,"accessToken":"a`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := kept(t, "http://127.0.0.1:1")
			if err := os.Remove(s.file.path); err != nil {
				t.Fatal(err)
			}
			if err := make(s.file.path); err != nil {
				t.Fatal(err)
			}
			if token, err := s.Token(t.Context()); token != "" {
				t.Errorf("%q %v", token, err)
			} else if name != "half of itself" && (fault.KindOf(err) != fault.ServerUnavailable || !strings.Contains(err.Error(), s.file.path)) {
				t.Errorf("the file is not named: %v", err)
			}
			if ended, err := s.Logout(t.Context()); !ended || err != nil {
				t.Errorf("logout: %v %v", ended, err)
			}
			if _, err := os.Lstat(s.file.path); !os.IsNotExist(err) {
				t.Errorf("it is still there: %v", err)
			}
		})
	}
}

func TestALoginThatOthersCouldReadIsMadePrivate(t *testing.T) {
	s, _ := kept(t, "http://127.0.0.1:1")
	if token, err := s.Token(t.Context()); token != "access-0" || err != nil {
		t.Fatalf("%q %v", token, err)
	}
	if err := os.Chmod(s.file.path, 0o644); err != nil {
		t.Fatal(err)
	}
	if token, err := s.Token(t.Context()); token != "access-0" || err != nil {
		t.Errorf("%q %v", token, err)
	}
	if info, err := os.Stat(s.file.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestAServerThatWantsOtherRightsWithEachRefusalEndsNoLogin(t *testing.T) {
	s, _ := kept(t, "http://127.0.0.1:1")
	for i := range 40 {
		h := http.Header{"Www-Authenticate": {fmt.Sprintf(`Bearer error="insufficient_scope", scope="wish-%d %s"`, i, strings.Repeat(fmt.Sprint(i), 1000))}}
		if _, err := s.Refused(t.Context(), "access-0", 403, h); fault.KindOf(err) != fault.Unauthorized {
			t.Fatal(err)
		}
	}
	huge := http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="` + strings.Repeat("x", maxRecord) + `"`}}
	if _, err := s.Refused(t.Context(), "access-0", 403, huge); fault.KindOf(err) != fault.Unauthorized || len(err.Error()) > 1000 {
		t.Fatal(err)
	}
	again := keeper(t, filepath.Dir(s.file.path)).Source(s.target)
	if token, err := again.Token(t.Context()); token != "access-0" || err != nil {
		t.Fatalf("%q %v", token, err)
	}
	if st := again.Status(); st.State != Limited {
		t.Errorf("%+v", st)
	}
	r, err := again.current()
	if err != nil || len(r.Wants) > maxScope || !covers(r.Wants, "wish-39") {
		t.Errorf("%d bytes %v", len(r.Wants), err)
	}
}

func TestATokenThatIsTooLargeToBeKeptIsRefused(t *testing.T) {
	e := newEvil(t)
	s, _ := kept(t, e.srv.URL)
	e.token = `{"access_token": "b", "token_type": "Bearer", "refresh_token": "` + strings.Repeat("r", maxRecord-200) + `"}`
	if _, err := s.Refused(t.Context(), "access-0", 401, nil); fault.KindOf(err) != fault.ServerUnavailable || !strings.Contains(err.Error(), "refresh token of more than") {
		t.Errorf("%v", err)
	}
	if token, err := s.Token(t.Context()); token != "access-0" || err != nil {
		t.Errorf("%q %v", token, err)
	}
}

func TestAServerThatRefusesEveryTokenIsNotRefreshedForWithEachCall(t *testing.T) {
	var refreshes atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			_, _ = fmt.Fprintf(w, `{"access_token": "access-%d", "refresh_token": "refresh-1"}`, refreshes.Add(1))
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(srv.Close)
	s, _ := kept(t, srv.URL)
	began := time.Now()
	for range 50 {
		if status, err := reach(t.Context(), s, srv.URL+"/mcp"); status != 401 || err != nil && fault.KindOf(err) != fault.Unauthorized {
			t.Fatal(status, err)
		}
	}
	if n, most := refreshes.Load(), 1+int64(time.Since(began)/again); n < 1 || n > most {
		t.Errorf("%d refreshes", n)
	}
}

func TestTheFolderOfTheLoginsIsMadePrivate(t *testing.T) {
	for name, use := range map[string]func(*Source) error{
		"by the next read":   func(s *Source) error { _, err := s.Token(t.Context()); return err },
		"by the next change": func(s *Source) error { _, err := s.Logout(t.Context()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := kept(t, "http://127.0.0.1:1")
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := use(s); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v %v", info.Mode(), err)
			}
		})
	}
}

func TestTheFolderOfAnotherUserHasNoLogins(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	s, dir := kept(t, "http://127.0.0.1:1")
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if token, err := s.Token(t.Context()); token != "" || err == nil || !strings.Contains(err.Error(), "belongs to uid 12345") {
		t.Errorf("%q %v", token, err)
	}
	if ended, err := s.Logout(t.Context()); ended || fault.KindOf(err) != fault.ConfigError {
		t.Errorf("%v %v", ended, err)
	}
	if _, err := os.Stat(s.file.path); err != nil {
		t.Error(err)
	}
}

func TestAFolderWithSomethingInItIsLeftToItsOwner(t *testing.T) {
	s, _ := kept(t, "http://127.0.0.1:1")
	if err := os.Remove(s.file.path); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(s.file.path, "diary")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	ended, err := s.Logout(t.Context())
	if ended || fault.KindOf(err) != fault.UsageError || !strings.Contains(err.Error(), s.file.path) || !strings.Contains(fault.From(err).Hint, "by hand") {
		t.Errorf("%v %v", ended, err)
	}
	if _, err := os.Stat(inside); err != nil {
		t.Error(err)
	}
}
