package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/proto"
)

// Nobody but Stop itself may close the gate here: there is no loop that would a
// moment later.
func TestAStopThatIsAnsweredTakesNoNewWork(t *testing.T) {
	r := start(t, nil)
	r.cancel()
	r.gone()
	o := r.options
	o.secrets, o.level = &history.Redactor{}, &slog.LevelVar{}
	d, err := open(context.Background(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close(context.Background())
	if _, err := (life{d}).Stop(context.Background(), proto.StopRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.gate.Enter(); fault.KindOf(err) != fault.DaemonUnavailable {
		t.Errorf("after the answer: %v", err)
	}
}

// A second daemon serves there before long, with the same servers.
func TestADaemonWhoseSocketIsGoneEnds(t *testing.T) {
	for _, supervised := range []bool{false, true} {
		for name, remove := range map[string]func(*running) error{
			"socket":    func(r *running) error { return os.Remove(r.paths.Socket) },
			"directory": func(r *running) error { return os.RemoveAll(r.paths.Runtime) },
			"replaced": func(r *running) error {
				if err := os.Remove(r.paths.Socket); err != nil {
					return err
				}
				return os.WriteFile(r.paths.Socket, []byte("other"), 0o600)
			},
		} {
			t.Run(fmt.Sprintf("%s, supervised %v", name, supervised), func(t *testing.T) {
				t.Parallel() // each waits until its daemon looks
				r := start(t, map[string]any{"daemon": map[string]any{"idleExit": "40s"}}, func(o *Options) { o.Supervised = supervised })
				r.exec("named", `await fake.pid()`) // a session that alone would keep it
				if err := remove(r); err != nil {
					t.Fatal(err)
				}
				err := <-r.ended
				r.ended <- nil
				if errors.Is(err, ErrAgain) != supervised || err != nil && !supervised {
					t.Errorf("supervised %v: %v", supervised, err)
				}
				if name == "replaced" {
					if err := os.Remove(r.paths.Socket); err != nil {
						t.Errorf("another's file is gone: %v", err)
					}
				}
				r.options.Supervised = false
				r.again()
				r.exec("named", `await fake.pid()`)
			})
		}
	}
}
