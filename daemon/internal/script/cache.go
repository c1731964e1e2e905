package script

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// cache keeps compiled programs by the sum of their source; the least recently
// used go first.
type cache struct {
	limit int // bytes

	mu    sync.Mutex // guards what follows
	size  int
	byKey map[cacheKey]*list.Element
	order *list.List // of *cacheEntry, most recent first
}

type cacheKey [sha256.Size]byte

type cacheEntry struct {
	key     cacheKey
	program *Program
}

func newCache(limit int) *cache {
	return &cache{limit: limit, byKey: map[cacheKey]*list.Element{}, order: list.New()}
}

func (c *cache) get(key cacheKey) *Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cacheEntry).program
}

// put keeps p unless it alone would fill half the cache.
func (c *cache) put(key cacheKey, p *Program) {
	size := p.Size()
	if size > c.limit/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return
	}
	c.byKey[key] = c.order.PushFront(&cacheEntry{key, p})
	c.size += size
	for c.size > c.limit {
		last := c.order.Back()
		entry := last.Value.(*cacheEntry)
		c.order.Remove(last)
		delete(c.byKey, entry.key)
		c.size -= entry.program.Size()
	}
}
