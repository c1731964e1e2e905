//go:build linux

package faults

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	_ "modernc.org/sqlite" // history is read as it stands in its file

	"tenon/proto"
)

// give waits for a command that prints the result of a program with one call of the
// text, and enters it into the book; false: it printed none.
func (g *stage) give(c *command, token string) bool {
	g.Helper()
	c.wait()
	var r proto.RunResult
	if json.Unmarshal(c.out.Bytes(), &r) != nil || !r.OK {
		return false
	}
	if string(r.Value) != strconv.Quote(token) {
		g.Errorf("%s: the value is %s", token, r.Value)
	}
	g.accepted[token] = r.ID
	return true
}

// received counts the calls with the text in the journal of the fake servers.
func (g *stage) received(token string) int {
	raw, err := os.ReadFile(filepath.Join(g.s.Work, "J"))
	if err != nil {
		return 0
	}
	return bytes.Count(raw, fmt.Appendf(nil, `"text":%q`, token))
}

// get asks the daemon for what a route of it shows.
func (g *stage) get(path string, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	wire := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", g.s.Get("SOCKET"))
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://tenon"+path, nil)
	if err != nil {
		return err
	}
	res, err := wire.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, raw)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// live counts the runs that go on.
func (g *stage) live() int {
	g.Helper()
	var rows []proto.Run
	if err := g.get("/v1/runs?live=true", &rows); err != nil {
		g.Fatal(err)
	}
	return len(rows)
}

// settled compares the book with history: each result once, as what it was.
func (g *stage) settled(after string) {
	g.Helper()
	for token, id := range g.accepted {
		var r proto.Run
		if err := g.get("/v1/runs/"+id, &r); err != nil || r.Status != "ok" || r.Calls != 1 {
			g.Errorf("after %s: run %s with %s is %s with %d calls in history: %v", after, id, token, r.Status, r.Calls, err)
		}
		if calls := g.calls(id); !slices.Equal(calls, []string{"ok"}) {
			g.Errorf("after %s: the call of run %s with %s is %v in history", after, id, token, calls)
		}
	}
	g.given += len(g.accepted)
	g.accepted = map[string]string{}
}

// file opens the history, which a daemon may have open as well.
func (g *stage) file() *sql.DB {
	g.Helper()
	db, err := sql.Open("sqlite", "file:"+g.state("history.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		g.Fatal(err)
	}
	return db
}

// calls is how the calls of a run ended, as history has them.
func (g *stage) calls(run string) []string {
	g.Helper()
	db := g.file()
	defer db.Close()
	rows, err := db.Query(`SELECT status FROM calls WHERE run = ?`, run)
	if err != nil {
		g.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var status string
		if err := rows.Scan(&status); err != nil {
			g.Fatal(err)
		}
		all = append(all, status)
	}
	if err := rows.Err(); err != nil {
		g.Fatal(err)
	}
	return all
}

// number is the one number that a query of history gives.
func (g *stage) number(query string, args ...any) (n int) {
	g.Helper()
	db := g.file()
	defer db.Close()
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		g.Fatal(err)
	}
	return n
}

// change changes the history of a daemon that does not run.
func (g *stage) change(query string, args ...any) {
	g.Helper()
	db := g.file()
	_, err := db.Exec(query, args...)
	g.bear(errors.Join(err, db.Close()))
}
