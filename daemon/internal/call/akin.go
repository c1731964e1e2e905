package call

import (
	"sync"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
)

// maxAkin bounds what akin remembers; beyond, it starts anew.
const maxAkin = 256

// akin remembers the newest list of each server as it is written. One whose
// definition names the session or its directory has a list for each of them;
// where that is not known yet, the same server's elsewhere tells a reader what
// to expect, so that a browser need not be started to name its tools. A call
// asks the instance itself.
type akin struct {
	mu    sync.Mutex
	lists map[string]*catalog.List // by the definition's template
}

// of is the list, which it remembers; one that is akin where there is none.
func (a *akin) of(def *config.Definition, list *catalog.List) *catalog.List {
	if def.Template == "" {
		return list
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if list == nil {
		return a.lists[def.Template]
	}
	if a.lists == nil || len(a.lists) >= maxAkin {
		a.lists = map[string]*catalog.List{}
	}
	a.lists[def.Template] = list
	return list
}
