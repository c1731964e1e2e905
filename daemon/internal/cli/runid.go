package cli

import (
	"context"
	"strings"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

const (
	runPrefix    = "run_"
	runWhole     = len(runPrefix) + 36 // a UUID
	runShortest  = len(runPrefix) + 8  // the least of an id that is looked up
	runsSearched = 1000                // the newest, among which a short id is looked up; the daemon gives no more
)

// runNamed is the run a user means: by its whole id, by a beginning of it that
// fits one run only, or as last, the newest. Live looks among those that go on.
func runNamed(ctx context.Context, a *app, c *client.Client, word string, live bool) (string, error) {
	return pickRun(word, func() ([]proto.Run, error) {
		runs, err := c.Runs(ctx, client.RunFilter{Session: a.flags.session, Live: live, Limit: runsSearched})
		if err != nil {
			return nil, interrupted(ctx, err)
		}
		return runs, nil
	})
}

// pickRun is runNamed on the runs that list gives, which is asked only when
// needed. A beginning that fits none is left for the daemon to refuse.
func pickRun(word string, list func() ([]proto.Run, error)) (string, error) {
	last := word == "last"
	if !last && (!strings.HasPrefix(word, runPrefix) || len(word) >= runWhole) {
		return word, nil
	}
	if !last && len(word) < runShortest {
		return "", fault.New(fault.UsageError, "%q is too short for the beginning of a run's id", word).
			WithHint("give at least %d characters after %s, or last", runShortest-len(runPrefix), runPrefix)
	}
	runs, err := list()
	if err != nil {
		return "", err
	}
	var found []string
	newest := ""
	for _, r := range runs {
		newest = max(newest, r.ID) // ids begin with the time
		if strings.HasPrefix(r.ID, word) {
			found = append(found, r.ID)
		}
	}
	switch {
	case last && newest == "":
		return "", fault.New(fault.NotFound, "last names no run: there is none").WithHint("tenon runs lists all; cancel looks among those of tenon runs --live")
	case last:
		return newest, nil
	case len(found) > 1:
		return "", fault.New(fault.UsageError, "%s is the beginning of %d runs", word, len(found)).
			WithHint("one of %s", strings.Join(found[:min(len(found), 5)], ", "))
	case len(found) == 1:
		return found[0], nil
	}
	return word, nil
}
