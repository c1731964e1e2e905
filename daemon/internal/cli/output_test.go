package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"tenon/daemon/internal/fault"
)

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
func (f failing) Read([]byte) (int, error)  { return 0, f.err }

// Only a reader that has gone away is a cancel; a script must see a full disk
// as a failure.
func TestAResultThatCannotBeWrittenSaysWhy(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind fault.Kind
	}{
		{syscall.EPIPE, fault.Cancelled},
		{io.ErrClosedPipe, fault.Cancelled},
		{syscall.ENOSPC, fault.InternalError},
	} {
		a := &app{Options: Options{Out: failing{c.err}}}
		for name, err := range map[string]error{"write": a.write([]byte("x")), "copy": a.copyOut(strings.NewReader("x"))} {
			if fault.KindOf(err) != c.kind || !strings.Contains(fault.From(err).Message, c.err.Error()) {
				t.Errorf("%s, %v: got %v", name, c.err, err)
			}
		}
	}
	a := &app{Options: Options{Out: io.Discard}}
	if err := a.copyOut(failing{errors.New("reset")}); fault.KindOf(err) != fault.DaemonUnavailable {
		t.Errorf("a lost daemon: got %v", err)
	}
}

func TestAFeedbackIsShownOnce(t *testing.T) {
	for _, message := range []string{"fake/echo was refused by the user: use a copy", "fake/echo was refused by the user"} {
		var out bytes.Buffer
		a := &app{Options: Options{Err: &out}}
		a.fail(&fault.Error{Kind: fault.PermissionDenied, Message: message, Feedback: "use a copy"})
		if n := strings.Count(out.String(), "use a copy"); n != 1 {
			t.Errorf("%d times in %q", n, out.String())
		}
	}
}

func TestOneLongCellWidensNoTableWithoutBound(t *testing.T) {
	var out bytes.Buffer
	a := &app{Options: Options{Out: &out}}
	list := [][]string{{"RESOURCE", "NAME"}, {strings.Repeat("é", 100_000), "long"}}
	for range 100 {
		list = append(list, []string{"docs://short", "short"})
	}
	if err := a.table(list); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(out.String(), "\n"); out.Len() > 200*(maxCell+20) || !strings.Contains(lines[1], "é…  long") {
		t.Errorf("%d bytes: %.400s", out.Len(), lines[1])
	}
}
