package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestALostBridgeLeavesItsSessionsTheirGrace(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	s, _ := w.attach(b, proto.Attach{Session: "S", Rules: &proto.RuleList{Confirmed: true}})
	w.pass(time.Hour)
	if !w.lives("S") {
		t.Fatal("an attached session ended")
	}
	w.RemoveBridge(b, "connection lost")
	if s.Rules().Confirmed {
		t.Error("rules are confirmed by nobody now")
	}
	w.pass(session.DefaultGrace - time.Second)
	if !w.lives("S") {
		t.Fatal("ended within its grace")
	}
	reloaded := w.bridge("b2", 1)
	if again, _ := w.attach(reloaded, proto.Attach{Session: "S"}); again != s {
		t.Fatal("a hot reload made another session")
	}
	w.pass(time.Hour)
	w.RemoveBridge(reloaded, "connection lost")
	w.pass(session.DefaultGrace)
	if w.lives("S") {
		t.Fatal("it outlived its grace")
	}
	<-s.Ended()
}

func TestAReferredSessionOutlivesItsGrace(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	w.attach(b, proto.Attach{Session: "S"})
	release := w.Ref("S")
	w.RemoveBridge(b, "connection lost")
	w.pass(time.Hour)
	if !w.lives("S") || w.Referenced() != 1 {
		t.Fatal("a run refers to it")
	}
	release()
	release()
	w.pass(session.DefaultGrace)
	if w.lives("S") || w.Referenced() != 0 {
		t.Fatal("it outlived its grace")
	}
}

func TestAParentLivesWhileAChildDoes(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	w.attach(b, proto.Attach{Session: "P"})
	w.attach(b, proto.Attach{Session: "C", Parent: "P"})
	if err := w.Detach(b, proto.Detach{Session: "P"}); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Hour)
	if !w.lives("P") {
		t.Fatal("P ended before its child")
	}
	if err := w.Detach(b, proto.Detach{Session: "C"}); err != nil {
		t.Fatal(err)
	}
	if !w.lives("C") {
		t.Fatal("C has no grace")
	}
	w.pass(session.DefaultGrace)
	w.pass(session.DefaultGrace)
	if got := strings.Join(w.endings(), " "); got != "C P" {
		t.Errorf("ended: %s", got)
	}
}

func TestADeletedSessionEndsAtOnceWithItsChildren(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	w.attach(b, proto.Attach{Session: "P"})
	_, ticket := w.attach(b, proto.Attach{Session: "C", Parent: "P"})
	if err := w.Detach(b, proto.Detach{Session: "P", Deleted: true}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.endings(), " "); got != "C P" {
		t.Errorf("ended: %s", got)
	}
	if _, err := w.Verify(ticket); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("the ticket of an ended session: %v", err)
	}
	if err := w.Detach(b, proto.Detach{Session: "P", Deleted: true}); err != nil {
		t.Errorf("detaching twice: %v", err)
	}
}

