package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"tenon/daemon/internal/local"
)

// Approval is one remembered "always". It holds for exactly one tool of one
// server in one project directory, and only while the tool's definition is the
// one that was approved.
type Approval struct {
	Dir         string `json:"dir"`
	Key         string `json:"key"`
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Fingerprint string `json:"fingerprint,omitempty"` // of the tool's definition; empty: it was not known
}

// id is what an approval is looked up by. The pair is part of it, because two
// pairs can share a key.
func (a Approval) id() [3]string { return [3]string{a.Dir, a.Server, a.Tool} }

// Memory keeps remembered approvals in one file of the state directory
// (approvals.json, 0600). It is safe for concurrent use.
type Memory struct {
	path string
	log  *slog.Logger

	mu     sync.RWMutex
	loaded bool
	known  map[[3]string]Approval
}

// NewMemory uses approvals.json in dir; nothing is read before the first look.
func NewMemory(dir string, log *slog.Logger) *Memory {
	return &Memory{path: filepath.Join(dir, "approvals.json"), log: log, known: map[[3]string]Approval{}}
}

// Allowed reports whether the tool was approved for always in dir. A tool whose
// definition has changed since counts as not approved.
func (m *Memory) Allowed(dir, server, tool, fingerprint string) bool {
	m.mu.RLock()
	if !m.loaded {
		m.mu.RUnlock()
		m.mu.Lock()
		m.load()
		m.mu.Unlock()
		m.mu.RLock()
	}
	defer m.mu.RUnlock()
	a, ok := m.known[[3]string{dir, server, tool}]
	return ok && (a.Fingerprint == "" || fingerprint == "" || a.Fingerprint == fingerprint)
}

// Outdated reports whether the tool was approved for always in dir, and its
// server has defined it otherwise since: the approval is held until it is given
// again, for the definition as it now is.
func (m *Memory) Outdated(dir, server, tool, fingerprint string) bool {
	if m.Allowed(dir, server, tool, fingerprint) {
		return false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, known := m.known[[3]string{dir, server, tool}]
	return known
}

// Remember stores an approval; it is in effect even when the file cannot be
// written, which the error says.
func (m *Memory) Remember(a Approval) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.load()
	if m.known[a.id()] == a {
		return nil
	}
	m.known[a.id()] = a
	return m.save()
}

// List returns what is remembered, ordered by directory, server and tool.
func (m *Memory) List() []Approval {
	m.mu.Lock()
	m.load()
	out := make([]Approval, 0, len(m.known))
	for _, a := range m.known {
		out = append(out, a)
	}
	m.mu.Unlock()
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i].id(), out[j].id()
		return a[0] < b[0] || a[0] == b[0] && (a[1] < b[1] || a[1] == b[1] && a[2] < b[2])
	})
	return out
}

// load reads the file once; the caller holds mu. A file that cannot be read
// remembers nothing: the user is asked again, which is the safe side.
func (m *Memory) load() {
	if m.loaded {
		return
	}
	m.loaded = true
	data, err := local.ReadRegular(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var list []Approval
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		m.log.Warn("remembered approvals are not readable; asking again", "file", m.path, "error", err)
		return
	}
	for _, a := range list {
		m.known[a.id()] = a
	}
}

// save writes the file atomically; the caller holds mu.
func (m *Memory) save() error {
	list := make([]Approval, 0, len(m.known))
	for _, a := range m.known {
		list = append(list, a)
	}
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("remembered approvals: %w", err)
	}
	dir := filepath.Dir(m.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("remembered approvals: %w", err)
	}
	tmp, err := os.CreateTemp(dir, ".approvals-*") // 0600 by CreateTemp
	if err != nil {
		return fmt.Errorf("remembered approvals: %w", err)
	}
	_, err = tmp.Write(append(data, '\n'))
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), m.path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("remembered approvals: %w", err)
	}
	return nil
}
