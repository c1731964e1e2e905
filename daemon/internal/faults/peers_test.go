//go:build linux

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// Clients that are slow or silent are given up, each after its own bound, and nobody
// else waits for them.
func TestSilentClients(t *testing.T) {
	g := newStage(t, setting{}).open()
	post := "POST /v1/exec HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTenon-Dir: " + g.s.Work + "\r\n"
	body := `{"code":"'x'.repeat(1000000)","maxOutputBytes":2097152}`
	whole := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", post, len(body), body)
	g.times("silent clients, six at once", func(int) {
		var all sync.WaitGroup
		bad := make(chan error, 16)
		for name, text := range map[string]string{
			"says nothing":                  "",
			"says half a head":              "POST /v1/exec HTT",
			"says half its headers":         post,
			"says half a body":              post + "Content-Length: 100\r\n\r\n{",
			"reads nothing of its result":   whole,
			"reads nothing of its frames":   strings.Replace(whole, "Host: x\r\n", "Host: x\r\nAccept: application/x-ndjson\r\n", 1),
			"is gone in its first sentence": "\x00",
		} {
			c, err := net.Dial("unix", g.s.Get("SOCKET"))
			g.bear(err)
			_, err = io.WriteString(c, text)
			g.bear(err)
			all.Go(func() {
				defer c.Close()
				if strings.Contains(name, "gone") {
					return
				}
				if err := cut(c, strings.HasPrefix(name, "reads")); err != nil {
					bad <- fmt.Errorf("a client that %s: %w", name, err)
				}
			})
		}
		over := make(chan struct{})
		go func() { all.Wait(); close(over) }()
		for waits := true; waits; {
			g.bystander() // all the time
			select {
			case <-over:
				waits = false
			case <-time.After(25 * rig.PollEvery):
			}
		}
		close(bad)
		for err := range bad {
			g.Error(err)
		}
	})
}

// cut waits until the daemon gives a connection up; one that is not to be read is
// asked by what the kernel says of it.
func cut(c net.Conn, unread bool) error {
	deadline := time.Now().Add(unhurried)
	if !unread {
		_ = c.SetReadDeadline(deadline)
		_, err := io.Copy(io.Discard, c)
		if err != nil && !isReset(err) {
			return err
		}
		return nil
	}
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	for time.Now().Before(deadline) {
		gone := false
		if err := raw.Control(func(fd uintptr) { gone = hungUp(int(fd)) }); err != nil {
			return err
		}
		if gone {
			return nil
		}
		rig.Pause()
	}
	return fmt.Errorf("is not given up after %s", unhurried)
}

// A plugin that hangs reads nothing of what it has asked for.
func TestAPluginThatHangs(t *testing.T) {
	g := newStage(t, setting{}).open()
	n := 0
	g.times("a plugin that stops reading", func(int) {
		n++
		name := fmt.Sprintf("hung-%d", n)
		h, err := g.s.StartHost(name, g.s.Work, rig.HostOptions{})
		g.bear(err)
		g.attach(h, name)
		token := g.token("hung")
		var done sync.WaitGroup
		for range 20 { // more than fits between the two
			done.Go(func() {
				_, _ = h.Start(proto.RunStart{
					Origin: proto.Origin{Session: name, Call: rig.CallID(h.NextID()), Agent: "build"}, Directory: g.s.Work,
					Code: fmt.Sprintf("await tools.own.sleep({ms: 2000, text: %q}); return 'x'.repeat(50000)", token),
				}, 0)
			})
		}
		g.until("the server has the calls", func() bool { return g.received(token) == 20 })
		fakeserver.Suspend(g, h.PID())
		g.until("its session is gone, and its server", func() bool {
			g.bystander()
			left, err := g.s.Matching("fake-server --name own")
			return err == nil && len(left) == 0 && g.live() == 0
		})
		g.bear(g.s.KillHost(name))
		done.Wait()
	})
}

