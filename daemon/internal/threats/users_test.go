package threats

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// another is a user that owns nothing here: "nobody" of most systems.
const another = 65534

// What this binary does as that user.
const (
	askAsAnother   = "ask-as-another"
	serveAsAnother = "serve-as-another"
)

// askSocket asks a socket for the servers and says what came of it.
func askSocket(path string) int {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println("not connected:", err)
		return 0
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	a, err := request(conn, "POST", "/v1/call", `{"server":"fake","tool":"echo","arguments":{"text":"stolen"}}`)
	fmt.Println(a.status, a.body, err)
	return 0
}

// serveSocket listens on a socket and says how much those who connect have said.
func serveSocket(path string) int {
	l, err := net.Listen("unix", path)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_ = os.Chmod(path, 0o666)
	fmt.Println("listening")
	for {
		conn, err := l.Accept()
		if err != nil {
			return 1
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		heard, _ := io.Copy(io.Discard, conn) // how it ends is no matter
		_ = conn.Close()
		fmt.Println("heard", heard)
	}
}

// as is a command of this binary that runs as the other user. Only root may
// become one.
func as(t *testing.T, uid uint32, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("not tested here: only root can act as another user")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.MkdirTemp("", "tt") // the directory of the binary is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(open) })
	raw, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(open, "other")
	for _, err := range []error{os.Chmod(open, 0o755), os.WriteFile(copied, raw, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(copied, args...)
	cmd.Env, cmd.Dir = []string{"PATH=" + os.Getenv("PATH")}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd
}

func TestAnotherUserIsRefused(t *testing.T) {
	x := attack(t, nil)
	for _, wall := range []string{"the directory", "the socket", "the user id"} {
		var out bytes.Buffer
		cmd := as(t, another, askAsAnother, x.paths.Socket)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		got := out.String()
		switch wall {
		case "the directory":
			if !strings.Contains(got, "permission denied") {
				t.Errorf("through the directory: %s", got)
			}
			for _, dir := range []string{x.dir, x.paths.Runtime} { // take that wall away
				if err := os.Chmod(dir, 0o777); err != nil {
					t.Fatal(err)
				}
			}
		case "the socket":
			if !strings.Contains(got, "permission denied") {
				t.Errorf("through the socket's mode: %s", got)
			}
			if err := os.Chmod(x.paths.Socket, 0o666); err != nil {
				t.Fatal(err)
			}
		default:
			if !strings.HasPrefix(got, "401 ") || strings.Contains(got, "stolen") || !strings.Contains(got, "65534") {
				t.Errorf("by its user id: %s", got)
			}
		}
	}
	if found, err := x.client("").Leases(context.Background()); err != nil || len(found) > 0 {
		t.Errorf("something was started: %v, %v", found, err)
	}
}

func TestASocketOfAnotherUserIsToldNothing(t *testing.T) {
	dir, err := os.MkdirTemp("", "tt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil { // the other user puts the socket there
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "daemon.sock")
	cmd := as(t, another, serveAsAnother, socket)
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(said)
	if !lines.Scan() || lines.Text() != "listening" {
		t.Fatalf("%s, %v", lines.Text(), lines.Err())
	}
	c := &client.Client{Paths: local.Paths{Runtime: dir, State: filepath.Join(dir, "state"), Socket: socket}, NoStart: true,
		Identity: client.Identity{Session: "s", Ticket: "a ticket", Dir: dir, Env: map[string]string{"TOKEN": "s3cret"}}}
	_, err = c.Exec(context.Background(), proto.ExecRequest{Code: `"a program"`}, nil)
	if fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(err.Error(), "65534") {
		t.Errorf("%v", err)
	}
	if !lines.Scan() || lines.Text() != "heard 0" {
		t.Errorf("the other user's socket: %q, %v", lines.Text(), lines.Err())
	}
	// Nor is a daemon started in a directory that is not the user's alone.
	if err := c.Paths.Ensure(); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a runtime directory that is open: %v", err)
	}
}

func TestARuntimeDirectoryThatIsNotOursIsNotUsed(t *testing.T) {
	top, err := os.MkdirTemp("", "tt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	made := func(name string, f func(path string) error) string {
		path := filepath.Join(top, name)
		if err := f(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dirs := []string{
		made("open", func(p string) error { return os.Mkdir(p, 0o700) }),
		made("file", func(p string) error { return os.WriteFile(p, nil, 0o600) }),
	}
	if err := os.Chmod(dirs[0], 0o750); err != nil {
		t.Fatal(err)
	}
	own := made("own", func(p string) error { return os.Mkdir(p, 0o700) })
	dirs = append(dirs, made("link", func(p string) error { return os.Symlink(own, p) }))
	if os.Getuid() == 0 {
		dirs = append(dirs, made("of-another", func(p string) error {
			if err := os.Mkdir(p, 0o700); err != nil {
				return err
			}
			return os.Chown(p, another, another)
		}))
	} else {
		t.Log("a directory of another user is not tested here: only root can make one")
	}
	for _, dir := range dirs {
		p := local.Paths{Runtime: dir, State: filepath.Join(top, "state"), Socket: filepath.Join(dir, "daemon.sock")}
		if err := p.Ensure(); fault.KindOf(err) != fault.UsageError || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
	}
}

// Whatever the caller's umask is, nothing that a daemon makes can be read by
// others.
func TestWhatADaemonMakesIsItsUsersAlone(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	x := attack(t, nil)
	if _, err := x.client("").Exec(context.Background(), proto.ExecRequest{Code: `await fake.echo({ text: "x" }); artifact("a", "b"); emit("x".repeat(100000)); 1`}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := x.client("").SaveScript(context.Background(), proto.ScriptSave{Name: "mine", Code: "1", Where: "user"}); err != nil {
		t.Fatal(err)
	}
	ticket := x.session("s")
	if ticket == "" {
		t.Fatal("no ticket")
	}
	seen := 0
	for _, top := range []string{x.paths.Runtime, x.paths.State, x.paths.Config} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			seen++
			if info.Mode()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 12 {
		t.Errorf("only %d files were looked at", seen)
	}
}

// request sends one request as it is written and reads the answer.
func request(conn net.Conn, method, path, body string, header ...string) (answer, error) {
	text := method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
	if len(header) > 0 && strings.HasPrefix(header[0], "Host:") {
		text = method + " " + path + " HTTP/1.1\r\n" + header[0] + "\r\nConnection: close\r\n"
		header = header[1:]
	}
	text += fmt.Sprintf("%s: %d\r\n", proto.HeaderProtocol, proto.Protocol)
	for _, h := range header {
		text += h + "\r\n"
	}
	if body != "" {
		text += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	if _, err := io.WriteString(conn, text+"\r\n"+body); err != nil {
		return answer{}, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, string(raw), res.Header}, err
}

func exchange(t *testing.T, conn net.Conn, method, path, body string, header ...string) answer {
	t.Helper()
	a, err := request(conn, method, path, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}
