package client

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// A run may be silent for as long as it likes, unless the daemon is: one that is
// stopped does not answer on any connection.
func TestARunOfADaemonThatStopsIsNotWaitedForForEver(t *testing.T) {
	var stopped atomic.Bool
	var looked atomic.Int32
	end := make(chan struct{})
	c := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/health" {
			looked.Add(1)
			if stopped.Load() {
				select {
				case <-end:
				case <-r.Context().Done():
				}
				return
			}
			says(w, "1", "1.0.0")
			_, _ = w.Write([]byte("{}"))
			return
		}
		says(w, "1", "1.0.0")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for looked.Load() < 2 && !stopped.Load() {
			time.Sleep(time.Millisecond) // the interval of the poll
		}
		if !stopped.Load() {
			_, _ = w.Write([]byte(`{"type":"result","data":{"id":"run_1","ok":true}}` + "\n"))
			return
		}
		<-end
	})
	defer close(end)
	c.AnswerWait = 400 * time.Millisecond
	if res, err := c.Exec(context.Background(), proto.ExecRequest{}, nil); err != nil || res.ID != "run_1" {
		t.Fatalf("a silent run: %+v %v", res, err)
	}
	if looked.Load() < 2 {
		t.Errorf("looked %d times", looked.Load())
	}
	stopped.Store(true)
	_, err := c.Exec(context.Background(), proto.ExecRequest{}, nil)
	if fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(err.Error(), "does not answer") || fault.From(err).Hint == "" {
		t.Errorf("exec: %v", err)
	}
	if _, err = c.Call(context.Background(), proto.CallRequest{}, nil); fault.KindOf(err) != fault.DaemonUnavailable || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("call: %v", err)
	}
}
