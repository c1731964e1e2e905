package typecheck

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// cache keeps reports by the sum of program, declarations and checker; the
// least recently used go first.
type cache struct {
	limit int // reports

	mu    sync.Mutex // guards what follows
	byKey map[cacheKey]*list.Element
	order *list.List // of *cacheEntry, most recent first
}

type cacheKey [sha256.Size]byte

type cacheEntry struct {
	key    cacheKey
	report *Report
}

func newCache(limit int) *cache {
	return &cache{limit: limit, byKey: map[cacheKey]*list.Element{}, order: list.New()}
}

func (c *cache) get(key cacheKey) *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cacheEntry).report
}

func (c *cache) put(key cacheKey, r *Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return
	}
	c.byKey[key] = c.order.PushFront(&cacheEntry{key, r})
	for len(c.byKey) > c.limit {
		last := c.order.Back()
		delete(c.byKey, last.Value.(*cacheEntry).key)
		c.order.Remove(last)
	}
}