func TestOddIDsAreRefused(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	for _, id := range []string{"", "a\nb", "a\x1b[31m", strings.Repeat("x", 300), "\xff"} {
		if _, _, err := w.Attach(context.Background(), b, proto.Attach{Session: id}); fault.KindOf(err) != fault.UsageError {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := w.Named("dir:abc", "", nil); fault.KindOf(err) != fault.UsageError {
		t.Errorf("a directory's id as a name: %v", err)
	}
}

func TestNamedSessionsLiveUntilIdleAndJoinAttachedOnes(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	attached, _ := w.attach(b, proto.Attach{Session: "S"})
	if s, err := w.Named("S", "/d", nil); err != nil || s != attached {
		t.Errorf("joining: %v", err)
	}
	named, err := w.Named("work", "/d", config.Env{"A": "1"})
	if err != nil || named.State() != session.Named || named.Dir() != "/d" {
		t.Fatalf("%+v, %v", named, err)
	}
	w.Ref("work")()
	w.pass(session.DefaultIdle - time.Second)
	w.Ref("work")()
	w.pass(session.DefaultIdle - time.Second)
	if !w.lives("work") {
		t.Fatal("it was used")
	}
	w.pass(time.Second)
	if w.lives("work") {
		t.Fatal("it outlived its idle limit")
	}
}

func TestEphemeralSessionsEndWithTheirCommandAndConnectionsAfterTheGrace(t *testing.T) {
	w := newWorld(t)
	cli, mcp := w.Ephemeral("cli", "/d", nil), w.Ephemeral("mcp", "/d", nil)
	if cli.ID == mcp.ID {
		t.Fatal("one id for two")
	}
	a, b, c := w.Ref(cli.ID), w.Ref(cli.ID), w.Ref(mcp.ID)
	a()
	c()
	if !w.lives(cli.ID) {
		t.Fatal("ended with a reference left")
	}
	b()
	if w.lives(cli.ID) || !w.lives(mcp.ID) {
		t.Fatal("a command ends at once, a connection after its grace")
	}
	w.pass(session.DefaultGrace)
	if w.lives(mcp.ID) {
		t.Fatal("it outlived its grace")
	}
}

func TestADirectorysTerminalsShareASessionAndItsTicketOutlivesIt(t *testing.T) {
	w := newWorld(t)
	s, ticket, err := w.Directory("/project", nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := w.Directory("/project", nil)
	if err != nil || again != s || s.State() != session.Directory || s.Info().Note == "" {
		t.Fatalf("%+v, %v", s.Info(), err)
	}
	w.pass(session.DefaultIdle)
	if w.lives(s.ID) {
		t.Fatal("it outlived its idle limit")
	}
	k, err := w.Verify(ticket)
	if err != nil || k.Kind != session.DirectoryTicket {
		t.Fatalf("%+v, %v", k, err)
	}
	if back, err := w.FromTicket(k, "/project", nil); err != nil || back.ID != s.ID || back.Dir() != "/project" {
		t.Fatalf("%v", err)
	}
}

func TestListShowsTreeAndEnds(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	w.attach(b, proto.Attach{Session: "P", Title: "work", Agent: "build"})
	w.pass(time.Second)
	w.attach(b, proto.Attach{Session: "C", Parent: "P"})
	if err := w.Detach(b, proto.Detach{Session: "C"}); err != nil {
		t.Fatal(err)
	}
	rows := w.List()
	if len(rows) != 2 || rows[0].ID != "P" || rows[0].Children[0] != "C" || rows[0].EndsAt != "" || rows[1].EndsAt == "" {
		t.Errorf("%+v", rows)
	}
}

func TestNoticesReachTheSessionsBridges(t *testing.T) {
	w := newWorld(t)
	b, other := w.bridge("b1", 1), w.bridge("b2", 2)
	w.attach(b, proto.Attach{Session: "S"})
	w.Notify(context.Background(), proto.Notice{Message: "one", Session: "S"})
	w.Notify(context.Background(), proto.Notice{Message: "all"})
	if got := fmt.Sprint(b.notices, other.notices); got != "[one all] [all]" {
		t.Error(got)
	}
}

func TestAHostThatNeverLetsGoDoesNotUseUpAllSessions(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	for n := range 4096 {
		w.attach(b, proto.Attach{Session: fmt.Sprint("S", n)})
	}
	if _, _, err := w.Attach(context.Background(), b, proto.Attach{Session: "more"}); fault.KindOf(err) != fault.ServerUnavailable {
		t.Fatalf("got %v", err)
	}
	release := w.Ref("S0")
	defer release()
	w.pass(session.DefaultIdle)
	w.attach(b, proto.Attach{Session: "more"})
	if !w.lives("S0") {
		t.Error("a session with a run was ended")
	}
}

func TestManyAtOnce(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for k := range 50 {
				b := &bridge{id: fmt.Sprintf("b%d-%d", n, k), pid: 1, host: "opencode-v1"}
				if _, err := w.AddBridge(b); err != nil {
					t.Error(err)
				}
				id := fmt.Sprintf("S%d", k%5)
				s, _, err := w.Attach(context.Background(), b, proto.Attach{Session: id, Parent: fmt.Sprintf("S%d", (k+1)%5)})
				if err == nil {
					release := w.Ref(id)
					_, _, _ = s.Root(), s.Info(), w.List()
					release()
				}
				w.Sweep()
				if k%10 == 0 {
					_ = w.End(id, "test") // another may have ended it
				}
				w.RemoveBridge(b, "test")
			}
		})
	}
	wg.Wait()
	w.pass(time.Hour)
	w.pass(time.Hour)
	for range 10 {
		w.pass(time.Hour) // a parent ends after its children
	}
	for _, s := range w.List() {
		t.Errorf("%s is left over", s.ID)
	}
	seen := map[string]int{}
	for _, id := range w.endings() {
		seen[id]++
	}
	if len(seen) == 0 {
		t.Error("nothing ever ended")
	}
}

func TestASessionThatIsUsedWhileOthersEndIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c"} {
		if _, err := w.Named(id, "/d", nil); err != nil {
			t.Fatal(err)
		}
	}
	var release func()
	w.OnEnd(func(id, _ string) { // whose turn it is first is not said
		if release == nil {
			release = w.Ref(map[string]string{"a": "b", "b": "c", "c": "a"}[id])
		}
	})
	w.pass(24 * time.Hour)
	if got := w.endings(); len(got) != 2 {
		t.Errorf("ended: %v; one was taken up again meanwhile", got)
	}
	release()
}
