//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tenon/daemon/internal/engine/process"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// The steps of a call: the server is not there yet; the server works on it; whoever
// asked has the answer. Each is known from what the fake server or the asker says.

// starting begins a call whose server takes for ever to start, and waits until it is
// asked to; kill it by its name, slow.
func (g *stage) starting() *command {
	g.Helper()
	before := g.asked()
	c := g.begin("exec", "--json", "-e", "return await tools.slow.echo({text: 'never'})")
	g.until("the server is starting", func() bool { return g.asked() > before })
	return c
}

// asked counts how often slow was asked to start.
func (g *stage) asked() int {
	raw, _ := os.ReadFile(filepath.Join(g.s.Work, "J-slow"))
	return bytes.Count(raw, []byte(`"initialize"`))
}

// working begins a call that takes for ever, and waits until the server has it.
func (g *stage) working(words ...string) *command {
	g.Helper()
	token := g.token("working")
	c := g.begin(append(append([]string{"exec", "--json"}, words...), "-e", sleeper(token))...)
	g.until("the server has the call", func() bool { return g.received(token) == 1 })
	return c
}

func sleeper(token string) string {
	return fmt.Sprintf("return await tools.own.sleep({ms: 600000, text: %q})", token)
}

func echoer(token string) string {
	return fmt.Sprintf("return await tools.own.echo({text: %q})", token)
}

// killDaemon kills the daemon and waits until the bystander has another.
func (g *stage) killDaemon() {
	g.Helper()
	pid := g.pid()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		g.Fatal(err)
	}
	g.until("the daemon is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	g.back()
}

// back waits until the bystander's host is connected again, as a plugin connects by
// itself.
func (g *stage) back() {
	g.Helper()
	g.until("the bystander is connected again", func() bool {
		o, err := g.host.Request(proto.MethodStatusGet, proto.StatusGet{Session: "bystander"}, 0)
		return err == nil && o.Code == 0
	})
}

func TestAKilledDaemon(t *testing.T) {
	g := newStage(t, setting{}).open()
	g.times("a daemon killed before a call is sent", func(int) {
		c := g.starting()
		g.killDaemon()
		if c.wait(); !c.failed(fault.DaemonUnavailable) {
			g.Errorf("the command ends with %d: %s", c.code(), c.err.String())
		}
	})
	g.times("a daemon killed while a call is in flight", func(int) {
		c := g.working()
		g.killDaemon()
		if c.wait(); !c.failed(fault.DaemonUnavailable) || !strings.Contains(c.err.String()+c.out.String(), "unknown") {
			g.Errorf("the command ends with %d: %s", c.code(), c.err.String())
		}
	})
	g.times("a daemon killed as the answer comes", func(int) {
		token := g.token("answering")
		c := g.begin("exec", "--json", "-e", echoer(token))
		g.until("the server has the call", func() bool { return g.received(token) == 1 })
		g.killDaemon()
		g.give(c, token) // or it is told that nobody knows
		if c.code() != 0 && !c.failed(fault.DaemonUnavailable) {
			g.Errorf("the command ends with %d: %s", c.code(), c.err.String())
		}
	})
	g.times("a daemon killed after the answer", func(int) {
		g.exec("answered", "work")
		g.killDaemon()
	})
	g.times("a daemon killed under an MCP client", func(int) {
		m := g.mcp()
		token := g.token("mcp")
		m.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"exec","arguments":{"code":` + quoted(sleeper(token)) + `}}}`)
		g.until("the server has the call", func() bool { return g.received(token) == 1 })
		g.killDaemon()
		if line := m.hear("2"); !strings.Contains(line, string(fault.DaemonUnavailable)) {
			g.Errorf("the client hears %s", line)
		}
		token = g.token("mcp")
		m.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"exec","arguments":{"code":` + quoted(echoer(token)) + `}}}`)
		if line := m.hear("3"); !strings.Contains(line, token) {
			g.Errorf("the client hears %s from the next daemon", line)
		}
		m.end()
	})
}

