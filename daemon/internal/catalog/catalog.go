// Package catalog knows the tools of every server: the base list of a
// definition, the list of one instance where it differs, the names a program
// writes, search, and the check of a call's arguments.
package catalog

import (
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"tenon/daemon/internal/upstream"
)

// Options configure a Catalog.
type Options struct {
	Dir string       // folder of the persisted base lists; empty: none are kept
	Log *slog.Logger // nil: discarded
	// Secret reports whether a text holds a secret that is known; nothing is
	// learned from a result with such a name in it. Nil: there are none.
	Secret func(text string) bool
	// Mask takes the secrets that are known out of what is written to Dir: a server
	// may put into its own words what it was started with. Nil: there are none.
	Mask func(text string) string
}

// Catalog holds the lists of tools of all definitions. It is safe for
// concurrent use; the lists it returns never change.
type Catalog struct {
	dir string
	log *slog.Logger

	secret    func(text string) bool
	mask      func(text string) string
	forgetful atomic.Bool // nothing is learned from results
	returns   returns     // has locks of its own, which are taken alone
	offers    offers      // has a lock of its own, which is taken alone

	mu       sync.RWMutex
	bases    map[string]*List    // by definition id; nil entry: looked up on disk, none there
	overlays map[string]*overlay // by instance id
	onChange []func(definition string)
}

// overlay is what one instance was last seen to offer.
type overlay struct {
	definition string
	revision   uint64
	list       *List // nil: the same as the base
}

// New makes a catalog; nothing is read before the first look at a definition.
func New(o Options) *Catalog {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Catalog{dir: o.Dir, log: o.Log, secret: o.Secret, mask: o.Mask, bases: map[string]*List{}, overlays: map[string]*overlay{}}
	c.returns.warn = o.Log.Warn
	if o.Dir != "" {
		c.returns.dir = filepath.Join(o.Dir, "returns")
	}
	return c
}

// OnChange registers f, called without locks whenever a list a caller could see
// has changed.
func (c *Catalog) OnChange(f func(definition string)) {
	c.mu.Lock()
	c.onChange = append(c.onChange, f)
	c.mu.Unlock()
}

// Base is the list of a definition: the first one that a fresh instance gave,
// in this daemon's life or an earlier one. Nil: never listed.
func (c *Catalog) Base(definition string) *List {
	c.mu.RLock()
	l, ok := c.bases[definition]
	c.mu.RUnlock()
	if ok {
		return l
	}
	if l = c.read(definition); l != nil {
		c.returns.attach(definition, l)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.bases[definition]; ok {
		return now
	}
	c.bases[definition] = l
	return l
}

// For is what a caller bound to an instance sees: that instance's own list
// where it differs, else the base. An empty instance means the base.
func (c *Catalog) For(definition, instance string) *List {
	if instance != "" {
		c.mu.RLock()
		o := c.overlays[instance]
		c.mu.RUnlock()
		if o != nil && o.list != nil {
			return o.list
		}
	}
	return c.Base(definition)
}

// Learn takes in the list of an instance and returns what its callers see from
// now on. Revision is the instance's own number of the list, which grows: the
// same number again costs nothing, an older one is ignored. The first list of an instance becomes the definition's
// base; a later one is kept beside it. A list with two tools of one name is
// refused whole: the former list stays, and its Problem says why.
func (c *Catalog) Learn(definition, instance string, revision uint64, tools []upstream.Tool) *List {
	c.mu.RLock()
	o := c.overlays[instance]
	c.mu.RUnlock()
	if o != nil && o.revision >= revision {
		return c.For(definition, instance)
	}
	fresh, problem := build(tools)
	if problem == "" {
		c.returns.attach(definition, fresh)
	}
	base := c.Base(definition)

	c.mu.Lock()
	if o = c.overlays[instance]; o != nil && o.revision >= revision { // meanwhile, by somebody else
		c.mu.Unlock()
		return c.For(definition, instance)
	}
	if problem != "" {
		c.log.Warn("tool list refused; keeping the former one", "definition", definition, "instance", instance, "reason", problem)
		fresh = c.refused(definition, instance, problem)
		c.overlays[instance] = &overlay{definition: definition, revision: revision, list: fresh}
		c.mu.Unlock()
		return fresh
	}
	fresh.noteChanges(c.before(o, base))
	changed, persist := false, false
	next := &overlay{definition: definition, revision: revision}
	if o == nil { // the first list of a fresh instance
		if base == nil || base.Fingerprint != fresh.Fingerprint {
			changed, persist = true, true
			fresh.Fresh = true
			c.bases[definition] = fresh
		} else if base.masked { // the server's own words are better than what was kept of them
			fresh.Fresh = true
			c.bases[definition] = fresh
		} else if !base.Fresh {
			confirmed := *base
			confirmed.Fresh = true
			c.bases[definition] = &confirmed
		}
	} else {
		changed = c.seen(o, base) != fresh.Fingerprint
		if base == nil || base.Fingerprint != fresh.Fingerprint {
			fresh.Fresh = true
			next.list = fresh
		}
	}
	c.overlays[instance] = next
	result := next.list
	if result == nil {
		result = c.bases[definition]
	}
	listeners := c.onChange
	c.mu.Unlock()

	if persist {
		c.write(definition, fresh)
	}
	if changed {
		for _, f := range listeners {
			f(definition)
		}
	}
	return result
}

// before is the list that an instance's callers saw until now, or nil.
func (c *Catalog) before(o *overlay, base *List) *List {
	if o != nil && o.list != nil {
		return o.list
	}
	return base
}

// seen is the fingerprint of what an instance's callers saw before.
func (c *Catalog) seen(o *overlay, base *List) string {
	if l := c.before(o, base); l != nil {
		return l.Fingerprint
	}
	return ""
}

// refused is the former list with the problem noted; the caller holds mu.
func (c *Catalog) refused(definition, instance, problem string) *List {
	former := c.bases[definition]
	if o := c.overlays[instance]; o != nil && o.list != nil {
		former = o.list
	}
	if former == nil {
		former, _ = build(nil)
	}
	kept := *former
	kept.Problem = problem
	kept.Fresh = true
	return &kept
}

// Forget drops what was kept of an instance that is gone.
func (c *Catalog) Forget(instance string) {
	c.mu.Lock()
	delete(c.overlays, instance)
	c.mu.Unlock()
}
