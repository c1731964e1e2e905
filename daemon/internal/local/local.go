// Package local is the place where a user's daemon and its clients meet: the
// runtime, state and configuration paths, the socket with its lock, and the
// identity that both sides show each other. Nothing else computes these paths.
package local

import (
	"fmt"
	"os"
	"path/filepath"

	"tenon/daemon/internal/fault"
)

// Names of the files in the runtime directory.
const (
	socketName = "daemon.sock"
	lockName   = "daemon.lock" // held from start to end of a serving daemon
	startName  = "start.lock"  // held while somebody brings a daemon up
	infoName   = "daemon.json"
)

// Paths are the places of one user's tenon. All are absolute. Resolving them
// creates nothing.
type Paths struct {
	Runtime string // 0700; $TENON_RUNTIME_DIR, $XDG_RUNTIME_DIR/tenon, or a private directory below the system's temporary one
	State   string // 0700; $TENON_STATE_DIR, $XDG_STATE_HOME/tenon or ~/.local/state/tenon
	Config  string // directory: $XDG_CONFIG_HOME/tenon or ~/.config/tenon
	Data    string // directory: $XDG_DATA_HOME/tenon or ~/.local/share/tenon
	Home    string // the user's home directory
	Socket  string // what is bound and dialled; see SocketPath
}

// Resolve finds the places from the environment alone, so that a daemon and a
// client with the same environment always agree. It fails with UsageError when
// a variable of ours is not an absolute path, or there is no home directory.
func Resolve(getenv func(string) string) (Paths, error) {
	var p Paths
	home := getenv("HOME")
	if home == "" {
		if h, err := os.UserHomeDir(); err == nil {
			home = h
		}
	}
	if home != "" && !filepath.IsAbs(home) { // every directory would be another by where one stands
		return Paths{}, fault.New(fault.UsageError, "HOME must be an absolute path, not %q", home)
	}
	p.Home = home
	for _, d := range []struct {
		to        *string
		ours, xdg string
		below     string
	}{
		{&p.State, "TENON_STATE_DIR", "XDG_STATE_HOME", ".local/state"},
		{&p.Config, "", "XDG_CONFIG_HOME", ".config"},
		{&p.Data, "", "XDG_DATA_HOME", ".local/share"},
	} {
		dir, err := place(getenv, d.ours, d.xdg, home, d.below)
		if err != nil {
			return Paths{}, err
		}
		*d.to = dir
	}
	run, err := runtimeDir(getenv)
	if err != nil {
		return Paths{}, err
	}
	p.Runtime = run
	p.Socket = SocketPath(run)
	return p, nil
}

// place resolves one directory: our variable, the XDG variable, the home
// directory. A relative XDG variable is ignored, as its specification demands.
func place(getenv func(string) string, ours, xdg, home, below string) (string, error) {
	if ours != "" {
		if v := getenv(ours); v != "" {
			return absolute(ours, v)
		}
	}
	if v := getenv(xdg); filepath.IsAbs(v) {
		return filepath.Join(v, "tenon"), nil
	}
	if home == "" {
		return "", fault.New(fault.UsageError, "no home directory: neither HOME nor %s is set", xdg).
			WithHint("set HOME")
	}
	return filepath.Join(home, filepath.FromSlash(below), "tenon"), nil
}

func absolute(name, v string) (string, error) {
	if !filepath.IsAbs(v) {
		return "", fault.New(fault.UsageError, "%s must be an absolute path, not %q", name, v)
	}
	return filepath.Clean(v), nil
}

// runtimeDir prefers our variable, then the session's runtime directory if it
// is really this user's (sudo and su keep the variable of somebody else), then
// a private directory below the system's temporary directory.
func runtimeDir(getenv func(string) string) (string, error) {
	if v := getenv("TENON_RUNTIME_DIR"); v != "" {
		return absolute("TENON_RUNTIME_DIR", v)
	}
	if v := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(v) && owned(v) {
		return filepath.Join(v, "tenon"), nil
	}
	return privateTemp(), nil
}

// privateTemp is this user's directory below the system's temporary one. It
// does not follow TMPDIR: a shell with its own TMPDIR would otherwise get its
// own daemon.
func privateTemp() string {
	return filepath.Join(systemTemp, fmt.Sprintf("tenon-%d", os.Getuid()))
}

// LogFile is where a daemon in the background writes.
func (p Paths) LogFile() string { return filepath.Join(p.State, "logs", "daemon.log") }

// ConfigFile is the user's own configuration file: the first that exists of
// config.{jsonc,json,yaml,yml,toml}, else config.jsonc.
func (p Paths) ConfigFile() string {
	for _, ext := range []string{"jsonc", "json", "yaml", "yml", "toml"} {
		f := filepath.Join(p.Config, "config."+ext)
		if _, err := os.Stat(f); err == nil {
			return f
		}
	}
	return filepath.Join(p.Config, "config.jsonc")
}

// Ensure creates the runtime and state directories, private to the user, and
// refuses ones that are not.
func (p Paths) Ensure() error {
	dirs := []string{p.Runtime, filepath.Dir(p.Socket), p.State, filepath.Dir(p.LogFile())}
	for _, d := range dirs {
		if err := private(d); err != nil {
			return err
		}
	}
	return nil
}