func TestAKilledServer(t *testing.T) {
	g := newStage(t, setting{}).open()
	kill := func(name string) {
		g.Helper()
		found, err := g.s.Matching("fake-server --name " + name)
		if err != nil || len(found) == 0 {
			g.Fatalf("no server %s: %v", name, err)
		}
		for _, p := range found {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				g.Fatal(err)
			}
		}
	}
	g.times("a server killed before a call is sent", func(int) {
		c := g.starting()
		kill("slow")
		if c.wait(); !c.failed(fault.ServerUnavailable) {
			g.Errorf("the command ends with %d: %s", c.code(), c.err.String())
		}
	})
	g.times("a server killed while a call is in flight", func(int) {
		c := g.working()
		kill("own")
		if c.wait(); !c.failed(fault.ServerUnavailable) || !strings.Contains(c.out.String(), `"unknown"`) {
			g.Errorf("the command ends with %d: %s %s", c.code(), c.err.String(), c.out.String())
		}
	})
	g.times("a server killed after the answer", func(int) {
		g.exec("answered", "own", "--session", "named")
		kill("own")
		g.exec("next", "own", "--session", "named")
		if o, err := g.s.Tenon(g.s.Work, "sessions", "end", "named"); err != nil || o.Code != 0 {
			g.Errorf("sessions end: %v %s", err, o.Stderr)
		}
	})
}

func TestAKilledPlugin(t *testing.T) {
	g := newStage(t, setting{}).open()
	victims := 0
	victim := func() (*rig.Host, string) {
		g.Helper()
		victims++
		name := fmt.Sprintf("victim-%d", victims)
		h, err := g.s.StartHost(name, g.s.Work, rig.HostOptions{})
		if err != nil {
			g.Fatal(err)
		}
		g.attach(h, name)
		return h, name
	}
	run := func(h *rig.Host, name, code string) chan rig.Outcome {
		done := make(chan rig.Outcome, 1)
		go func() {
			o, _ := h.Start(proto.RunStart{
				Origin: proto.Origin{Session: name, Call: rig.CallID(h.NextID()), Agent: "build"}, Directory: g.s.Work, Code: code,
			}, 0)
			done <- o
		}()
		return done
	}
	gone := func(name string) {
		g.Helper()
		if err := g.s.KillHost(name); err != nil {
			g.Fatal(err)
		}
		g.until("its session is gone, and its servers", func() bool {
			left, err := g.s.Matching("fake-server --name (own|slow)")
			if err != nil || len(left) > 0 {
				return false
			}
			var rows []proto.Session
			if err := g.get("/v1/sessions", &rows); err != nil {
				g.Fatal(err)
			}
			return !slices.ContainsFunc(rows, func(row proto.Session) bool { return row.ID == name })
		})
	}
	g.times("a plugin killed before a call is sent", func(int) {
		h, name := victim()
		before := g.asked()
		done := run(h, name, "return await tools.slow.echo({text: 'never'})")
		g.until("the server is starting", func() bool { return g.asked() > before })
		gone(name)
		<-done
	})
	g.times("a plugin killed while a call is in flight", func(int) {
		h, name := victim()
		token := g.token("plugin")
		done := run(h, name, sleeper(token))
		g.until("the server has the call", func() bool { return g.received(token) == 1 })
		gone(name)
		<-done
	})
	g.times("a plugin killed after the answer", func(int) {
		h, name := victim()
		token := g.token("plugin")
		o := <-run(h, name, echoer(token))
		var done proto.RunDone
		if err := json.Unmarshal(o.Stdout, &done); err != nil || !done.Result.OK {
			g.Fatalf("%v: %s %s", err, o.Stdout, o.Stderr)
		}
		g.accepted[token] = done.Result.ID
		gone(name)
	})
}

