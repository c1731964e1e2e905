package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// logLine is one line of the daemon's log.
type logLine struct {
	raw     []byte
	at      time.Time
	level   slog.Level
	message string
	fields  []logField // in their order
	plain   bool       // no record: a crash of the runtime, or what a library printed
}

type logField struct {
	key   string
	value json.RawMessage
}

// logReader reads lines in order: what is no record belongs to the one before it.
type logReader struct{ last time.Time }

func (r *logReader) read(raw []byte) logLine {
	l, ok := parseLog(raw)
	if !ok {
		return logLine{raw: raw, at: r.last, level: slog.LevelError, message: string(raw), plain: true}
	}
	r.last = l.at
	return l
}

// parseLog reads a record, keeping the order of its fields.
func parseLog(raw []byte) (logLine, bool) {
	l := logLine{raw: raw}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return l, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return l, false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return l, false
		}
		var text string
		_ = json.Unmarshal(value, &text) // others stay as they are
		switch key {
		case slog.TimeKey:
			if l.at, err = time.Parse(time.RFC3339Nano, text); err != nil {
				return l, false
			}
		case slog.LevelKey:
			if l.level.UnmarshalText([]byte(text)) != nil {
				return l, false
			}
		case slog.MessageKey:
			l.message = text
		default:
			name, _ := key.(string)
			l.fields = append(l.fields, logField{name, value})
		}
	}
	return l, !l.at.IsZero()
}

// field is the text of a field, or empty.
func (l logLine) field(key string) string {
	for _, f := range l.fields {
		if f.key == key {
			return fieldText(f.value)
		}
	}
	return ""
}

func fieldText(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// text is the line for people: time, level, message, fields that say something.
func (l logLine) text() string {
	if l.plain {
		return l.message
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-5s %s", l.at.UTC().Format("2006-01-02T15:04:05.000Z"), l.level, l.message)
	for _, f := range l.fields {
		s := fieldText(f.value)
		if s == "" {
			continue
		}
		if strings.ContainsAny(s, " \t\n\"=") {
			s = strconv.Quote(s)
		}
		b.WriteString(" " + f.key + "=" + s)
	}
	return b.String()
}

// document is the line as JSON.
func (l logLine) document() json.RawMessage {
	if !l.plain {
		return l.raw
	}
	raw, err := marshal(map[string]string{slog.LevelKey: l.level.String(), slog.MessageKey: l.message})
	if err != nil {
		return json.RawMessage("{}") // text always marshals
	}
	return raw
}

// logFilter selects lines.
type logFilter struct {
	since                time.Time
	level                slog.Level
	run, session, server string
}

func (f logFilter) wants(l logLine) bool {
	if l.level < f.level || l.at.Before(f.since) {
		return false
	}
	// Of a run the part after its prefix will do: that is what ids differ in.
	run := strings.TrimPrefix(f.run, runPrefix)
	if run != "" && !strings.HasPrefix(strings.TrimPrefix(l.field("run"), runPrefix), run) {
		return false
	}
	if !strings.HasPrefix(l.field("session"), f.session) {
		return false
	}
	return f.server == "" || l.field("server") == f.server
}
