package cli

import (
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestARunIsNamedByAUniqueBeginningOrAsTheLast(t *testing.T) {
	const older, newer, other = "run_019ad0aa-1111-7000-8000-000000000001", "run_019ad0aa-2222-7000-8000-000000000002", "run_019ad0ab-3333-7000-8000-000000000003"
	list := func() ([]proto.Run, error) { return []proto.Run{{ID: older}, {ID: other}, {ID: newer}}, nil }
	for word, want := range map[string]string{
		"run_019ad0ab":   other,
		"run_019ad0aa-2": newer,
		"last":           other,
		"run_ffffffff":   "run_ffffffff", // the daemon says that there is none
	} {
		if got, err := pickRun(word, list); got != want || err != nil {
			t.Errorf("%s: %s, %v", word, got, err)
		}
	}
	_, err := pickRun("run_019ad0aa", list)
	if e := fault.From(err); e == nil || e.Kind != fault.UsageError || !strings.Contains(e.Hint, older) || !strings.Contains(e.Hint, newer) || strings.Contains(e.Hint, other) {
		t.Errorf("ambiguous: %+v", e)
	}
	if _, err := pickRun("run_019ad0a", list); fault.KindOf(err) != fault.UsageError {
		t.Errorf("too short: %v", err)
	}
	none := func() ([]proto.Run, error) { return nil, nil }
	if _, err := pickRun("last", none); fault.KindOf(err) != fault.NotFound {
		t.Errorf("last of none: %v", err)
	}
}

func TestAWholeRunIDIsNotLookedUp(t *testing.T) {
	asked := func() ([]proto.Run, error) { t.Error("the runs were listed"); return nil, nil }
	for _, word := range []string{"run_019ad0aa-1111-7000-8000-000000000001", "art_1"} {
		if got, err := pickRun(word, asked); got != word || err != nil {
			t.Errorf("%s: %s, %v", word, got, err)
		}
	}
}