func TestAKilledCommand(t *testing.T) {
	g := newStage(t, setting{}).open()
	g.times("a command killed while it reads its program", func(int) {
		r, w, err := os.Pipe()
		if err != nil {
			g.Fatal(err)
		}
		c := &command{g: g, ended: make(chan struct{})}
		c.cmd = g.tenon("exec", "-")
		c.cmd.Stdin = r
		g.start(c)
		_ = r.Close()
		c.kill()
		_ = w.Close()
	})
	g.times("a command killed before its call is sent", func(int) { g.starting().kill() })
	g.times("a command killed while its call is in flight", func(int) { g.working().kill() })
	g.times("a command killed before it has written its answer", func(int) {
		r, w, err := os.Pipe() // which nobody reads
		if err != nil {
			g.Fatal(err)
		}
		c := &command{g: g, ended: make(chan struct{})}
		token := g.token("unread")
		c.cmd = g.tenon("exec", "--max-output", "2MiB", "-e", fmt.Sprintf("await tools.work.echo({text: %q}); return 'x'.repeat(1000000)", token))
		c.cmd.Stdout = w
		g.start(c)
		_ = w.Close()
		g.until("the run has ended", func() bool { return g.received(token) == 1 && g.live() == 0 })
		c.kill()
		_ = r.Close()
	})
}

func TestAKilledScript(t *testing.T) {
	for _, engine := range []string{"node", "bun", "deno"} {
		t.Run(engine, func(t *testing.T) { killScripts(t, engine) })
	}
}

// killScripts kills the processes of an engine, and the daemon under them.
func killScripts(t *testing.T, engine string) {
	bin, err := filepath.Abs("../../../test/runtimes/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
	if _, err := process.Find(context.Background(), engine, path, ""); err != nil {
		t.Skipf("there is no process to kill: %v", err)
	}
	g := newStage(t, setting{more: `"permissions": { "sandbox": "full" },`})
	g.s.Set("PATH", filepath.Join(g.s.Work, "bin")+string(os.PathListSeparator)+path)
	g.open()
	for _, where := range []string{"remote", "local"} {
		how := []string{"--engine", engine, "--where", where, "--sandbox", "full"}
		script := func() []rig.Process {
			found, err := g.s.Matching("/" + engine + "(.exe)? .*" + g.s.Runtime)
			if err != nil {
				g.Fatal(err)
			}
			return found
		}
		kill := func(c *command) {
			g.Helper()
			g.until("the script's process is there", func() bool { return len(script()) > 0 })
			for _, p := range script() {
				_ = syscall.Kill(p.PID, syscall.SIGKILL) // one of them may take the other with it
			}
			if c.wait(); c.code() == 0 || !strings.Contains(c.out.String(), `"kind"`) {
				g.Errorf("the command ends with %d: %s %s", c.code(), c.err.String(), c.out.String())
			}
		}
		run := func(code string) *command {
			return g.begin(append(append([]string{"exec", "--json"}, how...), "-e", code)...)
		}
		// What differs between engines is the call in flight; the rest is the daemon's.
		all := engine == "node" || g.long()
		if all {
			g.times(where+" "+engine+" script killed before a call is sent", func(int) { kill(run("await new Promise(r => setTimeout(r, 600000))")) })
		}
		g.times(where+" "+engine+" script killed while a call is in flight", func(int) { kill(g.working(how...)) })
		if !all {
			continue
		}
		g.times(where+" "+engine+" script killed after the answer", func(int) {
			token := g.token("script")
			c := run(fmt.Sprintf("await tools.own.echo({text: %q}); await new Promise(r => setTimeout(r, 600000))", token))
			g.until("the call is made", func() bool { return g.received(token) == 1 })
			kill(c)
		})
	}
	g.times("a daemon killed in the middle of a "+engine+" script", func(int) {
		c := g.working("--engine", engine, "--where", "remote", "--sandbox", "full")
		g.killDaemon()
		if c.wait(); !c.failed(fault.DaemonUnavailable) {
			g.Errorf("the command ends with %d: %s", c.code(), c.err.String())
		}
		g.until("the script's process is gone", func() bool {
			found, err := g.s.Matching("/" + engine + "(.exe)? .*" + g.s.Runtime)
			return err == nil && len(found) == 0
		})
	})
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}
