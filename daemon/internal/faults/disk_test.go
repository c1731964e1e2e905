//go:build linux

package faults

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// disk gives a directory a disk of its own of that size, which only root may.
func disk(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill writes to the disk until nothing more fits, and says how to free it.
func (g *stage) fill(dir string) (free func()) {
	g.Helper()
	file := filepath.Join(dir, "filler")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	g.bear(err)
	size := 64 << 10
	for size > 0 {
		if _, err = f.Write(make([]byte, size)); err != nil {
			size /= 2 // to the last byte
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		g.Fatalf("the disk is not full: %v", err)
	}
	g.bear(f.Close())
	return func() { g.bear(os.Remove(file)) }
}

// trouble is what status says of history.
func (g *stage) trouble() string {
	g.Helper()
	var s proto.Status
	g.bear(g.get("/v1/status", &s))
	for _, p := range s.Problems {
		if strings.HasPrefix(p.Message, "history is not being kept") {
			return p.Message + " (" + p.Hint + ")"
		}
	}
	return ""
}

// A full disk fails no call. What happens meanwhile is in history once there is room.
func TestAFullDisk(t *testing.T) {
	g := newStage(t, setting{prepare: func(work string) { disk(t, filepath.Join(work, "state"), "3m") }}).open()
	g.times("a disk that is full for a while", func(int) {
		free := g.fill(g.state(""))
		for range 5 {
			g.exec("full", "work")
			g.bystander()
		}
		g.until("status says so", func() bool { return strings.Contains(g.trouble(), "full") })
		free()
		g.until("status says that it is over", func() bool { return g.trouble() == "" })
	})
	g.times("a daemon that starts on a full disk", func(int) {
		free := g.fill(g.state(""))
		g.killDaemon()
		g.exec("full", "work")
		g.bystander()
		free()
		g.until("history is kept again", func() bool { return g.trouble() == "" })
	})
	g.times("half a line in the journal, then a kill", func(int) {
		free := g.fill(g.state(""))
		g.exec("full", "work")
		free()
		g.until("history is kept again", func() bool { return g.trouble() == "" })
		g.exec("freed", "work")
		g.killDaemon()
	})
}

// Where nothing can be written beside the socket, what needs it fails by its name, and
// works again when there is room.
func TestAFullRuntimeDirectory(t *testing.T) {
	rig.Program(t) // needs more room than there will be
	small := filepath.Join(t.TempDir(), "run")
	disk(t, small, "256k")
	t.Setenv("TMPDIR", small)
	g := newStage(t, setting{alone: true}).open()
	g.times("a runtime directory that is full for a while", func(int) {
		free := g.fill(small)
		g.bystander()
		token := g.token("full")
		c := g.begin("exec", "--json", "-e", echoer(token))
		if !g.give(c, token) && !strings.Contains(c.out.String()+c.err.String(), "no space left") {
			g.Errorf("it does not say what is wrong: %d: %s %s", c.code(), c.out.String(), c.err.String())
		}
		free()
		g.exec("freed", "own")
	})
}

// Where the state directory cannot be written, calls go on without history, and it is
// made up for when it can.
func TestAStateDirectoryThatCannotBeWritten(t *testing.T) {
	g := newStage(t, setting{})
	// Root may write anywhere: the daemon's process is started without that right.
	g.unprivileged("dac_override", "dac_read_search")
	g.open()
	lock := func(mode os.FileMode) {
		for _, dir := range []string{g.state("journal"), g.state("artifacts"), g.state("catalog"), g.state("")} {
			if _, err := os.Stat(dir); err == nil {
				g.bear(os.Chmod(dir, mode))
			}
		}
	}
	t.Cleanup(func() { lock(0o700) })
	g.times("a state directory that becomes read-only", func(int) {
		lock(0o500)
		for range 3 {
			g.exec("locked", "work")
			g.bystander()
		}
		lock(0o700)
		g.until("history is kept again", func() bool { return g.trouble() == "" })
	})
	g.times("a daemon that starts on a read-only state directory", func(int) {
		g.stop()
		lock(0o500)
		g.unprivileged("dac_override", "dac_read_search")
		g.back()
		g.exec("locked", "work")
		lock(0o700)
		g.until("history is kept again", func() bool { return g.trouble() == "" })
	})
	g.times("a daemon that cannot read its history", func(int) {
		g.stop()
		g.bear(os.Chmod(g.state("history.db"), 0))
		g.unprivileged("dac_override", "dac_read_search")
		g.back()
		g.exec("unreadable", "work")
		g.bystander()
		g.until("status says so", func() bool { return strings.Contains(g.trouble(), "permission denied") })
		g.bear(os.Chmod(g.state("history.db"), 0o600))
		g.until("history is kept again", func() bool { return g.trouble() == "" })
	})
}

// unprivileged starts the daemon without these capabilities.
func (g *stage) unprivileged(without ...string) {
	g.Helper()
	if os.Getuid() != 0 {
		return // it has none
	}
	var drop []string
	for _, name := range without {
		drop = append(drop, "-"+name)
	}
	list := strings.Join(drop, ",")
	c := &command{g: g, ended: make(chan struct{})}
	start := filepath.Join(g.s.Work, "bin", "tenon")
	words := []string{"--bounding-set", list, "--inh-caps", list, start, "daemon", "start"}
	var err error
	if c.cmd, err = setpriv(words); err != nil {
		g.Skipf("root's rights cannot be taken from the daemon here: %v", err)
	}
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	g.start(c)
	if c.wait(); c.code() != 0 {
		g.Fatalf("daemon start: %d: %s", c.code(), c.err.String())
	}
}

func setpriv(words []string) (*exec.Cmd, error) {
	path, err := exec.LookPath("setpriv")
	return exec.Command(path, words...), err
}
