package cli

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
)

// openerWithin is how long the program that opens a browser may take: they hand
// the address on and end, but for those that are the browser.
const openerWithin = 3 * time.Second

// browserHere opens an address in the user's browser; nil where there is none:
// no desktop, or no program that knows its browser.
func browserHere(env map[string]string) func(context.Context, string) error {
	var command []string
	switch runtime.GOOS {
	case "darwin":
		command = []string{"/usr/bin/open"}
	case "windows":
		command = []string{filepath.Join(env["SystemRoot"], "System32", "rundll32.exe"), "url.dll,FileProtocolHandler"}
	default:
		if env["DISPLAY"] == "" && env["WAYLAND_DISPLAY"] == "" {
			return nil
		}
		opener := inPath("xdg-open", env["PATH"])
		if opener == "" {
			return nil
		}
		command = []string{opener}
	}
	return func(ctx context.Context, address string) error { return openWith(ctx, command, address) }
}

// inPath finds a program in a PATH, in its absolute entries only.
func inPath(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		full := filepath.Join(dir, name)
		if info, err := os.Stat(full); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return full
		}
	}
	return ""
}

// openWith runs the opener with the address as its one argument: no shell reads
// it, and what begins with http cannot be an option.
func openWith(ctx context.Context, command []string, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fault.New(fault.UsageError, "this is no address for a browser")
	}
	c := exec.Command(command[0], append(command[1:], u.String())...)
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	late := time.NewTimer(openerWithin)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C: // the browser itself, perhaps: it lives on
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
