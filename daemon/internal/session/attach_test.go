package session_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

func TestAttachIsIdempotentAndAttachesTheTree(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	parent, _ := w.attach(b, proto.Attach{Session: "P", Directory: "/d", Env: map[string]string{"A": "1"}})
	again, ticket := w.attach(b, proto.Attach{Session: "P", Directory: "/d", Env: map[string]string{"A": "2"}})
	if parent != again || len(again.Bridges()) != 1 {
		t.Error("attached twice")
	}
	if parent.Env()["A"] != "1" {
		t.Error("the environment is pinned at the first attach")
	}
	if k, err := w.Verify(ticket); err != nil || k.ID != "P" || k.Kind != session.SessionTicket {
		t.Errorf("ticket %+v, %v", k, err)
	}
	child, _ := w.attach(b, proto.Attach{Session: "C", Parent: "P", Directory: "/d/sub"})
	grandchild, _ := w.attach(b, proto.Attach{Session: "G", Parent: "C"})
	if child.Root() != "P" || grandchild.Root() != "P" || child.Dir() != "/d/sub" {
		t.Errorf("roots %s, %s; dir %s", child.Root(), grandchild.Root(), child.Dir())
	}
	if !parent.Contains("G") || child.Contains("P") {
		t.Error("Contains looks down only")
	}
	if child.Env()["PATH"] != "/host/bin" {
		t.Error("without one of its own, a session has its host's environment")
	}
}

func TestAnUnknownParentIsAskedFor(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	b.known["P"] = proto.Resolved{Known: true, Session: "P", Parent: "R", Directory: "/p"}
	b.known["R"] = proto.Resolved{Known: true, Session: "R", Directory: "/r"}
	c, _ := w.attach(b, proto.Attach{Session: "C", Parent: "P"})
	if c.Root() != "R" {
		t.Errorf("root %s", c.Root())
	}
	if p, ok := w.Get("P"); !ok || p.State() != session.Attached || p.Dir() != "/p" {
		t.Error("the parent is not there")
	}
}

func TestAParentLearntLateChangesTheRootAndIsShown(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	c, _ := w.attach(b, proto.Attach{Session: "C"})
	if c.Root() != "C" {
		t.Fatal(c.Root())
	}
	w.attach(b, proto.Attach{Session: "P"})
	w.attach(b, proto.Attach{Session: "C", Parent: "P"})
	if c.Root() != "P" || !strings.Contains(c.Info().Note, "late") {
		t.Errorf("root %s, note %q", c.Root(), c.Info().Note)
	}
}

func TestACircleOfParentsIsRefused(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	w.attach(b, proto.Attach{Session: "A", Parent: "A"})
	w.attach(b, proto.Attach{Session: "B", Parent: "A"})
	a, _ := w.attach(b, proto.Attach{Session: "A", Parent: "B"})
	if a.Parent() != "" {
		t.Errorf("A is below its own child %s", a.Parent())
	}
}

func TestAProvisionalSessionIsResolvedOnceForAll(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	b.known["C"] = proto.Resolved{Known: true, Session: "C", Parent: "P", Directory: "/c", Agent: "build", Rules: &proto.RuleList{Confirmed: true}}
	b.known["P"] = proto.Resolved{Known: true, Session: "P"}
	s, err := w.Provisional("C", "opencode-v1", "")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := w.Ensure(context.Background(), s); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s.State() != session.Attached || s.Root() != "P" || s.Dir() != "/c" || s.Agent() != "build" || s.Rules() == nil {
		t.Errorf("%+v", s.Info())
	}
	if told := w.attachments(); !slices.Equal(told, []string{"C"}) {
		t.Errorf("told of %q", told)
	}
	if b.questions() != 2 {
		t.Errorf("%d questions, want one for it and one for its parent", b.questions())
	}
}

func TestAProvisionalSessionThatNoHostConfirmsFailsClosed(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	silent := w.bridge("b2", 2)
	silent.silent = true
	s, err := w.Provisional("X", "", "")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = w.Ensure(context.Background(), s)
	if fault.KindOf(err) != fault.PermissionDenied {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{`"X"`, "process 1", "does not know it", "process 2", "did not answer"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err.Error(), want)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
	b.known["X"] = proto.Resolved{Known: true, Session: "X"}
	if err := w.Ensure(context.Background(), s); err != nil {
		t.Errorf("asked again: %v", err)
	}
}

func TestWithoutABridgeAProvisionalSessionIsItsOwnRoot(t *testing.T) {
	w := newWorld(t)
	s, err := w.Provisional("X", "opencode-v1", "/d")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Ensure(context.Background(), s); err != nil || s.Root() != "X" {
		t.Errorf("root %s, %v", s.Root(), err)
	}
}

func TestASessionOfALivingProcessIsTakenOverOnlyWithItsTicket(t *testing.T) {
	w := newWorld(t)
	mine, other := w.bridge("b1", 1), w.bridge("b2", 2)
	_, ticket := w.attach(mine, proto.Attach{Session: "S", Env: map[string]string{"A": "1"}})
	try := func(ticket string) error {
		_, _, err := w.AttachWithTicket(context.Background(), other, proto.Attach{Session: "S", Env: map[string]string{"A": "2"}}, ticket)
		return err
	}
	if err := try(""); fault.KindOf(err) != fault.PermissionDenied || !strings.Contains(err.Error(), "process 1") {
		t.Fatalf("with the bridge up: %v", err)
	}
	if err := w.SetRules(other, "S", proto.RuleList{}); fault.KindOf(err) != fault.PermissionDenied {
		t.Fatalf("rules: %v", err)
	}
	if err := w.Detach(other, proto.Detach{Session: "S", Deleted: true}); fault.KindOf(err) != fault.PermissionDenied {
		t.Fatalf("detach: %v", err)
	}
	w.RemoveBridge(mine, "connection lost")
	if err := try(""); fault.KindOf(err) != fault.PermissionDenied {
		t.Fatalf("in the grace of a living process: %v", err)
	}
	if err := try(ticket + "x"); fault.KindOf(err) != fault.PermissionDenied {
		t.Fatalf("with a forged ticket: %v", err)
	}
	if err := try(ticket); err != nil {
		t.Fatalf("with the ticket: %v", err)
	}
	if s, _ := w.Get("S"); s.Env()["A"] != "2" {
		t.Error("the environment is pinned anew by the new owner")
	}
}

func TestASessionOfADeadProcessMayBeContinuedByAnother(t *testing.T) {
	w := newWorld(t)
	mine := w.bridge("b1", 1)
	w.attach(mine, proto.Attach{Session: "S"})
	w.RemoveBridge(mine, "connection lost")
	w.exits(1)
	w.attach(w.bridge("b2", 2), proto.Attach{Session: "S"})
}

func TestABridgeThatIsNotRegisteredAttachesNothing(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	w.RemoveBridge(b, "closed")
	if _, _, err := w.Attach(context.Background(), b, proto.Attach{Session: "S"}); fault.KindOf(err) != fault.PermissionDenied {
		t.Fatalf("got %v", err)
	}
}
