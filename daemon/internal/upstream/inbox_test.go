package upstream

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"tenon/daemon/internal/fakeserver"
)

func TestInboxWaitsForAMoment(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in, b := newInbox(r), make([]byte, 8)
	if _, err := in.within(b, 5*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("nothing to read: %v", err)
	}
	go func() { _, _ = w.WriteString("there") }()
	if n, err := in.within(b, time.Minute); err != nil || string(b[:n]) != "there" {
		t.Errorf("%q %v", b[:n], err)
	}
	_ = w.Close()
	if _, err := in.within(b, time.Minute); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	_ = r.Close()
	if _, err := in.within(b, time.Minute); err == nil {
		t.Error("reads what is closed")
	}
}

func TestCallsAllocateNextToNothing(t *testing.T) {
	f := ours(t, fakeserver.TestCommand(t))
	if n := testing.AllocsPerRun(200, func() {
		if err := f(t.Context()); err != nil {
			t.Error(err)
		}
	}); n > 4 {
		t.Errorf("%v allocations for a call, 1 is the answer", n)
	}
}
