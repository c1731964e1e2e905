package local

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Info is daemon.json: what a running daemon says about itself to those who
// cannot ask it. It is a hint for messages, never a proof of life: that is the
// lock.
type Info struct {
	PID      int         `json:"pid"`
	Protocol int         `json:"protocol"`
	Build    proto.Build `json:"build"`
	Socket   string      `json:"socket"`
	Started  time.Time   `json:"started"`
	Log      string      `json:"log,omitempty"`
}

// Info reads daemon.json; ok is false when there is none that can be read.
func (p Paths) Info() (info Info, ok bool) {
	raw, err := ReadRegular(filepath.Join(p.Runtime, infoName))
	if err != nil || json.Unmarshal(raw, &info) != nil {
		return Info{}, false
	}
	return info, true
}

// WriteInfo replaces daemon.json.
func (p Paths) WriteInfo(info Info) error {
	raw, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(p.Runtime, infoName), append(raw, '\n'), 0o600)
}

// RemoveInfo removes daemon.json if it is about this process.
func (p Paths) RemoveInfo() {
	if info, ok := p.Info(); ok && info.PID == os.Getpid() {
		_ = os.Remove(filepath.Join(p.Runtime, infoName))
	}
}

// Touch renews the time stamps of the runtime files: cleaners of temporary
// directories remove what looks old (the XDG base directory specification asks
// for a touch every 6 hours).
func (p Paths) Touch(now time.Time) {
	for _, f := range []string{p.Socket, filepath.Join(p.Runtime, infoName), filepath.Join(p.Runtime, lockName)} {
		_ = os.Chtimes(f, now, now)
	}
}

// TempPrefix begins the names of the temporary files that become path.
func TempPrefix(path string) string { return "." + filepath.Base(path) + ".tenon-new-" }

// abandoned is the age at which a temporary file belongs to nobody any more: it is
// written within milliseconds.
const abandoned = time.Minute

// Sweep removes the temporary files of path that killed processes left. What cannot
// be removed is only untidy.
func Sweep(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), TempPrefix(path)) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// WriteFile replaces path atomically with data: readers see the old content or
// the new, never a part.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	Sweep(path)
	f, err := os.CreateTemp(filepath.Dir(path), TempPrefix(path)+"*")
	if err != nil {
		return fault.New(fault.InternalError, "cannot write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // fails once renamed
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fault.New(fault.InternalError, "cannot write %s: %w", path, err)
	}
	return nil
}