// Servers that take what they are sent, or not even that, and never say a word.
func TestSilentServers(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hangs := serve(t, deaf, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	quits, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, quits, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: message\ndata: {\"jsonrpc\"")
	})
	g := newStage(t, setting{servers: fmt.Sprintf(`
    "deaf": { "url": "http://%s/mcp", "startTimeout": "2s" },
    "quits": { "url": "http://%s/mcp", "startTimeout": "2s" },`, deaf.Addr(), quits.Addr())}).open()
	for _, name := range []string{"deaf", "quits"} {
		g.times("an HTTP server that "+map[string]string{"deaf": "says nothing", "quits": "hangs up in the middle"}[name], func(int) {
			c := g.begin("call", "--json", name, "echo", `{"text":"x"}`)
			g.bystander()
			if c.wait(); c.code() == 0 || !strings.Contains(c.out.String()+c.err.String(), name) {
				g.Errorf("the call ends with %d: %s %s", c.code(), c.out.String(), c.err.String())
			}
		})
	}
	hangs()
	g.times("a server that does not read its input", func(int) {
		g.exec("first", "own", "--session", "stuck")
		found, err := g.s.Matching("fake-server --name own")
		if err != nil || len(found) != 1 {
			g.Fatalf("servers: %v %v", found, err)
		}
		fakeserver.Suspend(g, found[0].PID)
		c := g.begin("exec", "--json", "--session", "stuck", "--call-timeout", "2s", "-e", "return await tools.own.echo({text: 'y'.repeat(4000000)})")
		g.bystander()
		if c.wait(); !c.failed(fault.TimeoutExceeded) {
			g.Errorf("the call ends with %d: %s %s", c.code(), rig.Tail(c.out.Bytes(), 500), c.err.String())
		}
		g.bear(syscall.Kill(found[0].PID, syscall.SIGKILL))
		g.until("the server is gone", func() bool {
			left, err := g.s.Matching("fake-server --name own")
			return err == nil && len(left) == 0
		})
	})
}

// serve answers each connection by f; the listener and they end with the test, or
// with the function that is returned.
func serve(t *testing.T, l net.Listener, f func(net.Conn)) (end func()) {
	var all sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			all.Go(func() {
				f(c)
				_ = c.Close()
			})
		}
	})
	end = sync.OnceFunc(func() {
		_ = l.Close()
		mu.Lock()
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	t.Cleanup(end)
	return end
}

// A daemon that is stopped answers nobody: each is told after a while, and goes on
// with it when it goes on.
func TestADaemonThatHangs(t *testing.T) {
	g := newStage(t, setting{}).open()
	if !g.long() {
		t.Skipf("it takes a minute until a daemon is given up: %s is not above 1", timesEnv)
	}
	g.times("a daemon that is stopped", func(int) {
		m := g.mcp()
		token := g.token("mcp")
		m.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"exec","arguments":{"code":` + quoted(sleeper(token)) + `}}}`)
		g.until("the server has the call", func() bool { return g.received(token) == 1 })
		c := g.working()
		pid := g.pid()
		fakeserver.Suspend(g, pid)
		look := g.begin("daemon", "status")
		for _, told := range []*command{c, look} {
			if told.wait(); !told.failed(fault.DaemonUnavailable) {
				g.Errorf("%q ends with %d: %s %s", told.cmd.Args, told.code(), told.out.String(), told.err.String())
			}
		}
		if line := m.hear("2"); !strings.Contains(line, "does not answer") {
			g.Errorf("the MCP client hears %s", line)
		}
		g.bear(syscall.Kill(pid, syscall.SIGCONT))
		token = g.token("mcp")
		m.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"exec","arguments":{"code":` + quoted(echoer(token)) + `}}}`)
		if line := m.hear("3"); !strings.Contains(line, token) {
			g.Errorf("the MCP client hears %s from the daemon that goes on", line)
		}
		m.end()
	})
}

// A reader of a command's output may be slow: it gets all of it.
func TestASlowReader(t *testing.T) {
	g := newStage(t, setting{}).open()
	g.times("a reader who waits until the run is over", func(int) {
		r, w, err := os.Pipe()
		g.bear(err)
		token := g.token("slow")
		c := &command{g: g, ended: make(chan struct{})}
		c.cmd = g.tenon("exec", "--max-output", "2MiB", "-e", fmt.Sprintf("await tools.work.echo({text: %q}); return 'x'.repeat(1000000)", token))
		c.cmd.Stdout = w
		g.start(c)
		g.bear(w.Close())
		g.until("the run is over", func() bool { return g.received(token) == 1 && g.live() == 0 })
		g.bystander()
		all, err := io.ReadAll(r)
		g.bear(err)
		g.bear(r.Close())
		if c.wait(); c.code() != 0 || bytes.Count(all, []byte("x")) != 1_000_000 {
			g.Errorf("code %d, %d bytes: %s", c.code(), len(all), c.err.String())
		}
	})
}

// hungUp reports whether the other end of a socket is closed.
func hungUp(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0 && p[0].Revents&(unix.POLLHUP|unix.POLLRDHUP|unix.POLLERR) != 0
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
