package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// recorded is a line as the daemon's handler writes it.
func recorded(at, level, message, fields string) string {
	return fmt.Sprintf(`{"time":%q,"level":%q,"msg":%q%s}`, at, level, message, fields) + "\n"
}

// logged makes a state directory with a log and an older one, and runs tenon
// with it; no daemon is needed.
type logged struct {
	t     *testing.T
	state string
}

func newLogged(t *testing.T, older, newer string) logged {
	t.Helper()
	l := logged{t, t.TempDir()}
	if err := os.Mkdir(filepath.Join(l.state, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	l.write("daemon.log.1", older)
	l.write("daemon.log", newer)
	return l
}

func (l logged) path(name string) string { return filepath.Join(l.state, "logs", name) }

func (l logged) write(name, text string) {
	l.t.Helper()
	f, err := os.OpenFile(l.path(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		l.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		l.t.Fatal(err)
	}
}

func (l logged) options(args ...string) Options {
	return Options{
		Args: append([]string{"--no-autostart"}, args...), In: strings.NewReader(""), Cwd: l.state,
		Environ: []string{"HOME=" + l.state, "TENON_STATE_DIR=" + l.state, "TENON_RUNTIME_DIR=" + l.state},
	}
}

func (l logged) logs(args ...string) string {
	l.t.Helper()
	var out, errs bytes.Buffer
	o := l.options(append([]string{"daemon", "logs"}, args...)...)
	o.Out, o.Err = &out, &errs
	if code := Main(context.Background(), o); code != 0 {
		l.t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
	}
	return out.String()
}

const (
	olderLog = `{"time":"2026-01-01T10:00:00Z","level":"INFO","msg":"serving","pid":1}` + "\n"
	newerLog = `{"time":"2026-01-01T11:00:00Z","level":"INFO","msg":"run ended","run":"run_0198-a","session":"s1","kind":"ScriptError"}
{"time":"2026-01-01T11:30:00Z","level":"WARN","msg":"instance gone","server":"browser","instance":"i1","reason":"it ended: \u001b[31mboom"}
panic: something of the runtime
	goroutine 1
{"time":"2026-01-01T12:00:00Z","level":"DEBUG","msg":"call ended","run":"run_0198-b","session":"s2","server":"fs"}
`
)

func TestLogsAreSelectedByWhatTheyAreAbout(t *testing.T) {
	l := newLogged(t, olderLog, newerLog)
	const crash = "panic: something of the runtime\n\tgoroutine 1\n"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--run", "0198-a"}, "2026-01-01T11:00:00.000Z INFO  run ended run=run_0198-a session=s1 kind=ScriptError\n"},
		{[]string{"--run", "run_0198-a"}, "2026-01-01T11:00:00.000Z INFO  run ended run=run_0198-a session=s1 kind=ScriptError\n"},
		{[]string{"--session", "s2"}, "2026-01-01T12:00:00.000Z DEBUG call ended run=run_0198-b session=s2 server=fs\n"},
		{[]string{"--server", "fs"}, "2026-01-01T12:00:00.000Z DEBUG call ended run=run_0198-b session=s2 server=fs\n"},
		{[]string{"--level", "error"}, crash},
		{[]string{"-n", "1"}, "2026-01-01T12:00:00.000Z DEBUG call ended run=run_0198-b session=s2 server=fs\n"},
		{[]string{"--since", "2026-01-01T11:31:00Z"}, "2026-01-01T12:00:00.000Z DEBUG call ended run=run_0198-b session=s2 server=fs\n"},
	} {
		if got := l.logs(c.args...); got != c.want {
			t.Errorf("%v gives %q", c.args, got)
		}
	}
	var errs bytes.Buffer
	o := l.options("daemon", "logs", "--server", "f")
	o.Out, o.Err = io.Discard, &errs
	if code := Main(context.Background(), o); code != 0 || !strings.Contains(errs.String(), "of 6 lines") {
		t.Errorf("where nothing is selected: %d: %s", code, errs.String())
	}
	if got := l.logs(); strings.Count(got, "\n") != 6 || !strings.HasPrefix(got, "2026-01-01T10:00:00.000Z INFO  serving pid=1\n") {
		t.Errorf("all of both files: %q", got)
	}
}

func TestLogsAsADocument(t *testing.T) {
	l := newLogged(t, "", newerLog)
	var doc struct {
		File  string
		Lines []struct{ Level, Msg, Run string }
	}
	if err := json.Unmarshal([]byte(l.logs("--json")), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Lines) != 5 || doc.Lines[0].Run != "run_0198-a" || doc.Lines[2].Msg != "panic: something of the runtime" || doc.File != l.path("daemon.log") {
		t.Errorf("%+v", doc)
	}
}

func TestALogThatIsNotThereIsSaid(t *testing.T) {
	l := newLogged(t, "", "")
	_ = os.Remove(l.path("daemon.log"))
	_ = os.Remove(l.path("daemon.log.1"))
	var out, errs bytes.Buffer
	o := l.options("daemon", "logs")
	o.Out, o.Err = &out, &errs
	if code := Main(context.Background(), o); code != 1 || !strings.Contains(errs.String(), "there is no log yet") {
		t.Errorf("%d: %s", code, errs.String())
	}
}

// growing is what a command that goes on has written so far.
type growing struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (g *growing) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(p)
}

func (g *growing) await(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		g.mu.Lock()
		got := g.text.String()
		g.mu.Unlock()
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, want %q", got, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// The file is begun anew when it is full, when somebody removes it, and by a
// next daemon; half a line is not printed before its end is there.
func TestAFollowedLogGoesOnOverItsFiles(t *testing.T) {
	l := newLogged(t, "", "")
	_ = os.Remove(l.path("daemon.log")) // none yet
	_ = os.Remove(l.path("daemon.log.1"))
	out := &growing{}
	o := l.options("daemon", "logs", "-f")
	o.Out, o.Err = out, &growing{}
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	code := make(chan int, 1)
	go func() { code <- Main(ctx, o) }()

	line := func(n int) string {
		return recorded("2026-01-01T10:00:00Z", "INFO", fmt.Sprint("line ", n), `,"run":"r"`)
	}
	want := ""
	shown := func(n int) string {
		want += fmt.Sprintf("2026-01-01T10:00:00.000Z INFO  line %d run=r\n", n)
		return want
	}
	l.write("daemon.log", line(1)+line(2)[:20])
	out.await(t, shown(1))
	l.write("daemon.log", line(2)[20:])
	out.await(t, shown(2))
	l.write("daemon.log", line(3)) // and at once full
	if err := os.Rename(l.path("daemon.log"), l.path("daemon.log.1")); err != nil {
		t.Fatal(err)
	}
	l.write("daemon.log", line(4))
	shown(3)
	out.await(t, shown(4))
	if err := os.Truncate(l.path("daemon.log"), 0); err != nil {
		t.Fatal(err)
	}
	l.write("daemon.log", recorded("2026-01-01T10:00:00Z", "INFO", "cut", ""))
	want += "2026-01-01T10:00:00.000Z INFO  cut\n"
	out.await(t, want)
	interrupt()
	select {
	case c := <-code:
		if c != 0 {
			t.Errorf("exit code %d", c)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on after the interrupt")
	}
}

func TestAFollowedLogThatIsReplacedTwiceBetweenLooksSaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.log")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rotate := func(text string) {
		t.Helper()
		if err := os.Rename(path, path+olderSuffix); err != nil {
			t.Fatal(err)
		}
		put(text)
	}
	follow := &tail{path: path}
	defer follow.close()
	look := func(want string, missed bool) {
		t.Helper()
		lines, err := follow.more()
		if got := string(bytes.Join(lines, []byte(" "))); err != nil || got != want || follow.missed != missed {
			t.Errorf("got %q, missed %v, %v; want %q, %v", got, follow.missed, err, want, missed)
		}
		follow.missed = false
	}
	put("a")
	look("a", false)
	rotate("b")
	look("b", false)
	rotate("c")
	rotate("d")
	look("c d", true)
	for _, text := range []string{"e", "f", "g", "h"} { // as many as it takes until a file's number is given anew
		rotate(text)
	}
	look("g h", true)
	old := time.Now().Add(-time.Hour)
	if err := errors.Join(os.Chtimes(path+olderSuffix, old, old), os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	put("i")
	look("i", false)
}

// The open of a pipe that nobody writes to ends with no signal.
func TestAPipeInTheLogsPlaceHangsNothing(t *testing.T) {
	p := newPlace(t, nil)
	p.write("state/logs/.keep", "")
	if err := os.Chmod(filepath.Join(p.home, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(p.home, "state", "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(p.home, "state", "logs", "daemon.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"exec", "-e", "7"}, {"daemon", "logs", "-n", "1"}, {"daemon", "start"}} {
		if out := p.run(args...); out.code == 0 || !strings.Contains(out.err, "daemon.log is not a regular file") {
			t.Errorf("%v: %+v", args, out)
		}
	}
}
