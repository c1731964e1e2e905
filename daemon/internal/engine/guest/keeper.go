package guest

import (
	"encoding/json"
	"slices"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
)

// Keeper hands what a program says to the host at once, and keeps it in the
// outcome within the limits. It belongs to one goroutine.
type Keeper struct {
	Limits engine.Limits
	Script *script.Program
	Host   engine.Host
	Out    *engine.Outcome

	logs, emits int64 // bytes kept
}

// Log is one record; attrs is JSON or empty, stack leads to its place.
func (k *Keeper) Log(level, message, attrs, stack string) {
	switch level {
	case "debug", "info", "warn", "error":
	default: // not of the prelude's making
		level = "info"
	}
	rec := engine.LogRecord{Level: level, Message: Valid(message), Time: time.Now()}
	if text := []byte(Valid(attrs)); json.Valid(text) {
		rec.Attrs = text
	}
	if frames := k.Script.Frames(stack, File); len(frames) > 0 {
		rec.Position = &frames[0].Position
	}
	k.Host.Log(rec)
	size := int64(len(rec.Message) + len(rec.Attrs))
	if len(k.Out.Logs) >= k.Limits.Logs || k.logs+size > k.Limits.Capture {
		k.Out.Dropped.LogRecords++
		k.Out.Dropped.LogBytes += size
		return
	}
	k.logs += size
	k.Out.Logs = append(k.Out.Logs, rec)
}

// Emit is one emitted value, as valid JSON; false: it is nested too deep.
func (k *Keeper) Emit(text string) bool {
	if depth, _ := Inspect([]byte(text)); depth > k.Limits.Depth {
		return false
	}
	k.Host.Emit([]byte(text))
	if k.emits+int64(len(text)) > k.Limits.Capture {
		k.Out.Dropped.EmitBytes += int64(len(text))
		return true
	}
	k.emits += int64(len(text))
	k.Out.Emits = append(k.Out.Emits, json.RawMessage(text))
	return true
}

// Value keeps the result. One that is longer than the limit is kept as a string
// that holds the head of its JSON. The failure is that it is nested too deep.
func (k *Keeper) Value(text string) *Failure {
	if depth, _ := Inspect([]byte(text)); depth > k.Limits.Depth {
		return &Failure{Own: fault.New(fault.ScriptError, "the result is nested deeper than %d levels", k.Limits.Depth)}
	}
	if int64(len(text)) <= k.Limits.Capture {
		k.Out.Value = json.RawMessage(text)
		return nil
	}
	head := headOf(text, int(k.Limits.Capture))
	k.Out.Dropped.ValueBytes = int64(len(text) - len(head))
	k.Out.Value, _ = json.Marshal(head)
	return nil
}

// resultWarnings are the kinds of warnings that a prelude gives.
var resultWarnings = []string{"FunctionResult", "PromiseInResult"}

// Warn is a warning about the result; one of another kind is not of the prelude's
// making, and a kind comes once.
func (k *Keeper) Warn(kind, message string) {
	if !slices.Contains(resultWarnings, kind) || slices.ContainsFunc(k.Out.Warnings, func(w engine.Warning) bool { return w.Kind == kind }) {
		return
	}
	k.Out.Warnings = append(k.Out.Warnings, engine.Warning{Kind: kind, Message: Clip(Valid(message), 500)})
}
