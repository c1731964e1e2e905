package embedded

import (
	"fmt"
	"maps"
	"slices"
)

// rejections are the promises that were rejected and that nobody handles.
type rejections struct {
	byPromise map[int32]rejection // by address in the realm
	gone      []rejection         // whose address another promise has by now
	order     int
	more      int // beyond maxRejections
}

type rejection struct {
	order  int
	reason string
}

const maxRejections = 20

func (r *run) rejected(promise int32, reason string, handled bool) {
	r.unhandled.note(promise, reason, handled)
}

func (x *rejections) note(promise int32, reason string, handled bool) {
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
		x.byPromise = map[int32]rejection{}
	}
	x.order++
	x.byPromise[promise] = rejection{x.order, clip(valid(reason), 500)}
}

// list gives the reasons, oldest first.
func (x *rejections) list() []string {
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
