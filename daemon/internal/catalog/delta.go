package catalog

import (
	"fmt"
	"strings"
	"sync"

	"tenon/proto"
)

// maxTold is how many catalogues are remembered for deltas.
const maxTold = 64

// Told remembers which catalogues were given out, so that the next one can be
// told as what changed. It is safe for concurrent use; its zero value is ready.
type Told struct {
	mu    sync.Mutex
	known map[string][]Entry // by fingerprint
	order []string           // oldest first
}

// Tell is the catalogue of a view: where the asker has an earlier one (since)
// that is still known, the shorter of delta and whole.
func (t *Told) Tell(entries []Entry, q proto.CatalogQuery) *proto.Catalog {
	fingerprint := Fingerprint(entries)
	t.mu.Lock()
	before, known := t.known[q.Since]
	if _, ok := t.known[fingerprint]; !ok {
		if t.known == nil {
			t.known = map[string][]Entry{}
		}
		if len(t.order) >= maxTold {
			delete(t.known, t.order[0])
			t.order = t.order[1:]
		}
		t.known[fingerprint] = entries
		t.order = append(t.order, fingerprint)
	}
	t.mu.Unlock()

	whole := Whole(entries, q.Budget)
	if q.Since == fingerprint {
		before, known = entries, true
	}
	if !known {
		return whole
	}
	text := Delta(before, entries)
	tokens := Tokens(text)
	if tokens >= whole.Tokens {
		return whole
	}
	return &proto.Catalog{
		Text: text, Fingerprint: fingerprint, Partial: whole.Partial, Delta: true,
		Tokens: tokens, Total: whole.Total, Shown: strings.Count(text, "\n+ ") + strings.Count(text, "\n~ "),
	}
}

// Delta tells what changed from one catalogue of a view to a later one.
func Delta(before, now []Entry) string {
	old := map[string]Entry{}
	for _, e := range before {
		old[e.Server] = e
	}
	var b strings.Builder
	for _, e := range now {
		was, ok := old[e.Server]
		delete(old, e.Server)
		switch {
		case ok && was.Namespace != e.Namespace:
			fmt.Fprintf(&b, "\ntools.%s is now tools.%s", was.Namespace, e.Namespace)
		case !ok || was.List == nil:
			if e.List == nil {
				if !ok {
					fmt.Fprintf(&b, "\nnew: tools.%s, not listed yet", e.Namespace)
				}
				continue
			}
			fmt.Fprintf(&b, "\nnew: tools.%s, %d tools", e.Namespace, len(e.List.Tools))
		case e.List == nil:
			fmt.Fprintf(&b, "\ntools.%s: not listed any more", e.Namespace)
		}
		switch {
		case was.Also == e.Also:
		case e.Also == "":
			fmt.Fprintf(&b, "\ntools.%s: nothing besides tools any more", e.Namespace)
		default:
			fmt.Fprintf(&b, "\ntools.%s%s", e.Namespace, strings.Replace(e.Also, "; ", ": now also ", 1))
		}
		changes(&b, e, was.List)
	}
	for _, e := range before {
		if _, gone := old[e.Server]; gone {
			fmt.Fprintf(&b, "\ngone: tools.%s", e.Namespace)
		}
	}
	if b.Len() == 0 {
		return "No tool has changed.\n"
	}
	return "Tools changed (+ new, ~ changed, - gone):" + b.String() + "\n"
}

// changes tells of the tools of one server.
func changes(b *strings.Builder, e Entry, was *List) {
	if e.List == nil {
		return
	}
	for _, t := range e.List.Tools {
		former := was.Named(t.Name)
		switch {
		case former == nil:
			fmt.Fprintf(b, "\n+ tools.%s.%s", e.Namespace, t.Short())
		case former.Fingerprint != t.Fingerprint:
			fmt.Fprintf(b, "\n~ tools.%s.%s // changed: %s", e.Namespace, t.Short(), difference(former, t))
		}
	}
	if was == nil {
		return
	}
	for _, t := range was.Tools {
		if e.List.Named(t.Name) == nil {
			fmt.Fprintf(b, "\n- tools.%s.%s", e.Namespace, t.Ident)
		}
	}
}
