package soak

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// remoteFlags are the servers over HTTP, one process each.
var remoteFlags = [][]string{
	{"--respond", "sse"},
	{"--respond", "json"},
	{"--respond", "sse", "--resume", "--drop", "400"},
	{"--expire", "25"},
}

// moduleCode is a server made of functions.
const moduleCode = `/** Says the text twice. */
export function twice(input: { text: string }): string {
  return input.text + input.text;
}
`

// servers are the twenty, of four scopes. They are honest, slow, noisy, prone to
// crash, stubborn, scarce, remote or tenon's own. %[1]d changes now and then what
// may change in place, %[2]d what makes a new instance.
const servers = `{
  "servers": {
    "all": { "command": ["fake", "--name", "all", "--journal", "$WORK/J-all"], "stateless": true },
    "quick": { "command": ["fake", "--name", "quick", "--journal", "$WORK/J-quick"], "concurrency": 8, "queueTimeout": "2m", "warm": 1 },
    "noisy": { "command": ["fake", "--name", "noisy", "--stderr", "200000", "--say", "list", "noise on stdout\\n"] },
    "slow": { "command": ["fake", "--name", "slow", "--delay", "call", "300", "--delay", "initialize", "500"] },
    "frail": { "command": ["fake", "--name", "frail", "--exit", "call:40", "3"], "stateless": true },
    "changing": { "command": ["fake", "--name", "changing"], "env": { "EDITION": "%[2]d" }, "stateless": true, "idleTimeout": "10s" },
    "module": { "kind": "module", "module": "./tools.ts" },
    "command": { "kind": "command", "tools": { "say": { "command": ["printf", "%%s", "{text}"], "input": { "text": "string" } } } },
    "remote": { "url": "REMOTE0/mcp" },
    "json": { "url": "REMOTE1/mcp" },
    "dropping": { "url": "REMOTE2/mcp" },
    "sse": { "url": "REMOTE0/sse", "type": "sse" },
    "own": { "command": ["fake", "--name", "own"], "scope": "session", "maxInstances": %[1]d, "queueTimeout": "20s", "evictAfter": "2s", "idleTimeout": "20s" },
    "nested": { "command": ["fake", "--name", "nested", "--child", "1"], "scope": "session", "maxInstances": 4, "queueTimeout": "20s", "evictAfter": "1s" },
    "crashy": { "command": ["fake", "--name", "crashy", "--exit", "call:9", "3"], "scope": "session", "maxInstances": 4, "queueTimeout": "20s", "evictAfter": "1s" },
    "stubborn": { "command": ["fake", "--name", "stubborn", "--ignore", "eof,term"], "scope": "session", "maxInstances": 2, "queueTimeout": "10s", "evictAfter": "1s" },
    "tight": { "command": ["fake", "--name", "tight"], "scope": "session", "maxInstances": 1, "queueTimeout": "5s", "evictAfter": "1s" },
    "expiring": { "url": "REMOTE3/mcp", "scope": "session", "maxInstances": 6, "queueTimeout": "20s", "evictAfter": "1s" },
    "repo": { "command": ["fake", "--name", "repo"], "scope": "repo" },
    "folder": { "command": ["fake", "--name", "folder"], "scope": "directory", "idleTimeout": "15s" },
  },
  "sessions": { "grace": "3s", "idle": "10s" },
}`

// limits are what maxInstances allows of processes that /proc can tell apart;
// the others may have one for each key.
var limits = map[string]int{
	"all": 1, "quick": 2, "noisy": 1, "slow": 1, "frail": 1, "own": mostOwn, "nested": 4, "crashy": 4, "stubborn": 2, "tight": 1,
	"repo": 4, "folder": 8,
}

const mostOwn = 12

// configure writes the nth edition of the configuration.
func (w *world) configure(edition int) error {
	text := fmt.Sprintf(servers, mostOwn-2*(edition%2), edition)
	text = strings.ReplaceAll(text, "$WORK", w.s.Work)
	for n, address := range w.remotes {
		text = strings.ReplaceAll(text, "REMOTE"+strconv.Itoa(n), address)
	}
	path := filepath.Join(w.s.Work, "config", "tenon", "config.jsonc")
	next := path + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// editor changes the configuration now and then.
func (w *world) editor(ctx context.Context) {
	for edition := 1; ; edition++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(15 * time.Second):
		}
		if err := w.configure(edition); err != nil {
			w.wrong("edit the configuration: %v", err)
			return
		}
		w.book.count("configuration edited")
	}
}

// remote starts a server over HTTP and returns its address without a path.
func (w *world) remote(n int, flags []string) string {
	w.t.Helper()
	args := append([]string{"fake-server", "--name", "remote" + strconv.Itoa(n), "--http", "127.0.0.1:0"}, flags...)
	cmd := exec.Command(filepath.Join(w.s.Work, "bin", "tenon"), args...)
	cmd.Env = w.s.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	must(w.t, err)
	must(w.t, cmd.Start())
	w.s.AtEnd(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	must(w.t, err)
	return strings.TrimSuffix(strings.TrimSpace(line), "/mcp")
}
