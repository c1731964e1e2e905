package call

import (
	"context"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
)

func TestAToolThatIsNotListedYetIsLookedForAgain(t *testing.T) {
	r := newRig(t)
	r.mustCall("echo", `{"text":"x"}`)
	r.shelf.hidden = []upstream.Tool{{Name: "extra"}}
	r.mustCall("extra", `{}`)
}

// A list that is refused is no proof that the tool is not there.
func TestAToolOfAServerWithoutAUsableListFailsWithTheReason(t *testing.T) {
	r := newRig(t)
	r.shelf.set()
	r.shelf.refused = fault.New(fault.ServerUnavailable, "its list is refused")
	_, err := r.call("echo", `{"text":"x"}`)
	if err == nil || err.Kind != fault.ServerUnavailable || !strings.Contains(err.Message, "refused") || err.Tool != "echo" {
		t.Errorf("%+v", err)
	}
	if r.conn.calls.Load() != 0 {
		t.Error("nothing may be called")
	}
}

func TestInputIsCheckedAlsoWhenTheListComesWithTheFirstInstance(t *testing.T) {
	r := newRig(t)
	_, err := r.call("echo", `{"text":5}`)
	if err == nil || err.Kind != fault.InvalidToolInput || r.conn.calls.Load() != 0 {
		t.Errorf("%+v, %d calls", err, r.conn.calls.Load())
	}
}

func TestAToolThatNeverStopsChangingIsNotCalled(t *testing.T) {
	r := newRig(t)
	n := 0
	r.shelf.onTake = func() {
		n++
		r.shelf.set(upstream.Tool{Name: "echo", Description: strings.Repeat("x", n)})
	}
	_, err := r.call("echo", `{}`)
	if err == nil || err.Kind != fault.ServerUnavailable || r.conn.calls.Load() != 0 {
		t.Errorf("%+v after %d looks", err, n)
	}
}

// What a call waits for a list of tools is on a clock, like its wait for the
// instance.
func TestWaitingForAListOfToolsCounts(t *testing.T) {
	r := newRig(t)
	r.shelf.onTools = func() { <-time.After(30 * time.Millisecond) }
	res, err := r.path.Call(context.Background(), r.request("echo", `{"text":"x"}`))
	if err != nil || res.Times.Queue < 30*time.Millisecond {
		t.Errorf("%v, %+v", err, res)
	}
}
