package upstream

import (
	"bytes"
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
	in, err := newInbox(r)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
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
	in.close()
	if _, err := in.within(b, time.Minute); err == nil {
		t.Error("reads what is closed")
	}
}

// Both ways to read see what is written, one after the other, and what ends the
// waiting of the poller's: the deadline, the closing.
func TestInboxIsReadInBothWays(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	in, err := newInbox(r)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
	for range 3 {
		for _, read := range []func([]byte) (int, error){in.Read, func(b []byte) (int, error) { return in.within(b, time.Minute) }} {
			go func() { _, _ = w.WriteString("there") }()
			if n, err := read(b); err != nil || string(b[:n]) != "there" {
				t.Fatalf("%q %v", b[:n], err)
			}
			in.leave()
		}
	}
	in.expire(time.Now().Add(10 * time.Millisecond))
	if _, err := in.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("at the deadline: %v", err)
	}
	in.expire(time.Time{})
	ended := make(chan error, 1)
	go func() {
		_, err := in.Read(b)
		ended <- err
	}()
	in.close()
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// A server that does not read holds up nobody; what is queued for it goes out as
// soon as it reads.
func TestOutboxKeepsWhatTheServerDoesNotReadYet(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, err := newOutbox(w)
	if err != nil {
		t.Fatal(err)
	}
	message := bytes.Repeat([]byte("m"), 100<<10)
	const times = 5
	for range times {
		if err := out.send(message); err != nil {
			t.Fatal(err)
		}
	}
	got, err := io.ReadAll(io.LimitReader(r, times*int64(len(message))))
	if err != nil || len(got) != times*len(message) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for range times {
		if err := out.send(message); err != nil {
			t.Fatal(err)
		}
	}
	_ = out.Close()
	out.wait()
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
