package pool

import (
	"encoding/json"
	"sync"

	"tenon/daemon/internal/upstream"
)

// News is something that a server says beside its answers.
type News struct {
	Instance *Instance
	upstream.Notice
}

// maxNews bounds what waits for a reader of Notices, and maxLogNews the log
// messages in it: a server that floods loses its own news.
const (
	maxNews    = 4096
	maxLogNews = 1024
)

// Notices subscribes to what servers say beside their answers; there is one
// subscription. The channel is closed by Close. The pool never waits for its
// reader: that a list or a resource changed is told once until it was read, and
// what is beyond the bound is dropped.
func (p *Pool) Notices() <-chan News { return p.notices.open() }

// notices is the queue behind Notices.
type notices struct {
	mu      sync.Mutex
	out     chan News     // guarded by mu; nil: nobody listens
	stop    chan struct{} // closed by close
	wake    chan struct{}
	closed  bool             // guarded by mu
	pending []News           // guarded by mu
	waiting map[newsKey]bool // guarded by mu: what of pending needs to be told once only
	logs    int              // guarded by mu: log messages in pending
}

// newsKey is what two pieces of news that say the same share.
type newsKey struct {
	instance    *Instance
	method, uri string
}

func (n *notices) open() <-chan News {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.out != nil {
		return n.out
	}
	n.out, n.stop, n.wake = make(chan News), make(chan struct{}), make(chan struct{}, 1)
	n.waiting = map[newsKey]bool{}
	if n.closed {
		close(n.out)
		return n.out
	}
	go n.deliver()
	return n.out
}

// key is false for log messages, each of which counts.
func (w News) key() (newsKey, bool) {
	k := newsKey{instance: w.Instance, method: w.Method}
	switch w.Method {
	case upstream.NoticeLog:
		return k, false
	case upstream.NoticeResourceUpdated:
		var p struct {
			URI string `json:"uri"`
		}
		_ = json.Unmarshal(w.Params, &p) // without one it is news of no resource
		k.uri = p.URI
	}
	return k, true
}

func (n *notices) send(w News) {
	k, once := w.key()
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.out == nil || n.closed:
		return
	case once && n.waiting[k]:
		return
	case len(n.pending) >= maxNews || !once && n.logs >= maxLogNews:
		return
	case once:
		n.waiting[k] = true
	default:
		n.logs++
	}
	n.pending = append(n.pending, w)
	select {
	case n.wake <- struct{}{}:
	default: // a wake-up is already on its way
	}
}

// next takes the oldest.
func (n *notices) next() (w News, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.pending) == 0 {
		return w, false
	}
	w = n.pending[0]
	n.pending[0] = News{}
	n.pending = n.pending[1:]
	if k, once := w.key(); once {
		delete(n.waiting, k)
	} else {
		n.logs--
	}
	return w, true
}

// deliver passes news on in order until close.
func (n *notices) deliver() {
	defer close(n.out)
	for {
		w, some := n.next()
		if !some {
			select {
			case <-n.wake:
			case <-n.stop:
				return
			}
			continue
		}
		select {
		case n.out <- w:
		case <-n.stop:
			return
		}
	}
}

func (n *notices) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.closed = true
	if n.stop != nil {
		close(n.stop)
	}
}
