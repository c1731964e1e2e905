package history

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sort"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// StatsQuery selects what Stats counts. Zero fields do not narrow.
type StatsQuery struct {
	By      string    // tool (the default), server, script, kind
	Since   time.Time // calls and runs begun before are left out
	Session string    // leaf or root: only its own
}

// StatsBy are what statistics can be by.
var StatsBy = []string{"tool", "server", "script", "kind"}

// kept is a call, or a run, as statistics see it.
type kept struct {
	session, server, tool, script string
	started                       int64
	status, kind, input           string
	ms                            float64
}

// failure is the kind of a failure; a call whose fate nobody knows has none, and
// is counted by that.
func (k *kept) failure() string {
	switch {
	case k.status == "ok":
		return ""
	case k.kind != "":
		return k.kind
	}
	return k.status
}

// Stats counts what came of calls, or of runs by script: how many, how many of
// them without a failure, the kinds of failures, and times. Running ones are left
// out.
func (s *Store) Stats(ctx context.Context, q StatsQuery) (*proto.RunStats, error) {
	if q.By == "" {
		q.By = StatsBy[0]
	}
	if !slices.Contains(StatsBy, q.By) {
		return nil, fault.New(fault.UsageError, "statistics are by tool, server, script or kind, not by %q", q.By)
	}
	if err := s.Flush(ctx); err != nil {
		return nil, unavailable(err)
	}
	db, err := s.database(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	all, err := s.keptOf(ctx, db, q)
	if err != nil {
		return nil, unavailable(err)
	}
	out := &proto.RunStats{By: q.By}
	if !q.Since.IsZero() {
		out.Since = q.Since.UTC().Format(time.RFC3339)
	}
	groups := map[string][]kept{}
	for _, k := range all {
		if name, counts := k.name(q.By); counts {
			groups[name] = append(groups[name], k)
		}
	}
	for name, group := range groups {
		out.Rows = append(out.Rows, row(q.By, name, group))
	}
	sort.Slice(out.Rows, func(i, j int) bool {
		a, b := out.Rows[i], out.Rows[j]
		return a.Count > b.Count || a.Count == b.Count && a.Name < b.Name
	})
	return out, nil
}

// keptOf reads what is counted, oldest first.
func (s *Store) keptOf(ctx context.Context, db *sql.DB, q StatsQuery) ([]kept, error) {
	where, args := "c.started >= ?1", []any{q.Since.UnixMilli()}
	if q.Since.IsZero() {
		args[0] = 0
	}
	query := `SELECT c.session, c.server, c.tool, '', c.started, c.status, c.kind, c.input, c.ms FROM calls c`
	if q.By == "script" {
		query = `SELECT c.session, '', '', COALESCE(json_extract(c.options, '$.script'), ''), c.started, c.status, c.kind, '', c.ended - c.started FROM runs c`
		where += " AND c.status <> 'running' AND c.engine <> 'call' AND c.ended IS NOT NULL"
	}
	if q.Session != "" {
		where += " AND (c.session = ?2 OR c.session IN (SELECT session FROM runs WHERE root = ?2))"
		args = append(args, q.Session)
	}
	rows, err := db.QueryContext(ctx, fmt.Sprintf("%s WHERE %s ORDER BY c.started, c.rowid", query, where), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []kept
	for rows.Next() {
		var k kept
		if err := rows.Scan(&k.session, &k.server, &k.tool, &k.script, &k.started, &k.status, &k.kind, &k.input, &k.ms); err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, rows.Err()
}

// name is the group that something belongs to, if any.
func (k *kept) name(by string) (string, bool) {
	switch by {
	case "server":
		return k.server, true
	case "script":
		return k.script, true
	case "kind":
		kind := k.failure()
		return kind, kind != ""
	}
	return k.server + "/" + k.tool, true
}

func row(by, name string, group []kept) proto.StatsRow {
	out := proto.StatsRow{Name: name, Count: len(group)}
	switch by {
	case "tool":
		out.Server, out.Tool = group[0].server, group[0].tool
		out.Repairs = repairs(group)
	case "server":
		out.Server = group[0].server
	}
	times := make([]float64, len(group))
	for i, k := range group {
		times[i] = k.ms
		kind := k.failure()
		switch {
		case kind == "":
			out.OK++
		case by == "kind":
			out.Where = count(out.Where, k.server+"/"+k.tool)
		default:
			out.Kinds = count(out.Kinds, kind)
		}
	}
	out.Rate = float64(out.OK) / float64(out.Count)
	slices.Sort(times)
	out.P50MS, out.P95MS = percentile(times, 50), percentile(times, 95)
	return out
}

func count(in map[string]int, name string) map[string]int {
	if in == nil {
		in = map[string]int{}
	}
	in[name]++
	return in
}

// percentile of sorted times: the least that p percent do not exceed.
func percentile(times []float64, p int) float64 {
	return times[max(0, (len(times)*p+99)/100-1)]
}
