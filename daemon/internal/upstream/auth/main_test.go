package auth

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/outbound"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(refresherEnv); dir != "" {
		os.Exit(refresherMain(dir))
	}
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// provider is a real OpenID provider in a process of its own.
type provider struct{ issuer string }

// shared is the one of most tests: starting one takes a second.
var shared struct {
	once sync.Once
	p    *provider
	stop func()
	why  string // there is none
}

// openProvider gives the shared provider with its settings as they were.
func openProvider(t *testing.T) *provider {
	t.Helper()
	shared.once.Do(func() { shared.p, shared.stop, shared.why = startProvider("") })
	if shared.p == nil {
		t.Skip(shared.why)
	}
	t.Cleanup(func() { shared.p.set(t, `{"ttl": 3600, "down": false, "slow": 0, "pkce": ["S256"], "issuer": ""}`) })
	return shared.p
}

// ownProvider starts another, with settings that are fixed at its start.
func ownProvider(t *testing.T, settings string) *provider {
	t.Helper()
	p, stop, why := startProvider(settings)
	if p == nil {
		t.Skip(why)
	}
	t.Cleanup(stop)
	return p
}

func startProvider(settings string) (*provider, func(), string) {
	root, err := filepath.Abs("../../../../test")
	if err != nil {
		return nil, nil, err.Error()
	}
	if _, err := os.Stat(filepath.Join(root, "node_modules", "oidc-provider")); err != nil {
		return nil, nil, "oidc-provider is not installed: npm --prefix test ci"
	}
	node := filepath.Join(root, "runtimes", "node_modules", ".bin", "node")
	if _, err := os.Stat(node); err != nil {
		if node, err = exec.LookPath("node"); err != nil {
			return nil, nil, "there is no node"
		}
	}
	cmd := exec.Command(node, filepath.Join(root, "oauth", "provider.mjs"), first(settings, "{}"))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err.Error()
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err.Error()
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, nil, err.Error()
	}
	stop := func() { _ = in.Close(); _ = cmd.Wait() }
	line, err := bufio.NewReader(out).ReadString('\n')
	var hello struct{ Issuer string }
	if err != nil || json.Unmarshal([]byte(line), &hello) != nil {
		stop()
		panic("the provider did not start: " + said.String()) // installed and broken is no reason to skip
	}
	return &provider{hello.Issuer}, stop, ""
}

// tell asks one of the provider's routes for tests.
func (p *provider) tell(t *testing.T, method, path, body string, into any) {
	t.Helper()
	req, err := http.NewRequest(method, p.issuer+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", path, res.Status, raw, err)
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *provider) set(t *testing.T, settings string) {
	t.Helper()
	p.tell(t, http.MethodPost, "/-/set", settings, nil)
}

// count is how often something was asked for.
func (p *provider) count(t *testing.T, what string) int {
	t.Helper()
	var all map[string]int
	p.tell(t, http.MethodGet, "/-/counts", "", &all)
	return all[what]
}

// protect starts an MCP server that wants a login at p.
func (p *provider) protect(t *testing.T, flags ...string) string {
	t.Helper()
	return fakeserver.HTTP(t, append([]string{
		"--login", p.issuer, "--login-client", "resource:resource-secret-0123456789", "--login-scope", "mcp:use",
	}, flags...)...)
}

// keeper is one in a directory, as a daemon has it.
func keeper(t *testing.T, dir string) *Keeper {
	t.Helper()
	n := outbound.New(outbound.Options{})
	k := New(Options{Dir: dir, Network: n})
	t.Cleanup(func() { k.Close(); n.Close() })
	return k
}

// browse does what a user with a browser does: follows the address through the
// provider's pages, and back.
func browse(address string) (int, string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return 0, "", err
	}
	c := http.Client{Jar: jar, Timeout: 20 * time.Second, Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	res, err := c.Get(address)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, string(raw), err
}

var hidden = regexp.MustCompile(`name="(xsrf|user_code)" value="([^"]*)"`)

// typeCode does what a user does with a code: opens the page, confirms, agrees.
func typeCode(page string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	c := http.Client{Jar: jar, Timeout: 20 * time.Second, Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	res, err := c.Get(page)
	for range 3 {
		if err != nil {
			return err
		}
		raw, readErr := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if readErr != nil {
			return readErr
		}
		if string(raw) == "done" {
			return nil
		}
		form := map[string][]string{"confirm": {"yes"}}
		for _, m := range hidden.FindAllStringSubmatch(string(raw), -1) {
			form[m[1]] = []string{m[2]}
		}
		if u := res.Request.URL.Query().Get("user_code"); u != "" {
			form["user_code"] = []string{u}
		}
		at := *res.Request.URL
		at.Path, at.RawQuery = "/device", ""
		res, err = c.PostForm(at.String(), form)
	}
	return fmt.Errorf("the code was not accepted: %v", err)
}

// login logs in with a browser.
func login(t *testing.T, s *Source) Status {
	t.Helper()
	st, err := tryLogin(t.Context(), s)
	if err != nil {
		t.Fatalf("login: %v", err)
	}
	return st
}

func tryLogin(ctx context.Context, s *Source) (Status, error) {
	var browsing sync.WaitGroup
	defer browsing.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return s.Login(ctx, Browser, func(p Prompt) {
		browsing.Go(func() {
			status, text, err := browse(p.URL)
			if err != nil || status != http.StatusOK && !strings.Contains(text, "<title>tenon") { // it did not come back
				cancel(fault.New(fault.InternalError, "the browser ended at %d %v %s", status, err, text))
			}
		})
	})
}

// reach is one request to the server with the login's token, as upstream makes
// it: refused, it is sent once more. It gives the status.
func reach(ctx context.Context, s *Source, url string) (int, error) {
	token, err := s.Token(ctx)
	if err != nil {
		return 0, err
	}
	for again := false; ; again = true {
		const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(hello))
		if err != nil {
			return 0, err
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized || again {
			return res.StatusCode, nil
		}
		if token, err = s.Refused(ctx, token, res.StatusCode, res.Header); err != nil {
			return res.StatusCode, err
		}
	}
}
