package embedded

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// capture counts what the outcome keeps of values, logs and emits.
type capture struct {
	limit       int64
	logs, emits int64 // bytes
}

// log is LOG: level, message, attributes, stack.
func (r *run) log(a args) {
	rec := engine.LogRecord{Level: a.text(0), Message: valid(a.text(1)), Time: time.Now()}
	if a.has(2) {
		rec.Attrs = json.RawMessage(valid(a.text(2)))
	}
	if frames := r.script.Frames(a.text(3), fileName); len(frames) > 0 {
		rec.Position = &frames[0].Position
	}
	r.host.Log(rec)
	size := int64(len(rec.Message) + len(rec.Attrs))
	if len(r.out.Logs) >= r.program.Limits.Logs || r.capture.logs+size > r.capture.limit {
		r.out.Dropped.LogRecords++
		r.out.Dropped.LogBytes += size
		return
	}
	r.capture.logs += size
	r.out.Logs = append(r.out.Logs, rec)
}

func (r *run) emit(text string) {
	if depth, _ := inspect([]byte(text)); depth > r.program.Limits.Depth {
		panic(errDeep)
	}
	r.host.Emit([]byte(text))
	if r.capture.emits+int64(len(text)) > r.capture.limit {
		r.out.Dropped.EmitBytes += int64(len(text))
		return
	}
	r.capture.emits += int64(len(text))
	r.out.Emits = append(r.out.Emits, json.RawMessage(text))
}

// value keeps the result. One that is longer than the limit is kept as a string
// that holds the head of its JSON.
func (r *run) value(text string) {
	if depth, _ := inspect([]byte(text)); depth > r.program.Limits.Depth {
		r.failure = &failure{fault: fault.New(fault.ScriptError, "the result is nested deeper than %d levels", r.program.Limits.Depth)}
		return
	}
	if int64(len(text)) <= r.capture.limit {
		r.out.Value = json.RawMessage(text)
		return
	}
	head := text[:r.capture.limit]
	for len(head) > 0 && !utf8.RuneStart(text[len(head)]) {
		head = head[:len(head)-1]
	}
	r.out.Dropped.ValueBytes = int64(len(text) - len(head))
	r.out.Value, _ = json.Marshal(head)
}
