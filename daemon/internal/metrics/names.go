package metrics

import "sync"

// Other is the value of a label that stands for all beyond the bound.
const Other = "other"

// Names bounds the values of a label whose names others choose: the first ones
// stand for themselves, later ones are Other. It is safe for concurrent use.
type Names struct {
	limit int

	mu   sync.Mutex
	seen map[string]bool // guarded by mu
}

// NewNames makes a set of at most limit names.
func NewNames(limit int) *Names { return &Names{limit: limit, seen: map[string]bool{}} }

// Of is the name itself, or Other.
func (n *Names) Of(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[name] {
		return name
	}
	if len(n.seen) >= n.limit {
		return Other
	}
	n.seen[name] = true
	return name
}
