package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

const (
	maxRepairs   = 3           // that a tool's row names
	repairWithin = 10 * 60_000 // ms after which a call has nothing to do with the refused one
	maxNamed     = 12          // names in one repair; more are just other arguments
)

// repairs finds what followed arguments that were refused and worked: the next
// call of the same tool in the same session. The calls are one tool's, oldest
// first.
func repairs(calls []kept) []proto.Repair {
	refused := map[string]*kept{} // by session
	counts := map[string]int{}
	for i := range calls {
		k := &calls[i]
		switch before := refused[k.session]; {
		case k.kind == string(fault.InvalidToolInput):
			if before == nil { // what it was mended from is the first of several tries
				refused[k.session] = k
			}
		case before != nil:
			delete(refused, k.session)
			if k.status != "ok" || k.started-before.started > repairWithin {
				continue
			}
			if change := difference(before.input, k.input); change != "" {
				counts[change]++
			}
		}
	}
	out := make([]proto.Repair, 0, len(counts))
	for change, n := range counts {
		out = append(out, proto.Repair{Change: change, Count: n})
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Count > out[j].Count || out[i].Count == out[j].Count && out[i].Change < out[j].Change
	})
	if len(out) == 0 {
		return nil
	}
	return out[:min(len(out), maxRepairs)]
}

// difference says in words how two objects differ in names and kinds of their
// members; values are never told. Empty: it cannot be said.
func difference(before, after string) string {
	var a, b map[string]any
	if json.Unmarshal([]byte(after), &b) != nil {
		return ""
	}
	if json.Unmarshal([]byte(before), &a) != nil {
		return "an object of arguments"
	}
	var gone, fresh, changes []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		now, there := b[name]
		switch was := a[name]; {
		case !there:
			gone = append(gone, name)
		case kindOf(was) != kindOf(now):
			changes = append(changes, fmt.Sprintf("%s is %s, was %s", name, kindOf(now), kindOf(was)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, there := a[name]; !there {
			fresh = append(fresh, name)
		}
	}
	switch {
	case len(gone) == 1 && len(fresh) == 1:
		changes = append(changes, fmt.Sprintf("%s is %s", gone[0], fresh[0]))
	default:
		if len(gone) > 0 {
			changes = append(changes, "without "+strings.Join(gone, ", "))
		}
		if len(fresh) > 0 {
			changes = append(changes, "with "+strings.Join(fresh, ", "))
		}
	}
	switch {
	case len(changes) == 0:
		return "other values"
	case len(gone)+len(fresh)+len(changes) > maxNamed:
		return "other arguments"
	}
	return strings.Join(changes, "; ")
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}
