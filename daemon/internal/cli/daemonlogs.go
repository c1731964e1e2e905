package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
)

type daemonLogsOptions struct {
	app    *app
	path   string
	follow bool
	lines  int
	want   logFilter
}

// logLevels are what --level takes.
var logLevels = []string{"debug", "info", "warn", "error"}

func (a *app) daemonLogsCommand() *cobra.Command {
	o := &daemonLogsOptions{app: a}
	level := "debug"
	c := &cobra.Command{
		Use:   "logs",
		Short: "Print the daemon's log",
		Long: "Prints what the daemon wrote, also while none runs; --session ID selects lines about\n" +
			"that session. With --follow it stays, over restarts of the daemon and changes of the\n" +
			"file, until Ctrl-C, which is no failure; with --json each line is a document then.",
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.paths()
			if err != nil {
				return err
			}
			if o.want.level.UnmarshalText([]byte(level)) != nil {
				return fault.New(fault.UsageError, "--level is %q", level).WithHint("it may be one of %s", strings.Join(logLevels, ", "))
			}
			o.path, o.want.session = p.LogFile(), a.flags.session
			return daemonLogs(cmd.Context(), o)
		},
	}
	f := c.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "stay, and print what is added")
	f.IntVarP(&o.lines, "lines", "n", 200, "`number` of lines at the end to print")
	f.Var(&sinceValue{at: &o.want.since}, "since", "only lines of that `time` or later: 90m, 7d, a date, RFC 3339")
	f.StringVar(&level, "level", level, "only lines of that `level` or above: debug, info, warn, error")
	f.StringVar(&o.want.run, "run", "", "only lines about the run of that `id`, or its beginning")
	f.StringVar(&o.want.server, "server", "", "only lines about the server of that `name`")
	return c
}

// followEvery is how often a followed log is looked at: it may be replaced by
// a new file, which a watch on the old one would miss.
const followEvery = 200 * time.Millisecond

func daemonLogs(ctx context.Context, o *daemonLogsOptions) error {
	t := &tail{path: o.path}
	defer t.close()
	before, err := readLog(o.path + olderSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadableLog(err)
	}
	now, err := t.more()
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(before) == 0 && !o.follow:
		return fault.New(fault.NotFound, "there is no log yet at %s", o.path).
			WithHint("a daemon in the foreground logs to its standard error")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return unreadableLog(err)
	}
	reader := logReader{}
	var kept []logLine
	for _, raw := range append(before, now...) {
		if l := reader.read(raw); o.want.wants(l) {
			kept = append(kept, l)
		}
	}
	kept = kept[max(0, len(kept)-o.lines):]
	if o.app.flags.json && !o.follow {
		docs := make([]json.RawMessage, len(kept))
		for i, l := range kept {
			docs[i] = l.document()
		}
		return o.app.document(map[string]any{"file": o.path, "lines": docs})
	}
	for _, l := range kept {
		if err := o.print(l); err != nil {
			return err
		}
	}
	if !o.follow {
		if len(kept) == 0 && o.lines > 0 {
			o.app.say("of %d lines in %s none is meant", len(before)+len(now), o.path)
		}
		return nil
	}
	return o.stay(ctx, t, &reader)
}

func unreadableLog(err error) error {
	return fault.New(fault.UsageError, "cannot read the log: %w", err)
}

// stay prints what is added until the user ends it.
func (o *daemonLogsOptions) stay(ctx context.Context, t *tail, reader *logReader) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		lines, err := t.more()
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may come yet
			return unreadableLog(err)
		}
		if t.missed {
			t.missed = false
			o.app.say("the log was replaced faster than it could be read: lines may be missing here")
		}
		for _, raw := range lines {
			if l := reader.read(raw); o.want.wants(l) {
				if err := o.print(l); err != nil {
					return err
				}
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (o *daemonLogsOptions) print(l logLine) error {
	if o.app.flags.json {
		return o.app.write(append(l.document(), '\n'))
	}
	return o.app.text(l.text())
}

// olderSuffix names the one older file of the log.
const olderSuffix = ".1"

// tail reads the whole lines that are added to a file, which may be replaced or
// cut meanwhile.
type tail struct {
	path string
	f    *os.File
	read int64    // of f
	rest []byte   // the beginning of a line
	last *os.File // the file before, until the next is open: no other can be taken for it

	missed bool // files may have come and gone unread
}

func (t *tail) close() {
	for _, f := range []*os.File{t.f, t.last} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// more are the lines since the last look.
func (t *tail) more() ([][]byte, error) {
	var out [][]byte
	for {
		if t.f == nil {
			f, err := local.OpenRegular(t.path, os.O_RDONLY, 0)
			if err != nil {
				return out, err
			}
			t.f, t.read, t.rest = f, 0, nil
			out = append(out, t.between()...)
		}
		st, err := t.f.Stat()
		if err != nil {
			return out, err
		}
		if st.Size() < t.read { // cut
			if _, err := t.f.Seek(0, io.SeekStart); err != nil {
				return out, err
			}
			t.read, t.rest = 0, nil
		}
		raw, err := io.ReadAll(t.f)
		if err != nil {
			return out, err
		}
		t.read += int64(len(raw))
		var lines [][]byte
		lines, t.rest = wholeLines(append(t.rest, raw...))
		out = append(out, lines...)
		now, err := os.Stat(t.path)
		if err != nil || os.SameFile(now, st) {
			return out, nil
		}
		// Another file has its name: the old one is read to its end, nothing is lost.
		if len(t.rest) > 0 {
			out = append(out, t.rest)
		}
		t.f, t.last = nil, t.f
	}
}

// between are the lines of the file before the present one, if that is not the
// one that was read last: the log was replaced twice since. There may have been
// more, which are gone.
func (t *tail) between() [][]byte {
	if t.last == nil {
		return nil
	}
	last, err := t.last.Stat()
	older, gone := os.Stat(t.path + olderSuffix)
	_ = t.last.Close()
	t.last = nil
	if err != nil || gone != nil || os.SameFile(older, last) || older.ModTime().Before(last.ModTime()) {
		return nil // read, or older: somebody has removed the last one
	}
	t.missed = true
	if own, err := t.f.Stat(); err != nil || os.SameFile(older, own) { // replaced again since it was opened
		return nil
	}
	lines, err := readLog(t.path + olderSuffix)
	if err != nil {
		return nil // replaced again meanwhile
	}
	return lines
}

// wholeLines cuts text into lines without their ends; rest has no end yet.
func wholeLines(text []byte) (lines [][]byte, rest []byte) {
	for {
		line, after, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			return lines, text
		}
		lines = append(lines, line)
		text = after
	}
}

// readLog is every line of a file that is not written any more.
func readLog(path string) ([][]byte, error) {
	raw, err := local.ReadRegular(path)
	if err != nil {
		return nil, err
	}
	lines, rest := wholeLines(raw)
	if len(rest) > 0 {
		lines = append(lines, rest)
	}
	return lines, nil
}
