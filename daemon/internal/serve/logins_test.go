package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// openProvider starts a real OpenID provider, whose tokens live for ttl seconds.
func openProvider(t *testing.T, settings string) (issuer string) {
	t.Helper()
	root, err := filepath.Abs("../../../test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "node_modules", "oidc-provider")); err != nil {
		t.Skip("oidc-provider is not installed: npm --prefix test ci")
	}
	node := filepath.Join(root, "runtimes", "node_modules", ".bin", "node")
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	cmd := exec.Command(node, filepath.Join(root, "oauth", "provider.mjs"), settings)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	var hello struct{ Issuer string }
	if err != nil || json.Unmarshal([]byte(line), &hello) != nil {
		t.Fatalf("the provider did not start: %v", err)
	}
	return hello.Issuer
}

// follow opens a page as a browser does, with whatever it redirects to.
func follow(address string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	c := http.Client{Jar: jar, Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Get(address)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res.Body.Close()
}

// logIn logs in through the daemon; the page is opened by a browser.
func logIn(ctx context.Context, c *client.Client, server string) (*proto.Login, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var browsing sync.WaitGroup
	defer browsing.Wait()
	return c.Login(ctx, server, proto.LoginStart{Flow: "browser"}, func(p proto.LoginPrompt) {
		browsing.Go(func() {
			if follow(p.URL) != nil {
				cancel()
			}
		})
	})
}

func TestALoginServesEverySessionUntilItEnds(t *testing.T) {
	issuer := openProvider(t, `{"ttl": 2}`)
	url := fakeserver.HTTP(t, "--login", issuer, "--login-client", "resource:resource-secret-0123456789", "--login-scope", "mcp:use")
	var log lockedBuffer
	r := start(t, map[string]any{
		"servers":     map[string]any{"notes": map[string]any{"url": url}},
		"permissions": map[string]any{"rules": map[string]any{"notes_*": "allow"}},
	}, func(o *Options) { o.LogTo = &log })
	ctx := context.Background()
	user := r.client("")
	call := func(c *client.Client) error {
		_, err := c.Call(ctx, proto.CallRequest{Server: "notes", Tool: "echo", Arguments: json.RawMessage(`{"text": "hello"}`)}, nil)
		return err
	}
	err := call(user)
	if fault.KindOf(err) != fault.Unauthorized || !strings.Contains(fault.From(err).Hint, "tenon auth notes") {
		t.Fatalf("without a login: %v", err)
	}
	if s, err := user.Server(ctx, "notes"); err != nil || s.Status != "needs-auth" || !strings.Contains(s.Detail, "tenon auth notes") {
		t.Errorf("%+v %v", s, err)
	}

	// Neither a session nor somebody inside an agent's shell logs in.
	made, err := user.CreateSession(ctx, proto.SessionCreate{ID: "work"})
	if err != nil {
		t.Fatal(err)
	}
	session, stranger := r.client("work"), r.client("work")
	session.Identity.Ticket, stranger.Identity.Ticket = made.Ticket, "not one of ours"
	for name, c := range map[string]*client.Client{"session": session, "stranger": stranger} {
		if _, err := logIn(ctx, c, "notes"); fault.KindOf(err) != fault.PermissionDenied || fault.PermissionDenied.ExitCode() != 4 {
			t.Errorf("a %s: %v", name, err)
		}
		if _, err := c.Logout(ctx, "notes"); fault.KindOf(err) != fault.PermissionDenied {
			t.Errorf("a %s logs out: %v", name, err)
		}
	}

	login, err := logIn(ctx, user, "notes")
	if err != nil || login.State != "valid" || !login.Refreshes || login.Issuer != issuer {
		t.Fatalf("%+v %v", login, err)
	}
	if err := call(session); err != nil {
		t.Fatalf("a session's call after the user's login: %v", err)
	}

	// The token ends every two seconds; nobody notices.
	var counts map[string]int
	for deadline := time.Now().Add(patience); counts["refresh_token 200"] < 2; {
		if time.Now().After(deadline) {
			t.Fatalf("no refresh: %v", counts)
		}
		if err := call(user); err != nil {
			t.Fatal(err)
		}
		if counts, err = grants(issuer); err != nil {
			t.Fatal(err)
		}
	}

	// No secret is where anybody reads.
	files, err := filepath.Glob(filepath.Join(r.paths.State, "tokens", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var kept struct{ AccessToken, RefreshToken string }
	if err := json.Unmarshal(raw, &kept); err != nil || kept.AccessToken == "" {
		t.Fatalf("%v", err)
	}
	shown, err := json.Marshal(login)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{kept.AccessToken, kept.RefreshToken} {
		if strings.Contains(log.String()+string(shown), secret) {
			t.Error("a token is in the log or in the answer")
		}
	}
	res := r.exec("", `await call("notes", "echo", {text: `+"`"+kept.RefreshToken+"`"+`}); throw new Error("`+kept.RefreshToken+`")`)
	run, err := user.Run(ctx, res.ID)
	if err != nil {
		t.Fatal(err)
	}
	if recorded, err := json.Marshal(run); err != nil || strings.Contains(string(recorded), kept.RefreshToken) {
		t.Errorf("a token is in the history: %v", err)
	}

	if ended, err := user.Logout(ctx, "notes"); err != nil || !ended.Ended || ended.Login.State == "valid" {
		t.Errorf("%+v %v", ended, err)
	}
	if err := call(user); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("after the logout: %v", err)
	}
}

// grants is how often the provider was asked for what.
func grants(issuer string) (counts map[string]int, err error) {
	c := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Get(issuer + "/-/counts")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	err = json.NewDecoder(res.Body).Decode(&counts)
	return counts, err
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
