// Package recent keeps what was used recently, up to a size: compiled programs,
// reports of type checks.
package recent

import (
	"container/list"
	"sync"
)

// Cache keeps values by their keys; when they outgrow its size, those that were not
// used for longest go. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit int
	size  func(V) int

	mu    sync.Mutex // guards what follows
	used  int
	byKey map[K]*list.Element
	order *list.List // of *entry[K, V], most recent first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// New makes a cache for values of limit in all. Size is what one takes, in the unit
// of limit; nil counts each as one.
func New[K comparable, V any](limit int, size func(V) int) *Cache[K, V] {
	if size == nil {
		size = func(V) int { return 1 }
	}
	return &Cache[K, V]{limit: limit, size: size, byKey: map[K]*list.Element{}, order: list.New()}
}

// Get gives the value of a key, which counts as a use; false when it is not kept.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

// Put keeps a value, unless the key has one or the value alone would take more than
// half of the cache: it would drive out the others for one that may never be asked
// for again.
func (c *Cache[K, V]) Put(key K, value V) {
	size := c.size(value)
	if size > max(c.limit/2, 1) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return
	}
	c.byKey[key] = c.order.PushFront(&entry[K, V]{key, value, size})
	for c.used += size; c.used > c.limit; {
		last := c.order.Back()
		e := last.Value.(*entry[K, V])
		c.order.Remove(last)
		delete(c.byKey, e.key)
		c.used -= e.size
	}
}
