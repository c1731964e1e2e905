package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tenon/daemon/internal/local"
	"tenon/proto"
)

// A service manager that starts the daemon while one of a command's serves would
// otherwise see it fail, again and again, until it gives up.
func TestASupervisedDaemonWaitsForTheOneThatServes(t *testing.T) {
	first := start(t, nil)
	second := first.options
	second.Supervised, second.Signals = true, make(chan os.Signal, 1)
	ready := make(chan error, 1)
	second.Ready = func(err error) { ready <- err }
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, second) }()
	if _, err := first.client("").Stop(ctx, proto.StopRequest{WhenIdle: true}); err != nil { // as tenon daemon run --supervised asks
		t.Fatal(err)
	}
	first.gone()
	select {
	case err := <-ready:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("it does not take over")
	}
	if _, err := first.client("").Call(ctx, proto.CallRequest{Server: "fake", Tool: "pid"}, nil); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestASupervisedDaemonThatWaitsCanBeStopped(t *testing.T) {
	first := start(t, nil)
	second := first.options
	signals := make(chan os.Signal, 1)
	second.Supervised, second.Signals, second.Ready = true, signals, nil
	signals <- syscall.SIGTERM
	if err := Run(context.Background(), second); err != nil {
		t.Error(err)
	}
	first.here()
}

// Idle or not, it stays; and it ends with ErrAgain only where the newer build
// stands in its own executable's place.
func TestASupervisedDaemonGivesWayToTheBuildInItsPlace(t *testing.T) {
	for _, replace := range []bool{true, false} {
		program := filepath.Join(t.TempDir(), "tenon")
		if err := os.WriteFile(program, []byte("old"), 0o700); err != nil {
			t.Fatal(err)
		}
		r := start(t, map[string]any{"daemon": map[string]any{"idleExit": "1ms"}}, func(o *Options) { o.Supervised, o.Executable = true, program })
		if replace {
			if err := os.Remove(program); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(program, []byte("new"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		newer := local.OwnStamp()
		newer.ID, newer.Time = "other", newer.Time+1
		if err := get(r.client(""), newer); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-r.ended:
			r.ended <- nil
			if errors.Is(err, ErrAgain) != replace {
				t.Errorf("replaced %v: %v", replace, err)
			}
		case <-time.After(patience):
			t.Fatal("it does not give way")
		}
	}
}
