package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// build makes the one result of a run: complete on success and on failure.
func (r *Run) build(o *engine.Outcome) (*proto.RunResult, string) {
	res := &proto.RunResult{
		ID: r.ID, Session: r.spec.Session.ID, OK: o.Err == nil, Value: o.Value, Stdout: o.Stdout, Stderr: o.Stderr,
		Logs: make([]proto.Log, len(o.Logs)), Emits: o.Emits,
	}
	if len(res.Value) == 0 {
		res.Value = json.RawMessage("null")
	}
	if res.Emits == nil {
		res.Emits = []json.RawMessage{}
	}
	for i, l := range o.Logs {
		res.Logs[i] = l.Wire()
	}
	r.mu.Lock()
	r.join(res, o)
	res.Calls = append([]proto.CallSummary{}, r.calls...)
	res.Artifacts = append([]proto.Artifact{}, r.artifacts...)
	res.Warnings = append([]proto.Warning{}, r.warnings...)
	r.mu.Unlock()
	for i := range res.Calls {
		if res.Calls[i].Status == "" { // begun, and not ended when the run did
			res.Calls[i].Status = "cancelled"
		}
	}
	for _, w := range o.Warnings {
		res.Warnings = append(res.Warnings, proto.Warning{Kind: w.Kind, Message: w.Message})
	}
	if d := r.dropped(o.Dropped); d != (engine.Dropped{}) {
		res.Truncated = true
		res.Warnings = append(res.Warnings, proto.Warning{Kind: "OutputDropped", Message: fmt.Sprintf(
			"more was produced than is kept at all: %d log records, %d bytes of logs, %d of emits, %d of the value and %d of stdout and stderr are gone",
			d.LogRecords, d.LogBytes, d.EmitBytes, d.ValueBytes, d.OutputBytes)})
	}
	status := "ok"
	if o.Err != nil {
		// The run's own end explains more than what an engine made of it.
		failure := o.Err
		if cause := reason(causeOf(r)); cause != nil && (failure.Kind == fault.Cancelled || failure.Kind == fault.TimeoutExceeded) {
			failure = cause
		}
		res.Error = failure.Wire()
		res.Error.Stack = o.Stack
		if res.Error.Position == nil && o.Err.Position != nil {
			at := proto.Position(*o.Err.Position)
			res.Error.Position = &at
		}
		status = "failed"
		if failure.Kind == fault.Cancelled {
			status = "cancelled"
		}
	}
	r.lifted.result(res)
	r.cut(res)
	return res, status
}

// causeOf is why the run's context ended, or nil while it has not.
func causeOf(r *Run) error {
	if r.ctx.Err() == nil {
		return nil
	}
	return context.Cause(r.ctx)
}

// cut holds the output to the run's limit (CODE-16): the value comes first,
// then stdout, stderr, logs and emits. What is cut keeps its head and ends with
// a marker; the whole is kept as an artifact.
func (r *Run) cut(res *proto.RunResult) {
	limit := int(r.limits.output)
	if outputSize(res) <= limit {
		return
	}
	c := cutter{left: limit, id: res.ID}
	kept := wholeOf(res)
	if r.m.o.History != nil {
		if a, err := r.m.o.History.PutOutput(r.ID, kept); err == nil {
			c.id = a.ID
			res.Artifacts = append(res.Artifacts, a)
			r.event("artifact", a, 128)
		} else {
			res.Warnings = append(res.Warnings, proto.Warning{Kind: "ArtifactNotKept", Message: "the whole output could not be kept"})
		}
	}
	if string(res.Value) != "null" {
		res.Value = c.value(res.Value)
	}
	res.Stdout = c.text(res.Stdout)
	res.Stderr = c.text(res.Stderr)
	logs := len(res.Logs)
	for i := range res.Logs {
		l := &res.Logs[i]
		if c.left <= 0 {
			res.Logs = res.Logs[:i]
			break
		}
		if size := len(l.Message) + len(l.Attrs); size > c.left {
			l.Attrs = nil
		}
		l.Message = c.text(l.Message)
		c.left -= len(l.Attrs)
	}
	emits := len(res.Emits)
	for i := range res.Emits {
		if c.left <= 0 {
			res.Emits = res.Emits[:i]
			break
		}
		res.Emits[i] = c.value(res.Emits[i])
	}
	if n, k := logs-len(res.Logs), emits-len(res.Emits); n > 0 || k > 0 {
		res.Warnings = append(res.Warnings, proto.Warning{Kind: "OutputTruncated", Message: fmt.Sprintf(
			"%d of %d log records and %d of %d emits are left out: tenon runs output %s", n, logs, k, emits, c.id)})
	}
	res.Truncated = true
}

// outputSize is what counts against the limit.
func outputSize(res *proto.RunResult) int {
	n := len(res.Stdout) + len(res.Stderr)
	if string(res.Value) != "null" {
		n += len(valueText(res.Value))
	}
	for _, l := range res.Logs {
		n += len(l.Message) + len(l.Attrs)
	}
	for _, e := range res.Emits {
		n += len(e)
	}
	return n
}

// cutter spends a budget of bytes.
type cutter struct {
	left int
	id   string
}

// text keeps s if it fits, else its head and a marker; both count.
func (c *cutter) text(s string) string {
	if len(s) <= c.left {
		c.left -= len(s)
		return s
	}
	s = shorten(s, max(c.left, 0), c.id)
	c.left = 0
	return s
}

func (c *cutter) value(v json.RawMessage) json.RawMessage {
	text := valueText(v)
	if len(text) <= c.left {
		c.left -= len(text)
		return v
	}
	return quoted(c.text(text))
}

// shorten is s in at most n bytes with the marker at its end. A limit too small
// for the marker gives the marker alone.
func shorten(s string, n int, id string) string {
	if len(s) <= n {
		return s
	}
	kept := headOf(s, max(0, n-len(marker(len(s), len(s), id))))
	return kept + marker(len(kept), len(s), id)
}

// marker ends what was cut; docs and plugins rely on its form.
func marker(kept, total int, id string) string {
	return fmt.Sprintf("… [truncated: kept %d of %d bytes; tenon runs output %s]", kept, total, id)
}

// valueText is a value as text: a string as it is, anything else as JSON.
func valueText(v json.RawMessage) string {
	var s string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// wholeOf is the whole output of a result as one text: the value or stdout, and
// where more than that was too much, the rest below it.
func wholeOf(res *proto.RunResult) []byte {
	var b bytes.Buffer
	if string(res.Value) != "null" {
		b.WriteString(valueText(res.Value))
	}
	if res.Stdout != "" {
		section(&b, "stdout")
		b.WriteString(res.Stdout)
	}
	if res.Stderr != "" {
		section(&b, "stderr")
		b.WriteString(res.Stderr)
	}
	if len(res.Logs) > 0 {
		section(&b, "logs")
		for _, l := range res.Logs {
			b.WriteString(logLine(l) + "\n")
		}
	}
	for i, e := range res.Emits {
		section(&b, fmt.Sprintf("emit %d", i+1))
		b.WriteString(valueText(e))
	}
	return b.Bytes()
}

// section begins a further part; the first part has no title, so that an output
// of one part is kept byte for byte.
func section(b *bytes.Buffer, title string) {
	if b.Len() == 0 {
		return
	}
	if !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
		b.WriteByte('\n')
	}
	b.WriteString("--- " + title + " ---\n")
}

func logLine(l proto.Log) string {
	line := "[" + l.Level + "] " + l.Message
	if len(l.Attrs) > 0 && !strings.HasPrefix(string(l.Attrs), "{}") {
		line += " " + string(l.Attrs)
	}
	return line
}
