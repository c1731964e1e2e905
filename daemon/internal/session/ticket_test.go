package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/session"
	"tenon/proto"
)

func TestTicketsSurviveARestartAndEndedOnesStayRefused(t *testing.T) {
	w := newWorld(t)
	b := w.bridge("b1", 1)
	_, live := w.attach(b, proto.Attach{Session: "S"})
	_, dead := w.attach(b, proto.Attach{Session: "D"})
	w.pass(time.Second)
	if err := w.End("D", "test"); err != nil {
		t.Fatal(err)
	}
	w.restart()
	k, err := w.Verify(live)
	if err != nil || k.ID != "S" {
		t.Fatalf("%+v, %v", k, err)
	}
	if s, err := w.FromTicket(k, "/d", nil); err != nil || s.ID != "S" || s.State() != session.Provisional {
		t.Fatalf("%v", err)
	}
	if _, err := w.Verify(dead); fault.KindOf(err) != fault.Unauthorized {
		t.Fatalf("an ended session's ticket after a restart: %v", err)
	}
	w.pass(time.Second)
	b = w.bridge("b1", 1)
	_, fresh := w.attach(b, proto.Attach{Session: "D"})
	if _, err := w.Verify(fresh); err != nil {
		t.Fatalf("attached anew: %v", err)
	}
	if _, err := w.Verify(dead); err == nil {
		t.Fatal("the old ticket is back")
	}
}

func TestForgedAndExpiredTicketsAreRefused(t *testing.T) {
	w := newWorld(t)
	ticket := w.Issue(session.SessionTicket, "S", 0)
	for n := range len(ticket) {
		c := byte('A')
		if ticket[n] == c {
			c = 'B'
		}
		forged := ticket[:n] + string(c) + ticket[n+1:]
		if k, err := w.Verify(forged); err == nil {
			t.Fatalf("changed at %d: %+v", n, k)
		}
	}
	for _, bad := range []string{"", ".", "tn1", strings.Repeat("x", 100_000), ticket + ".", "tn1.session.UQ...."} {
		if _, err := w.Verify(bad); fault.KindOf(err) != fault.Unauthorized {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	run, err := w.Verify(w.IssueRun("S", "r1", time.Minute))
	if err != nil || run.Run != "r1" || run.Kind != session.RunTicket {
		t.Errorf("%+v, %v", run, err)
	}
	w.SetLimits(0, 0, time.Hour) // a changed configuration, for tickets from now on
	short := w.Issue(session.SessionTicket, "S", 0)
	w.pass(time.Hour)
	if _, err := w.Verify(short); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("after the new limit: %v", err)
	}
	if _, err := w.Verify(ticket); err != nil {
		t.Errorf("made before the change: %v", err)
	}
	w.pass(session.DefaultTicketTTL)
	if _, err := w.Verify(ticket); fault.KindOf(err) != fault.Unauthorized || !strings.Contains(err.Error(), "expired") {
		t.Errorf("expired: %v", err)
	}
}

func TestTheKeyIsPrivateAndADoubtfulOneIsReplaced(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.dir, "tickets.key")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	ticket := w.Issue(session.SessionTicket, "S", 0)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if _, err := w.Verify(ticket); err == nil {
		t.Error("a key that others could read is still believed")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func FuzzVerifyNeverPanicsAndBelievesNothing(f *testing.F) {
	m, err := session.New(session.Options{RuntimeDir: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(m.Close)
	good := m.Issue(session.SessionTicket, "S", 0)
	f.Add("tn1.session.Uw..a.b.c")
	f.Add(good[:len(good)-2])
	f.Fuzz(func(t *testing.T, text string) {
		if k, err := m.Verify(text); err == nil && !strings.HasPrefix(text, good[:strings.LastIndexByte(good, '.')]) {
			t.Errorf("believed %q: %+v", text, k)
		}
	})
}
