package soak

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // what history is kept with

	"tenon/daemon/internal/rig"
)

// settle compares, when all is over, what was answered with what servers
// received and what history has.
func (w *world) settle(watch *watch, took time.Duration) {
	watch.judgeLevels()
	if o, err := w.s.Tenon(w.s.Work, "daemon", "stop"); err != nil || o.Code != 0 {
		w.wrong("tenon daemon stop: %v %s", err, o.Stderr)
	}
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	answered := w.compareTexts()
	if err := w.compareRuns(); err != nil {
		w.wrong("history: %v", err)
	}
	var said strings.Builder
	fmt.Fprintf(&said, "%s, %d sessions at a time, %d looks at every invariant\n", took.Round(time.Second), w.sessions, watch.looks)
	fmt.Fprintf(&said, "%d texts answered, each received once; %d results given to somebody, each in history once\n", answered, len(w.book.runs))
	for _, what := range slices.Sorted(maps.Keys(w.book.tally)) {
		fmt.Fprintf(&said, "%8d  %s", w.book.tally[what], what)
		if took := w.book.took[what]; len(took) > 0 {
			fmt.Fprintf(&said, ": %s, p99 %s", percentile(took, 0.5).Round(time.Millisecond), percentile(took, 0.99).Round(time.Millisecond))
		}
		said.WriteByte('\n')
	}
	w.t.Log(said.String())
	if answered == 0 || len(w.book.runs) == 0 {
		w.wrong("nothing was answered at all")
	}
}

// compareTexts reads the journals of the servers: a text that was answered was
// received once, and none twice, whatever happened.
func (w *world) compareTexts() (answered int) {
	received := map[string]int{}
	for _, name := range []string{"all", "quick"} {
		if err := journal(filepath.Join(w.s.Work, "J-"+name), received); err != nil {
			w.wrong("journal of %s: %v", name, err)
		}
	}
	for token, ok := range w.book.texts {
		if ok {
			answered++
		}
		if received[token] > 1 || ok && received[token] != 1 {
			w.wrong("text %s: answered %v, received %d times", token, ok, received[token])
		}
	}
	return answered
}

// journal counts the texts that a fake server has received.
func journal(path string, received map[string]int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil // its end
		}
		var entry struct {
			Message struct {
				Method string `json:"method"`
				Params struct {
					Arguments struct{ Text string } `json:"arguments"`
				} `json:"params"`
			} `json:"message"`
		}
		if json.Unmarshal(line, &entry) == nil && entry.Message.Method == "tools/call" {
			received[entry.Message.Params.Arguments.Text]++
		}
	}
}

// compareRuns reads the database of history itself, since no daemon is there.
func (w *world) compareRuns() error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.s.Get("TENON_STATE_DIR"), "history.db")+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), rig.Hung)
	defer cancel()
	rows, err := db.QueryContext(ctx, `SELECT runs.id, runs.status, (SELECT count(*) FROM calls WHERE calls.run = runs.id),
		(SELECT count(DISTINCT n) FROM calls WHERE calls.run = runs.id) FROM runs`)
	if err != nil {
		return err
	}
	defer rows.Close()
	have := map[string]bool{}
	for rows.Next() {
		var id, status string
		var calls, distinct int
		if err := rows.Scan(&id, &status, &calls, &distinct); err != nil {
			return err
		}
		if status == "running" {
			w.wrong("run %s is running in history, and no daemon is", id)
		}
		if calls != distinct {
			w.wrong("run %s: %d calls are in history, %d of them different", id, calls, distinct)
		}
		want, given := w.book.runs[id]
		// A run that was ended from outside is answered at once; a call that was
		// about to go out then is in history only.
		if given && (status != want.status || calls < want.calls || status == "ok" && calls != want.calls) {
			w.wrong("run %s: history has %s with %d calls, its caller was given %s with %d", id, status, calls, want.status, want.calls)
		}
		have[id] = true
	}
	for id := range w.book.runs {
		if !have[id] {
			w.wrong("run %s was given to its caller and is not in history", id)
		}
	}
	return rows.Err()
}
