package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Filter narrows List. Zero fields do not.
type Filter struct {
	Session string // leaf or root
	Status  string
	Since   time.Time // runs begun before are left out
	Server  string    // runs that called it
	Tool    string    // runs that called a tool of that name
	Limit   int       // 0: 50; at most 1000
}

const runColumns = `id, session, status, kind, surface, engine, cwd, code, options, started, COALESCE(ended, 0), calls`

// List shows runs, newest first. Code is its head only.
func (s *Store) List(ctx context.Context, f Filter) ([]proto.Run, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, unavailable(err)
	}
	db, err := s.database(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	if f.Limit <= 0 {
		f.Limit = 50
	}
	where, args := []string{"1"}, []any{}
	if f.Session != "" {
		where, args = append(where, "(session = ? OR root = ?)"), append(args, f.Session, f.Session)
	}
	if f.Status != "" {
		where, args = append(where, "status = ?"), append(args, f.Status)
	}
	if !f.Since.IsZero() {
		where, args = append(where, "started >= ?"), append(args, f.Since.UnixMilli())
	}
	if f.Server != "" || f.Tool != "" {
		where = append(where, "EXISTS (SELECT 1 FROM calls WHERE calls.run = runs.id AND ? IN ('', server) AND ? IN ('', tool))")
		args = append(args, f.Server, f.Tool)
	}
	rows, err := db.QueryContext(ctx, fmt.Sprintf(`SELECT %s FROM runs WHERE %s ORDER BY started DESC, id DESC LIMIT %d`,
		runColumns, strings.Join(where, " AND "), min(f.Limit, 1000)), args...)
	if err != nil {
		return nil, unavailable(err)
	}
	defer rows.Close()
	out := []proto.Run{}
	for rows.Next() {
		r, err := scanRun(rows)
		if err != nil {
			return nil, unavailable(err)
		}
		r.Code = head(r.Code, headBytes)
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, unavailable(err)
	}
	return out, nil
}

func scanRun(row interface{ Scan(...any) error }) (proto.Run, error) {
	var r proto.Run
	var options string
	var started, ended int64
	err := row.Scan(&r.ID, &r.Session, &r.Status, &r.Kind, &r.Surface, &r.Engine, &r.Cwd, &r.Code, &options, &started, &ended, &r.Calls)
	r.Started, r.Ended = stamp(started), stamp(ended)
	var how proto.RunOptions
	if err == nil && json.Unmarshal([]byte(options), &how) == nil && !how.IsZero() {
		r.Options = &how
	}
	return r, err
}

// Session is whose a run is, by the run's id or that of one of its artifacts;
// empty when nothing is kept of it, or when it belongs to no run.
func (s *Store) Session(ctx context.Context, id string) (session string, err error) {
	if err := s.Flush(ctx); err != nil {
		return "", unavailable(err)
	}
	db, err := s.database(ctx)
	if err != nil {
		return "", unavailable(err)
	}
	err = db.QueryRowContext(ctx, `SELECT session FROM runs
		WHERE id = ?1 OR id = (SELECT run FROM artifacts WHERE id = ?1)`, id).Scan(&session)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", unavailable(err)
	}
	return session, nil
}

// Show is one run with its result as it is kept. Of a run whose result died with
// its daemon it is made from what the journal had: its calls, some of unknown
// fate, and how it ended, if it did.
func (s *Store) Show(ctx context.Context, id string) (*proto.Run, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, unavailable(err)
	}
	db, err := s.database(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	r, err := scanRun(db.QueryRowContext(ctx, `SELECT `+runColumns+` FROM runs WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "no run %q", id).WithHint("tenon runs list shows the runs that are kept")
	}
	if err != nil {
		return nil, unavailable(err)
	}
	var text sql.NullString
	if err := db.QueryRowContext(ctx, `SELECT result FROM runs WHERE id = ?`, id).Scan(&text); err != nil {
		return nil, unavailable(err)
	}
	if text.Valid && text.String != "" {
		var result proto.RunResult
		if err := json.Unmarshal([]byte(text.String), &result); err != nil {
			return nil, unavailable(err)
		}
		r.Result = &result
	} else if r.Status != "running" {
		calls, err := s.calls(ctx, db, id)
		if err != nil {
			return nil, unavailable(err)
		}
		r.Result = remains(r, calls)
	}
	return &r, nil
}

func (s *Store) calls(ctx context.Context, db *sql.DB, run string) ([]proto.CallSummary, error) {
	rows, err := db.QueryContext(ctx, `SELECT server, tool, status, ms FROM calls WHERE run = ? ORDER BY n, started`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []proto.CallSummary{}
	for rows.Next() {
		var c proto.CallSummary
		if err := rows.Scan(&c.Server, &c.Tool, &c.Status, &c.MS); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

// remains is the result of a run of which only the books are left: its daemon
// was killed before it ended, or just after.
func remains(r proto.Run, calls []proto.CallSummary) *proto.RunResult {
	out := &proto.RunResult{
		ID: r.ID, Session: r.Session, Value: json.RawMessage("null"),
		Logs: []proto.Log{}, Emits: []json.RawMessage{}, Warnings: []proto.Warning{}, Artifacts: []proto.Artifact{},
		Calls: calls,
	}
	switch r.Status {
	case "lost":
		out.Error = &proto.Error{
			Kind:    string(fault.DaemonUnavailable),
			Message: "the daemon ended in the middle of this run",
			Hint:    "calls with status unknown may have taken effect: look before repeating them",
		}
		return out
	case "ok":
		out.OK = true
	default:
		out.Error = &proto.Error{Kind: first(r.Kind, string(fault.InternalError)), Message: "the run ended so; what it said died with the daemon"}
	}
	out.Warnings = append(out.Warnings, proto.Warning{
		Kind: "ResultNotKept", Message: "the daemon was killed just after the run had ended: its result is not kept",
	})
	return out
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

// Event is one audit event.
type Event struct {
	Time, Actor, Action, Detail string
}

// Events lists audit events, newest first; with an action, those alone.
func (s *Store) Events(ctx context.Context, action string, limit int) ([]Event, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, unavailable(err)
	}
	db, err := s.database(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	rows, err := db.QueryContext(ctx, `SELECT at, actor, action, detail FROM audit
		WHERE ?1 = '' OR action = ?1 ORDER BY seq DESC LIMIT ?2`, action, limit)
	if err != nil {
		return nil, unavailable(err)
	}
	defer rows.Close()
	var out []Event
	for rows.Next() {
		var e Event
		var at int64
		if err := rows.Scan(&at, &e.Actor, &e.Action, &e.Detail); err != nil {
			return nil, unavailable(err)
		}
		e.Time = stamp(at)
		out = append(out, e)
	}
	if err := rows.Err(); err != nil {
		return nil, unavailable(err)
	}
	return out, nil
}
