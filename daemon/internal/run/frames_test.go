package run

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

func TestFramesAreReplayedInOrder(t *testing.T) {
	r := newRig(t)
	r.path.call = func(_ context.Context, c call.Request) (*call.Result, error) {
		c.OnProgress(upstream.Progress{Progress: 1, Total: 2, Message: "half"})
		c.OnAsk(proto.Ask{ID: "ask_1"})
		return &call.Result{Value: json.RawMessage(`1`), Artifacts: []proto.Artifact{{ID: "art_1"}}}, nil
	}
	var live []proto.Frame
	r.run = func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		h.Log(engine.LogRecord{Level: "info", Message: "hi"})
		h.Emit([]byte(`{"n":1}`))
		if _, err := h.Call(ctx, "fake", "echo", []byte(`{"text":"x"}`), engine.CallOptions{}); err != nil {
			t.Error(err)
		}
		return &engine.Outcome{Err: fault.New(fault.ScriptError, "boom")}
	}
	spec := r.spec(proto.ExecRequest{})
	spec.OnFrame = func(f proto.Frame) { live = append(live, f) }
	one, err := r.m.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	one.Wait()
	var types []string
	for i, f := range frames(t, one) {
		types = append(types, f.Type)
		if f.Seq != int64(i) || f.Run != one.ID {
			t.Errorf("frame %d: %+v", i, f)
		}
		if live[i].Type != f.Type || string(live[i].Data) != string(f.Data) {
			t.Errorf("live frame %d differs: %+v, %+v", i, live[i], f)
		}
	}
	if got := strings.Join(types, " "); got != "start log emit call progress ask call artifact error result end" {
		t.Errorf("frames: %s", got)
	}
}

func TestASlowReaderMissesFramesAndIsTold(t *testing.T) {
	s := &stream{run: "run_1"}
	for i := range keptFrames + 10 {
		s.add("log", proto.Log{Message: "x"}, i%7)
	}
	s.add("end", nil, 0)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var n int
	var last proto.Frame
	for f := range s.read(ctx) {
		n++
		last = f
	}
	if n != keptFrames || last.Type != "end" || string(last.Data) != `{"dropped":11}` {
		t.Errorf("%d frames, last %+v", n, last)
	}
	s.add("log", nil, 0) // after the end nothing comes any more
	if len(s.events) != keptFrames {
		t.Error("a frame after the end")
	}
}
