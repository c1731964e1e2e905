package api

import (
	"context"
	"testing"
	"time"
)

func TestAnIdleGateClosesAndABusyOneDoesNot(t *testing.T) {
	g := NewGate()
	leave, err := g.Enter()
	if err != nil {
		t.Fatal(err)
	}
	if g.TryClose(func(time.Duration) bool { return true }) {
		t.Error("closed with somebody inside")
	}
	leave()
	leave() // counts once
	if g.Inside() != 0 {
		t.Errorf("%d inside", g.Inside())
	}
	if g.TryClose(func(time.Duration) bool { return false }) {
		t.Error("closed although there was a reason not to")
	}
	if !g.TryClose(func(time.Duration) bool { return true }) {
		t.Error("did not close")
	}
	if _, err := g.Enter(); err == nil {
		t.Error("entered a closed gate")
	}
}

func TestWaitEndsWithTheLastWork(t *testing.T) {
	g := NewGate()
	leave, err := g.Enter()
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if g.Wait(short) == nil {
		t.Error("did not wait")
	}
	leave()
	if err := g.Wait(context.Background()); err != nil {
		t.Error(err)
	}
}
