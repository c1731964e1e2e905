package guest

import (
	"fmt"
	"maps"
	"slices"
)

// Rejections are the promises that were rejected and that nobody handles.
type Rejections struct {
	byPromise map[int64]rejection // by what names a promise while it lives
	gone      []rejection         // whose address another promise has by now
	order     int
	more      int // beyond maxRejections
}

type rejection struct {
	order  int
	reason string
}

const maxRejections = 20

// Note hears of a promise that nobody handles, and of one that somebody handles
// after all.
func (x *Rejections) Note(promise int64, reason string, handled bool) {
	if handled {
		delete(x.byPromise, promise)
		return
	}
	if old, ok := x.byPromise[promise]; ok { // it was freed: nobody can handle it any more
		x.gone = append(x.gone, old)
		delete(x.byPromise, promise)
	}
	if len(x.byPromise)+len(x.gone) >= maxRejections {
		x.more++
		return
	}
	if x.byPromise == nil {
		x.byPromise = map[int64]rejection{}
	}
	x.order++
	x.byPromise[promise] = rejection{x.order, Clip(Valid(reason), 500)}
}

// List gives the reasons, oldest first.
func (x *Rejections) List() []string {
	all := append(slices.Collect(maps.Values(x.byPromise)), x.gone...)
	slices.SortFunc(all, func(a, b rejection) int { return a.order - b.order })
	var out []string
	for _, r := range all {
		out = append(out, r.reason)
	}
	if x.more > 0 {
		out = append(out, fmt.Sprintf("… and %d more", x.more))
	}
	return out
}
