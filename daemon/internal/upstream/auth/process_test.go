package auth

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/outbound"
)

// refresherEnv names the directory in which this test binary, started once more,
// asks for a token, and the address of the server.
const refresherEnv = "TENON_TEST_REFRESHER"

// refresherMain is another daemon: it asks for the token as soon as its standard
// input ends, and prints it.
func refresherMain(where string) int {
	dir, url, _ := strings.Cut(where, "\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
	n := outbound.New(outbound.Options{})
	defer n.Close()
	k := New(Options{Dir: dir, Network: n})
	defer k.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	token, err := k.Source(Target{Server: "notes", URL: url}).Token(ctx)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(token)
	return 0
}

func refresher(t *testing.T, dir, url string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), refresherEnv+"="+dir+"\n"+url)
	return c
}

func TestManyProcessesRefreshOnce(t *testing.T) {
	p := openProvider(t)
	url, dir := p.protect(t), t.TempDir()
	s := keeper(t, dir).Source(Target{Server: "notes", URL: url})
	login(t, s)
	age(t, dir)
	p.set(t, `{"slow": 300}`)
	before := p.count(t, "refresh_token 200")
	var running sync.WaitGroup
	said := make(chan string, 8)
	for range 4 {
		c := refresher(t, dir, url)
		running.Go(func() {
			out, err := c.CombinedOutput()
			if err != nil {
				out = append(out, err.Error()...)
			}
			said <- strings.TrimSpace(string(out))
		})
	}
	running.Wait()
	close(said)
	want, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for got := range said {
		if got != want {
			t.Errorf("a process got %q, want %q", got, want)
		}
	}
	if n := p.count(t, "refresh_token 200") - before; n != 1 {
		t.Errorf("%d refreshes", n)
	}
}

func TestAProcessKilledInTheMiddleOfARefreshHoldsUpNobody(t *testing.T) {
	p := openProvider(t)
	url, dir := p.protect(t), t.TempDir()
	s := keeper(t, dir).Source(Target{Server: "notes", URL: url})
	login(t, s)
	age(t, dir)
	// Its request is held before the provider takes it: killed then, the refresh
	// token is unused, and the next process uses it.
	p.set(t, `{"slow": 60000}`)
	c := refresher(t, dir, url)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lock := strings.TrimSuffix(s.file.path, ".json") + ".lock"
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if locked(t, lock) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the other process did not begin")
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	p.set(t, `{"slow": 0}`)
	if status, err := reach(t.Context(), s, url); err != nil || status != 200 {
		t.Errorf("%d %v", status, err)
	}
}

// locked is whether another process holds the lock.
func locked(t *testing.T, path string) bool {
	t.Helper()
	out, err := exec.Command("flock", "-n", path, "true").CombinedOutput()
	if _, absent := err.(*exec.Error); absent {
		t.Skip("there is no flock(1) to look at the lock with")
	}
	return err != nil && len(out) == 0
}
