package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// troubles are the parts of a history that cannot be written now.
type troubles struct {
	count atomic.Int32 // of parts; a call must not wait to say that all is well

	mu    sync.Mutex
	parts map[string]error
}

func (t *troubles) set(part string, err error) {
	if err == nil && t.count.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		delete(t.parts, part)
	} else {
		if t.parts == nil {
			t.parts = map[string]error{}
		}
		t.parts[part] = err
	}
	t.count.Store(int32(len(t.parts)))
}

// note keeps in mind whether a part could be written, and complains if not.
func (s *Store) note(part string, err error) {
	s.troubles.set(part, err)
	if err != nil {
		s.complain(part, err)
	}
}

// Trouble says why history is not being kept at the moment; empty: it is.
func (s *Store) Trouble() string {
	s.troubles.mu.Lock()
	defer s.troubles.mu.Unlock()
	var all []string
	for _, part := range slices.Sorted(maps.Keys(s.troubles.parts)) {
		all = append(all, fmt.Sprintf("%s: %v", part, s.troubles.parts[part]))
	}
	return strings.Join(all, "; ")
}
