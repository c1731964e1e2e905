package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tenon/proto"
)

// rig is one private installation of tenon: home, configuration, daemon.
type rig struct {
	tenon string
	dir   string
	env   []string
	http  *http.Client
}

// newRig makes an installation with two servers that echo, or with none. Its
// programs may have as many calls in flight as the direct client has.
func newRig(tenon string, servers map[string][]string) (*rig, error) {
	dir, err := os.MkdirTemp("", "tb")
	if err != nil {
		return nil, err
	}
	r := &rig{tenon: tenon, dir: dir}
	r.env = []string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_DATA_HOME=" + filepath.Join(dir, "data"),
		"TENON_RUNTIME_DIR=" + filepath.Join(dir, "run"), "TENON_STATE_DIR=" + filepath.Join(dir, "state"),
	}
	type server struct {
		Command []string `json:"command"`
	}
	config := map[string]any{"script": map[string]any{"concurrency": parallelCalls}}
	list := map[string]server{}
	for name, command := range servers {
		list[name] = server{command}
	}
	config["servers"] = list
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, "config", "tenon")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "config.json"), raw, 0o600); err != nil {
		return nil, err
	}
	r.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, "run", "daemon.sock"))
		},
	}}
	return r, nil
}

// close stops the daemon and removes everything.
func (r *rig) close() {
	r.http.CloseIdleConnections()
	if _, err := r.run("daemon", "stop"); err != nil {
		fmt.Fprintln(os.Stderr, "bench: stop:", err)
	}
	_ = os.RemoveAll(r.dir)
}

// run runs one command of tenon's as a shell would, and gives its output.
func (r *rig) run(args ...string) (string, error) { return r.command(r.tenon, args...) }

func (r *rig) command(program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = r.env, r.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// exec runs a program in the daemon through the socket, on a connection that
// is kept, and checks its value.
func (r *rig) exec(ctx context.Context, code, want string) error {
	body, err := json.Marshal(proto.ExecRequest{Code: code, Cwd: r.dir})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://tenon/v1/exec", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(proto.HeaderProtocol, strconv.Itoa(proto.Protocol))
	req.Header.Set(proto.HeaderDir, r.dir)
	resp, err := r.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var result proto.RunResult
	if err := json.Unmarshal(raw, &result); err != nil || !result.OK || string(result.Value) != want {
		return fmt.Errorf("run answered %s, want the value %s", raw, want)
	}
	return nil
}

// pid reads which process the daemon is.
func (r *rig) pid() (int, error) {
	raw, err := os.ReadFile(filepath.Join(r.dir, "run", "daemon.json"))
	if err != nil {
		return 0, err
	}
	var info struct {
		PID int `json:"pid"`
	}
	return info.PID, json.Unmarshal(raw, &info)
}

// resident is a process's memory in MiB, from /proc.
func resident(pid int) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("resident memory: %w", err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(raw), &size, &pages); err != nil {
		return 0, err
	}
	return float64(pages*os.Getpagesize()) / (1 << 20), nil
}

// background starts a program that is ended by the function returned.
func background(program string, args ...string) (func(), error) {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, nil
}

// until polls a condition for at most 10 s.
func until(ok func() bool) error {
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			return fmt.Errorf("not ready within 10 s")
		}
		time.Sleep(2 * time.Millisecond) // between two looks
	}
	return nil
}
