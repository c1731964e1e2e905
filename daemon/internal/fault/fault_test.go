package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tenon/proto"
)

func TestAFailureCrossesTheWireWithoutItsCause(t *testing.T) {
	for _, kind := range Kinds() {
		e := New(kind, "reading %s: %w", "a", errors.New("secret cause")).WithHint("do %s", "b").At("fake", "read")
		e.Message, e.Pointer, e.Feedback, e.Position = "reading a", "/a", "no", &Position{Line: 2, Column: 3}
		e.Content, e.Data = []byte(`[1]`), []byte(`{"fate":"unknown"}`)
		back := FromWire(e.Wire())
		if back.Kind != kind || back.Message != "reading a" || back.Hint != "do b" || back.Server != "fake" || back.Tool != "read" || back.Pointer != "/a" ||
			back.Feedback != "no" || *back.Position != *e.Position || string(back.Content) != `[1]` || string(back.Data) != `{"fate":"unknown"}` || back.Unwrap() != nil {
			t.Errorf("%s: %+v", kind, back)
		}
		problem := e.Problem()
		if problem.Type != kind.Page() || problem.Status != kind.HTTPStatus() || problem.Kind != string(kind) {
			t.Errorf("%s: %+v", kind, problem)
		}
	}
}

func TestWhatIsNoJSONDoesNotSpoilAnAnswer(t *testing.T) {
	e := New(ToolFailure, "x")
	e.Content, e.Data = []byte(`[1`), []byte(`{`)
	if w := e.Wire(); w.Content != nil || w.Data != nil {
		t.Errorf("%+v", w)
	}
	if (*Error)(nil).Wire() != nil || FromWire(nil) != nil {
		t.Error("no failure is none on either side")
	}
}

func TestKindsBeyondTheListAreInternal(t *testing.T) {
	e := FromWire(&proto.Error{Kind: "Strange", Message: "m"})
	if e.Kind != InternalError || !strings.Contains(e.Message, "Strange") {
		t.Errorf("%+v", e)
	}
	for err, want := range map[error]Kind{
		errors.New("private"): InternalError, context.Canceled: Cancelled, fmt.Errorf("x: %w", context.DeadlineExceeded): TimeoutExceeded,
		fmt.Errorf("x: %w", New(NotFound, "none")): NotFound,
	} {
		if got := From(err); got.Kind != want || got.Message == "private" {
			t.Errorf("%v: %+v, want %s", err, got, want)
		}
	}
	if From(nil) != nil || KindOf(nil) != "" || Kind("Strange").Valid() || Kind("Strange").ExitCode() != 1 {
		t.Error("nothing is no failure, and what is not listed has no numbers of its own")
	}
}
