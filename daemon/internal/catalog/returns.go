package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tenon/daemon/internal/local"
)

// Bounds of what is kept of results, in memory and in the state directory.
const (
	maxVersions = 3           // definitions of one tool
	maxKept     = 2000        // tools of one server
	maxKeptFile = 1 << 20     // bytes of one server's file; the tools with the fewest results go first
	maxFiles    = 200         // servers; the files written longest ago go first
	keepAfter   = time.Second // a change is written this much later, with those that follow it
)

// keptFormat changes when an older daemon would misread a file.
const keptFormat = 1

// keptFile is one file of the folder of learned shapes.
type keptFile struct {
	Format int        `json:"format"`
	Tools  []keptTool `json:"tools"`
}

type keptTool struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	Results     uint64 `json:"results"`
	Shape       *shape `json:"shape"`
}

// returns holds the learned shapes of all servers. A server is what its
// definitions were made from, so that what the instance of one directory
// teaches holds for another's.
type returns struct {
	dir  string // empty: nothing is written
	warn func(msg string, args ...any)

	saving  sync.Mutex // held while files are written; taken before mu
	mu      sync.Mutex
	servers map[string]*kept  // by identity
	akin    map[string]string // definition id -> identity, where they differ
	dirty   map[*kept]bool
	timer   *time.Timer // runs while something is dirty
	closed  bool
}

// kept is what is known of one server's tools.
type kept struct {
	identity string
	tools    map[string][]*learned // by name; of each its definitions, oldest first
}

// Akin tells that a definition was made from a template, as others are that
// differ from it in a directory or a session only: what is learned of one holds
// for all. It is to be told before the definition's first list is asked for.
func (c *Catalog) Akin(definition, template string) {
	if template == "" || template == definition {
		return
	}
	r := &c.returns
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.akin == nil {
		r.akin = map[string]string{}
	}
	r.akin[definition] = template
}

