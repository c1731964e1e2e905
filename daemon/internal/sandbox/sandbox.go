// Package sandbox confines a process by the kernel: on Linux by Landlock (files,
// signals, TCP) and a seccomp filter (sockets of every kind), with resource
// limits. A program of another vendor cannot be trusted to hold its own flags,
// and its children have none; what the kernel holds, all of them keep.
//
// The process is started through this program's own binary: [Command] gives the
// command line of a helper, [HelperMain] is that helper, which confines itself
// and becomes the program. What cannot be enforced is refused by [Support.Holds]
// with the reason, never silently widened.
package sandbox

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Mode is how far a program may reach.
type Mode string

// The modes, strictest first.
const (
	// Confined is the embedded engine's: nothing but tools. No process has it.
	Confined Mode = "confined"
	// ReadOnly reads the workspace, the system's programs and libraries, and
	// writes nothing but the run's own directory. It opens no socket.
	ReadOnly Mode = "read-only"
	// WorkspaceWrite also writes to the workspace.
	WorkspaceWrite Mode = "workspace-write"
	// Full is no confinement: what the user may do.
	Full Mode = "full"
)

var modes = []Mode{Confined, ReadOnly, WorkspaceWrite, Full}

// Modes lists the modes, strictest first.
func Modes() []Mode { return slices.Clone(modes) }

// ParseMode reads a mode as a user writes it.
func ParseMode(text string) (Mode, error) {
	if m := Mode(text); slices.Contains(modes, m) {
		return m, nil
	}
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = string(m)
	}
	return "", fmt.Errorf("there is no sandbox mode %q: %s", text, strings.Join(names, ", "))
}

// Wider reports whether m allows more than other.
func (m Mode) Wider(other Mode) bool { return slices.Index(modes, m) > slices.Index(modes, other) }

// Strict reports whether the kernel has to hold anything for m.
func (m Mode) Strict() bool { return m == ReadOnly || m == WorkspaceWrite }

// Profile is what one process may do. Paths are absolute; those that do not
// exist are passed over.
type Profile struct {
	Mode      Mode     `json:"mode"`
	Workspace string   `json:"workspace"` // read; written to in workspace-write
	Read      []string `json:"read"`      // files and directories to read and execute, beside the system's
	Write     []string `json:"write"`     // the run's own directory: written to in every mode
	// Hidden are files and directories that no strict mode may reach. A profile
	// that would grant one of them is refused by [Profile.Check].
	Hidden []string `json:"-"`

	Files int           `json:"files"` // descriptors from 3 on that the program gets; whatever else is inherited is closed
	CPU   time.Duration `json:"cpu"`   // of each process, rounded up to a second; 0: no limit
}

// Check refuses what cannot be confined: a strict profile that grants a hidden
// path, or a path that is not absolute.
func (p Profile) Check() error {
	for _, path := range p.granted() {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("the sandbox needs absolute paths, not %q", path)
		}
		for _, hidden := range p.Hidden {
			if !p.Mode.Strict() || hidden == "" {
				continue
			}
			if Within(resolve(hidden), resolve(path)) {
				return fmt.Errorf("%s holds %s, which a %s program must not reach", path, hidden, p.Mode)
			}
			if path == p.Workspace && Within(resolve(path), resolve(hidden)) {
				return fmt.Errorf("%s lies in %s, which a %s program must not reach", path, hidden, p.Mode)
			}
		}
	}
	return nil
}

func (p Profile) granted() []string {
	all := append(slices.Clone(p.Read), p.Write...)
	if p.Workspace != "" {
		all = append(all, p.Workspace)
	}
	return all
}

// resolve follows links as far as the path exists.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolve(parent), filepath.Base(path))
	}
	return path
}

// Within reports whether path is dir or below it, going by their names.
func Within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// HelperCommand is the hidden command whose process confines itself.
const HelperCommand = "internal-sandbox"

// Command is the command line that runs argv under p: executable is this
// program's own binary, argv[0] an absolute path. The error is [Profile.Check]'s.
func Command(executable string, p Profile, argv []string) ([]string, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return append([]string{executable, HelperCommand, string(text), "--"}, argv...), nil
}
