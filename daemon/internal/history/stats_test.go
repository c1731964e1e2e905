package history

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// told records a call with its outcome; at is in minutes.
func told(s *Store, session, server, tool string, at int, ms float64, kind, input string) {
	i := Intent{Run: "run_1", Session: session, Server: server, Tool: tool, Started: time.Unix(1_700_000_000, 0).Add(time.Duration(at) * time.Minute)}
	status := "ok"
	if kind != "" {
		status = "error"
	}
	s.Finish(s.Begin(i), i, Outcome{Status: status, Kind: kind, MS: ms, Input: []byte(input)})
}

func TestStatisticsSayWhatCameOfCalls(t *testing.T) {
	s := open1(t, t.TempDir())
	s.RunStarted(Run{ID: "run_1", Session: "A", Root: "R", Engine: "embedded", Started: time.Now(), Options: proto.RunOptions{Script: "deploy"}})
	s.RunEnded(RunEnd{ID: "run_1", Status: "ok", Ended: time.Now()})
	s.RunStarted(Run{ID: "run_2", Session: "B", Engine: "embedded", Started: time.Now()})
	s.RunEnded(RunEnd{ID: "run_2", Status: "failed", Kind: "ScriptError", Ended: time.Now()})
	s.RunStarted(Run{ID: "run_3", Session: "B", Engine: "embedded", Started: time.Now()}) // goes on
	bad := string(fault.InvalidToolInput)
	for n := range 10 {
		told(s, "A", "fs", "read", n, float64(n+1), "", `{}`)
	}
	// Mended at the second try, in the same way twice; another session's call is no repair, a late one neither.
	for round := range 2 {
		told(s, "A", "fs", "write", 20+5*round, 1, bad, `{"pathh":"x"}`)
		told(s, "B", "fs", "write", 21+5*round, 1, "", `{"other":"x"}`)
		told(s, "A", "fs", "write", 22+5*round, 1, bad, `{"path":"x","mode":1}`)
		told(s, "A", "fs", "write", 23+5*round, 1, "", `{"path":"x"}`)
	}
	told(s, "A", "fs", "write", 40, 1, bad, `{"path":"x","n":"1"}`)
	told(s, "A", "fs", "write", 41, 1, "", `{"path":"x","n":1}`)
	told(s, "A", "fs", "write", 60, 1, bad, `{}`)
	told(s, "A", "fs", "write", 90, 1, "", `{"path":"x"}`)
	told(s, "B", "web", "get", 95, 1, "TimeoutExceeded", `{}`)

	stats := func(q StatsQuery) []proto.StatsRow {
		t.Helper()
		got, err := s.Stats(bg, q)
		if err != nil {
			t.Fatal(err)
		}
		return got.Rows
	}
	rows := stats(StatsQuery{})
	if len(rows) != 3 || rows[0].Name != "fs/write" || rows[1].Name != "fs/read" || rows[2].Name != "web/get" {
		t.Fatalf("%+v", rows)
	}
	write, read := rows[0], rows[1]
	if write.Count != 12 || write.OK != 6 || write.Rate != 0.5 || write.Kinds[bad] != 6 || write.Server != "fs" || write.Tool != "write" {
		t.Errorf("%+v", write)
	}
	if got := fmt.Sprint(write.Repairs); got != "[{pathh is path 2} {n is number, was string 1}]" {
		t.Errorf("repairs %s", got)
	}
	if read.P50MS != 5 || read.P95MS != 10 || read.Rate != 1 || len(read.Kinds) != 0 || len(read.Repairs) != 0 {
		t.Errorf("%+v", read)
	}
	if rows := stats(StatsQuery{By: "server"}); len(rows) != 2 || rows[0].Name != "fs" || rows[0].Count != 22 || rows[0].Tool != "" {
		t.Errorf("by server: %+v", rows)
	}
	if rows := stats(StatsQuery{By: "kind"}); len(rows) != 2 || rows[0].Name != bad || rows[0].Where["fs/write"] != 6 || rows[1].Where["web/get"] != 1 {
		t.Errorf("by kind: %+v", rows)
	}
	rows = stats(StatsQuery{By: "script"})
	if len(rows) != 2 || rows[0].Name != "" || rows[0].Kinds["ScriptError"] != 1 || rows[1].Name != "deploy" || rows[1].Rate != 1 {
		t.Errorf("by script: %+v", rows)
	}
	if rows := stats(StatsQuery{Since: time.Unix(1_700_000_000, 0).Add(92 * time.Minute)}); len(rows) != 1 || rows[0].Name != "web/get" {
		t.Errorf("since: %+v", rows)
	}
	if rows := stats(StatsQuery{Session: "B"}); len(rows) != 2 || rows[0].Count != 2 {
		t.Errorf("one session's: %+v", rows)
	}
	if rows := stats(StatsQuery{Session: "R"}); len(rows) != 2 || rows[0].Count != 10 {
		t.Errorf("a root's: %+v", rows)
	}
	if _, err := s.Stats(bg, StatsQuery{By: "moon"}); fault.KindOf(err) != fault.UsageError {
		t.Errorf("%v", err)
	}
}

func TestARepairIsToldWithoutValues(t *testing.T) {
	for _, c := range [][3]string{
		{`{"pathh":"secret"}`, `{"path":"secret"}`, "pathh is path"},
		{`{"n":"1"}`, `{"n":1}`, "n is number, was string"},
		{`{"a":1}`, `{"a":1,"b":2,"c":3}`, "with b, c"},
		{`{"a":1,"b":2}`, `{}`, "without a, b"},
		{`{"a":1,"b":2,"l":"x"}`, `{"c":1,"l":["x"]}`, "l is array, was string; without a, b; with c"},
		{`{"a":1}`, `{"a":2}`, "other values"},
		{`"text"`, `{"a":2}`, "an object of arguments"},
		{`{"a":`, `{"a":2}`, "an object of arguments"},
		{`{"a":1}`, `{"a":`, ""},
	} {
		if got := difference(c[0], c[1]); got != c[2] {
			t.Errorf("%s to %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestRunsAreListedByWhatTheyAre(t *testing.T) {
	s := open1(t, t.TempDir())
	old := time.Now().Add(-time.Hour)
	for id, at := range map[string]time.Time{"run_old": old, "run_new": time.Now()} {
		s.RunStarted(Run{ID: id, Session: "S", Started: at})
		i := Intent{Run: id, Session: "S", Server: id + "-server", Tool: "read", Started: at}
		s.Finish(s.Begin(i), i, Outcome{Status: "ok"})
	}
	s.RunEnded(RunEnd{ID: "run_old", Status: "failed", Ended: time.Now(), Result: json.RawMessage(`{}`)})
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{}, "run_new run_old "},
		{Filter{Status: "failed"}, "run_old "},
		{Filter{Since: old.Add(time.Minute)}, "run_new "},
		{Filter{Server: "run_old-server"}, "run_old "},
		{Filter{Tool: "read"}, "run_new run_old "},
		{Filter{Server: "run_new-server", Tool: "write"}, ""},
		{Filter{Limit: 1}, "run_new "},
	} {
		rows, err := s.List(bg, c.filter)
		got := ""
		for _, r := range rows {
			got += r.ID + " "
		}
		if err != nil || got != c.want {
			t.Errorf("%+v: %q, %v, want %q", c.filter, got, err, c.want)
		}
	}
}
