package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// memory is what was killed already, so that an interrupted run goes on where
// it was. A result counts for a case, its note and the broken files as they were.
type memory struct {
	path   string
	Killed map[string]outcome
}

func load(path string, fresh bool) *memory {
	m := &memory{path: path, Killed: map[string]outcome{}}
	if raw, err := os.ReadFile(path); err == nil && !fresh {
		_ = json.Unmarshal(raw, m) // a damaged file remembers nothing
	}
	if m.Killed == nil {
		m.Killed = map[string]outcome{}
	}
	return m
}

// keep writes the file anew; one that cannot be written costs only time later.
func (m *memory) keep(key string, o outcome) {
	m.Killed[key] = o
	raw, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return
	}
	if os.MkdirAll(filepath.Dir(m.path), 0o755) == nil {
		_ = os.WriteFile(m.path, raw, 0o644)
	}
}
