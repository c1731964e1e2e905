package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/legible"
)

type (
	flag         = pflag.Flag
	invalidValue = pflag.InvalidValueError
)

// abs makes a path the user wrote absolute; empty stays empty.
func (a *app) abs(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Cwd, path)
}

// note writes one line for people to standard error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.Err, clean(fmt.Sprintf(format, args...)))
}

// inset sets off the further lines of a text that may be somebody else's: none of
// them looks like a line of tenon's own, such as a hint or a question.
func inset(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// say is note that -q silences.
func (a *app) say(format string, args ...any) {
	if !a.flags.quiet {
		a.note(format, args...)
	}
}

// feedback shows what a human said when refusing, unless the message has it.
func (a *app) feedback(text, message string) {
	if text != "" && !strings.Contains(message, text) {
		a.note("feedback: %s", inset(text))
	}
}

// fail writes a failure: as the one document with --json, else for people.
func (a *app) fail(e *fault.Error) {
	if a.flags.json || e.Kind == fault.UsageError && a.namesJSON() {
		_ = a.document(map[string]any{"error": e.Wire()})
		return
	}
	a.note("error: %s (%s)", inset(e.Message), e.Kind)
	a.feedback(e.Feedback, e.Message)
	a.hint(e.Kind, e.Hint)
	if a.flags.verbose {
		a.note("see %s", e.Kind.Page())
		if cause := e.Unwrap(); cause != nil && cause.Error() != e.Message {
			a.note("cause: %s", inset(cause.Error()))
		}
	}
}

// hint says what to do next. That of a failed tool names a member of the error that a
// program has; in a shell it is elsewhere.
func (a *app) hint(kind fault.Kind, text string) {
	if kind == fault.ToolFailure && strings.HasSuffix(text, " .content") {
		text = "the tool itself failed; --json shows its whole answer"
	}
	if text != "" {
		a.note("hint: %s", inset(text))
	}
}

// namesJSON is whether --json stands on a command line that could not be read
// up to there.
func (a *app) namesJSON() bool {
	words := a.Args
	if end := slices.Index(words, "--"); end >= 0 {
		words = words[:end]
	}
	return slices.Contains(words, "--json")
}

// document writes one JSON document: indented on a terminal, one line else.
func (a *app) document(v any) error {
	raw, err := marshal(v)
	if err != nil {
		return err
	}
	if a.outTerminal {
		var b bytes.Buffer
		if json.Indent(&b, raw, "", "  ") == nil {
			raw = b.Bytes()
		}
		raw = legible.JSON(raw) // encoders leave some controls as they are
	}
	return a.write(append(raw, '\n'))
}

// marshal writes JSON as it would be read by people: < and & stay themselves.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fault.New(fault.InternalError, "cannot write the document: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// write puts result bytes on standard output. A reader that has gone away is
// the reader's choice and no failure of ours.
func (a *app) write(p []byte) error {
	if _, err := a.Out.Write(p); err != nil {
		return unwritten(err)
	}
	return nil
}

// unwritten is why a result did not get out: a reader that has gone away, or a
// disk that is full.
func unwritten(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) {
		return fault.New(fault.Cancelled, "standard output is closed: %w", err)
	}
	return fault.New(fault.InternalError, "standard output cannot be written: %s", err)
}

// value prints a result: a string as it is, anything else as JSON. On a
// terminal the text is cleaned first: it comes from a server.
func (a *app) value(raw json.RawMessage) error {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return a.text(text)
	}
	if a.outTerminal {
		var b bytes.Buffer
		if json.Indent(&b, raw, "", "  ") == nil {
			raw = legible.JSON(b.Bytes())
		}
	}
	return a.text(string(raw))
}

// text prints upstream text and ends it with a newline if it has none.
func (a *app) text(s string) error {
	if a.outTerminal {
		s = clean(s)
	}
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return a.write([]byte(s))
}

// clean makes characters visible that would move a cursor, colour or retitle a
// terminal, or stand there unseen; newlines and tabs stay.
func clean(s string) string { return legible.Show(s) }

// maxCell bounds one cell of a table, in characters: every row is as wide as the
// widest, and what servers name has any length. A document with --json has all.
const maxCell = 300

// table prints rows in columns; the first is the heading.
func (a *app) table(rows [][]string) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = cell(c)
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	_ = w.Flush() // into a buffer
	var out bytes.Buffer
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return a.write(out.Bytes())
}

// cell is a text as a table has it: one line, at most maxCell characters.
func cell(text string) string {
	text = strings.NewReplacer("\n", " ", "\t", " ").Replace(clean(text))
	if r := []rune(text); len(r) > maxCell {
		return string(r[:maxCell]) + "…"
	}
	return text
}

// rows prints a list: the document with --json, a table else; the note says
// what an empty list means.
func rows[T any](a *app, items []T, empty string, heading []string, row func(T) []string) error {
	if a.flags.json {
		if items == nil {
			items = []T{}
		}
		return a.document(items)
	}
	if len(items) == 0 {
		a.say("%s", empty)
		return nil
	}
	table := [][]string{heading}
	for _, item := range items {
		table = append(table, row(item))
	}
	return a.table(table)
}

// short cuts a text for a column.
func short(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// dash is what an empty cell shows.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// noting tells a writer's failure from that of the reader it is copied from.
type noting struct {
	io.Writer
	err error
}

func (n *noting) Write(p []byte) (int, error) {
	w, err := n.Writer.Write(p)
	n.err = err
	return w, err
}

// copyOut streams bytes to standard output; on a terminal they are cleaned.
func (a *app) copyOut(r io.Reader) error {
	if !a.outTerminal {
		out := &noting{Writer: a.Out}
		if _, err := io.Copy(out, r); out.err != nil {
			return unwritten(out.err)
		} else if err != nil {
			return fault.New(fault.DaemonUnavailable, "the daemon went away during the answer: %w", err)
		}
		return nil
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return fault.New(fault.DaemonUnavailable, "the daemon went away during the answer: %w", err)
	}
	return a.text(string(raw))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
