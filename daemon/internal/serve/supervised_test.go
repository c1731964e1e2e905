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
	second.GiveWay = func(ctx context.Context) {
		_, _ = first.client("").Stop(ctx, proto.StopRequest{WhenIdle: true}) // as tenon daemon run --supervised asks
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, second) }()
	begun := time.Now()
	first.gone()
	if took := time.Since(begun); took > lookEvery/2 { // an idle daemon's own looks are that far apart
		t.Errorf("one with nothing to lose ends %s after it was asked", took)
	}
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

// Between the end of one and the start of the other, a command may have started a
// third, which nobody has asked yet.
func TestASupervisedDaemonAsksWhoeverServes(t *testing.T) {
	paths, err := local.Resolve(func(name string) string {
		return map[string]string{"HOME": t.TempDir(), "TENON_RUNTIME_DIR": t.TempDir(), "TENON_STATE_DIR": t.TempDir()}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	held, err := paths.TakeLock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		lock, err := takeOver(context.Background(), &Options{Paths: paths, Start: startLock(paths), GiveWay: func(context.Context) { asked <- struct{}{} }})
		ended <- errors.Join(err, lock.Remove())
	}()
	for range 2 {
		select {
		case <-asked:
		case <-time.After(patience):
			t.Fatal("nobody is asked any more")
		}
	}
	if err := held.Remove(); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case <-asked:
			continue
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		}
		break
	}
}

// startLock is a right to start; its loss fails the test where it is used.
func startLock(paths local.Paths) *local.Lock {
	lock, _ := paths.TakeStart(context.Background())
	return lock
}

// A client and a service manager start daemons at the same time: whoever comes second
// on behalf of the client does not keep it waiting for the first to end.
func TestAStartedDaemonLeavesTheWorkToTheOneThatServes(t *testing.T) {
	first := start(t, nil)
	second := first.options
	ready := make(chan error, 1)
	second.Start, second.Ready, second.Served = startLock(second.Paths), func(err error) { ready <- err }, first.client("").Serving
	begun := time.Now()
	if err := Run(context.Background(), second); err != nil {
		t.Error(err)
	}
	if err := <-ready; err != nil {
		t.Errorf("the client is told that there is no daemon: %v", err)
	}
	if took := time.Since(begun); took > lockWait/2 {
		t.Errorf("it took %s", took)
	}
	if lock, err := second.Paths.TakeStart(context.Background()); err != nil || lock.Release() != nil {
		t.Errorf("nobody else may start one: %v", err)
	}
	first.here()
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
