package pool

import (
	"fmt"
	"testing"

	"tenon/daemon/internal/upstream"
)

func TestNewsIsBoundedAndToldOnceUntilItWasRead(t *testing.T) {
	var n notices
	i := &Instance{}
	n.send(News{Instance: i, Notice: upstream.Notice{Method: upstream.NoticePromptsChanged}}) // nobody listens yet
	out := n.open()
	for range 10_000 {
		n.send(News{Instance: i, Notice: upstream.Notice{Method: upstream.NoticeResourcesChanged}})
	}
	for k := range 3 * maxNews {
		n.send(News{Instance: i, Notice: upstream.Notice{Method: upstream.NoticeResourceUpdated, Params: fmt.Appendf(nil, `{"uri":"u://%d"}`, k%10)}})
		n.send(News{Instance: i, Notice: upstream.Notice{Method: upstream.NoticeLog}})
	}
	n.mu.Lock()
	if len(n.pending) > maxLogNews+12 || n.logs > maxLogNews {
		t.Errorf("%d wait, %d of them logs", len(n.pending), n.logs)
	}
	n.mu.Unlock()
	changes, updates, logs := 0, 0, 0
	for range 11 + maxLogNews - 2 {
		switch w := <-out; w.Method {
		case upstream.NoticeResourcesChanged:
			changes++
		case upstream.NoticeResourceUpdated:
			updates++
		case upstream.NoticeLog:
			logs++
		}
	}
	if changes < 1 || changes > 2 || updates < 10 || logs == 0 {
		t.Errorf("%d changes, %d updates, %d logs", changes, updates, logs)
	}
	n.send(News{Instance: i, Notice: upstream.Notice{Method: upstream.NoticePromptsChanged}}) // read: it counts again
	n.close()
	n.close()
	for range out { // what is left, until it ends
	}
	n.send(News{Instance: i})
}
