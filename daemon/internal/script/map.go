package script

import (
	"encoding/json"

	"tenon/daemon/internal/fault"
)

// Map leads from places in a bundle to the files that it was made of. It is
// immutable and safe for concurrent use.
type Map struct {
	sources  []string
	segments []segment
}

// ReadMap reads a source map of version 3.
func ReadMap(text []byte) (*Map, error) {
	var m struct {
		Sources  []string `json:"sources"`
		Mappings string   `json:"mappings"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	return &Map{sources: m.Sources, segments: decodeMappings(m.Mappings)}, nil
}

// Place maps a place of the bundle, both numbers from 1. ok is false where
// nothing of any file stands.
func (m *Map) Place(line, column int) (file string, pos fault.Position, ok bool) {
	s, ok := find(m.segments, line-1, column-1)
	if !ok || s.source < 0 || s.source >= len(m.sources) {
		return "", pos, false
	}
	return m.sources[s.source], fault.Position{Line: s.sourceLine + 1, Column: s.sourceColumn + 1}, true
}