// attach gives the tools of a list, which is not published yet, what was learned
// of them.
func (r *returns) attach(definition string, l *List) {
	r.mu.Lock()
	identity := cmp.Or(r.akin[definition], definition)
	k := r.servers[identity]
	r.mu.Unlock()
	if k == nil {
		k = r.read(identity)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.servers == nil {
		r.servers = map[string]*kept{}
	}
	if now := r.servers[identity]; now != nil {
		k = now
	}
	r.servers[identity] = k
	for _, t := range l.Tools {
		if !absent(t.OutputSchema) {
			continue
		}
		if len(k.tools) >= maxKept && k.tools[t.Name] == nil {
			k.forgetAbsent(l)
		}
		if len(k.tools) < maxKept || k.tools[t.Name] != nil {
			t.learned = k.find(t.Name, t.Fingerprint)
		}
	}
}

// forgetAbsent forgets the tools that are not in the list.
func (k *kept) forgetAbsent(l *List) {
	for name := range k.tools {
		if l.byName[name] == nil {
			delete(k.tools, name)
		}
	}
}

// find is the record of one definition of a tool, a new one where there is none.
// A few definitions are remembered: they differ by place, and change back.
func (k *kept) find(name, fingerprint string) *learned {
	all := k.tools[name]
	for _, l := range all {
		if l.fingerprint == fingerprint {
			return l
		}
	}
	if len(all) >= maxVersions {
		all = slices.Delete(all, 0, 1)
	}
	l := &learned{name: name, fingerprint: fingerprint, of: k}
	k.tools[name] = append(all, l)
	return l
}

// changed has the file of a tool's server written soon.
func (r *returns) changed(l *learned) {
	if r.dir == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.dirty == nil {
		r.dirty = map[*kept]bool{}
	}
	r.dirty[l.of] = true
	if r.timer == nil {
		r.timer = time.AfterFunc(keepAfter, r.flush)
	}
}

// flush writes what has changed.
func (r *returns) flush() {
	r.saving.Lock()
	defer r.saving.Unlock()
	r.mu.Lock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	changed := map[string][]*learned{}
	for k := range r.dirty {
		var all []*learned
		for _, versions := range k.tools {
			all = append(all, versions...)
		}
		changed[k.identity] = all
	}
	clear(r.dirty)
	r.mu.Unlock()

	grown := false
	for identity, tools := range changed {
		_, err := os.Stat(r.file(identity))
		grown = grown || errors.Is(err, fs.ErrNotExist)
		if err := replace(r.file(identity), encode(tools)); err != nil {
			r.warn("learned result types not written", "error", err)
		}
	}
	if grown {
		r.evict()
	}
}

// encode is the file of one server.
func encode(all []*learned) []byte {
	var tools []keptTool
	for _, l := range all {
		if one := l.record(); one.Shape != nil {
			tools = append(tools, one)
		}
	}
	slices.SortFunc(tools, func(a, b keptTool) int {
		return cmp.Or(cmp.Compare(b.Results, a.Results), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	out, size := keptFile{Format: keptFormat}, 0
	for _, one := range tools {
		text, err := json.Marshal(one)
		if size += len(text); err == nil && size <= maxKeptFile {
			out.Tools = append(out.Tools, one)
		}
	}
	data, err := json.Marshal(out)
	if err != nil { // strings and numbers always marshal
		return nil
	}
	return data
}

// record is a copy that nobody else changes.
func (l *learned) record() keptTool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := keptTool{Name: l.name, Fingerprint: l.fingerprint, Results: l.seen.Load()}
	if l.shape != nil {
		one.Shape = &shape{}
		one.Shape.merge(l.shape)
	}
	return one
}

// read is what an earlier daemon learned of a server.
func (r *returns) read(identity string) *kept {
	k := &kept{identity: identity, tools: map[string][]*learned{}}
	if r.dir == "" {
		return k
	}
	info, err := os.Stat(r.file(identity))
	if err != nil || info.Size() > 2*maxKeptFile {
		return k
	}
	data, err := local.ReadRegular(r.file(identity))
	var file keptFile
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil || file.Format != keptFormat {
		r.warn("learned result types ignored", "file", r.file(identity), "error", err)
		return k
	}
	for _, one := range file.Tools {
		if one.Shape == nil || len(k.tools) >= maxKept {
			continue
		}
		l := k.find(one.Name, one.Fingerprint)
		left := shapeNodes
		one.Shape.bound(shapeDepth, &left)
		l.shape = one.Shape
		l.seen.Store(one.Results)
	}
	return k
}

// file is where a server's shapes are kept. An identity may be anything.
func (r *returns) file(identity string) string {
	sum := sha256.Sum256([]byte(identity))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:12])+".json")
}

// evict removes the files beyond maxFiles, those written longest ago.
func (r *returns) evict() {
	entries, err := os.ReadDir(r.dir)
	if err != nil || len(entries) <= maxFiles {
		return
	}
	age := func(e fs.DirEntry) int64 {
		if info, err := e.Info(); err == nil {
			return info.ModTime().UnixNano()
		}
		return 0
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(age(a), age(b)) })
	for _, e := range entries[:len(entries)-maxFiles] {
		_ = os.Remove(filepath.Join(r.dir, e.Name()))
	}
}

// SetLearning switches learning from results on or off (default: on). Off, what
// was learned is forgotten, and its files are removed.
func (c *Catalog) SetLearning(on bool) {
	c.forgetful.Store(!on)
	if on {
		return
	}
	r := &c.returns
	r.saving.Lock()
	defer r.saving.Unlock()
	r.mu.Lock()
	for _, k := range r.servers {
		for _, versions := range k.tools {
			for _, l := range versions {
				l.forget()
			}
		}
	}
	clear(r.dirty)
	r.mu.Unlock()
	if r.dir != "" {
		if err := os.RemoveAll(r.dir); err != nil {
			r.warn("learned result types not removed", "error", err)
		}
	}
}

func (l *learned) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shape, l.schema, l.short = nil, nil, nil
	l.calls.Store(0)
	l.seen.Store(0)
}

// Close writes what was learned and not written yet.
func (c *Catalog) Close() {
	c.returns.mu.Lock()
	c.returns.closed = true
	c.returns.mu.Unlock()
	c.returns.flush()
}
