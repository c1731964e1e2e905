package pool

import (
	"time"

	"tenon/daemon/internal/config"
)

// warmDef is a definition that wants spares. Guarded by Pool.mu.
type warmDef struct {
	def  *config.Definition
	used time.Time // last time an instance was handed out
}

// Warm asks for the spares of d (Server.Warm of them) before its first use.
// A definition that names its caller's own values never gets spares, since a
// spare might go to another caller.
func (p *Pool) Warm(d *config.Definition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	t := p.templateLocked(d)
	t.noteWarm(d, p.now())
	p.replenishLocked(t)
}

func (t *template) noteWarm(d *config.Definition, now time.Time) {
	if d.Server.Warm <= 0 || d.Personal {
		delete(t.warm, d.ID)
		return
	}
	t.warm[d.ID] = &warmDef{def: d, used: now}
}

// replenishLocked starts what is missing of the template's spares, in free
// slots only.
func (p *Pool) replenishLocked(t *template) {
	if p.closed || t.health.loop {
		return
	}
	for id, w := range t.warm {
		for n := t.spares(id); n < w.def.Server.Warm && len(t.slots) < t.max; n++ {
			p.startLocked(t, w.def, nil, true)
		}
	}
}

// spares counts the usable spares of one definition.
func (t *template) spares(id string) int {
	n := 0
	for i := range t.slots {
		if i.spare && i.def.ID == id && i.phase.Load() < phaseEnding {
			n++
		}
	}
	return n
}

// takeSpare turns the oldest usable spare of a definition into an instance in
// use; it never becomes a spare again.
func (t *template) takeSpare(id string) *Instance {
	i := t.oldestSpare(func(i *Instance) bool { return i.def.ID == id })
	if i != nil {
		i.spare = false
	}
	return i
}

func (t *template) oldestSpare(want func(*Instance) bool) *Instance {
	var oldest *Instance
	for i := range t.slots {
		if i.spare && i.phase.Load() < phaseEnding && want(i) && (oldest == nil || i.gen < oldest.gen) {
			oldest = i
		}
	}
	return oldest
}

// EndSpare ends one spare of the template to make room, and says if it did.
func (p *Pool) EndSpare(template string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.templates[template]
	if t == nil {
		return false
	}
	i := t.oldestSpare(func(*Instance) bool { return true })
	if i == nil {
		return false
	}
	p.endLocked(i, "made room: it was a spare")
	return true
}

// Sweep starts missing spares and ends those of definitions that nobody has
// used for their IdleTimeout. It also forgets templates with nothing to tell.
// The owner of the pool calls it now and then, after serving its waiters.
func (p *Pool) Sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for key, t := range p.templates {
		for id, w := range t.warm {
			idle := w.def.Server.IdleTimeout
			if idle > 0 && now.Sub(w.used) >= idle && !t.inUse(id) {
				delete(t.warm, id)
				t.endSpares(p, id)
			}
		}
		p.replenishLocked(t)
		if len(t.slots) == 0 && len(t.warm) == 0 && t.health.crashes == 0 && t.health.restarts == 0 {
			delete(p.templates, key)
		}
	}
}

// inUse reports whether an instance of the definition is anything but a spare.
func (t *template) inUse(id string) bool {
	for i := range t.slots {
		if !i.spare && i.def.ID == id {
			return true
		}
	}
	return false
}

func (t *template) endSpares(p *Pool, id string) {
	for i := range t.slots {
		if i.spare && i.def.ID == id {
			p.endLocked(i, "nobody used it")
		}
	}
}
