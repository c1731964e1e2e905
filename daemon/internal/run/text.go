package run

import (
	"fmt"
	"strings"

	"tenon/proto"
)

// Parts of a model's text are bounded so that one never crowds out the others;
// the value gets what the others leave.
const (
	errorBytes   = 4 << 10
	warningBytes = 2 << 10
)

// Text is what a model sees of a result, the same from every surface: the value
// or stdout, what was emitted, then the error, then compact warnings and logs;
// never the envelope. It keeps to the limits, marker included; a zero limit is none.
func Text(res *proto.RunResult, limits proto.TextLimits) string {
	body := ""
	if string(res.Value) != "null" {
		body = valueText(res.Value)
	}
	if res.Stdout != "" {
		body = join(body, strings.TrimRight(res.Stdout, "\n"))
	}
	for _, e := range res.Emits {
		body = join(body, "emit: "+valueText(e))
	}
	logs := make([]string, 0, len(res.Logs))
	for _, l := range res.Logs {
		logs = append(logs, logLine(l))
	}
	rest := strings.Join(logs, "\n")
	told := warnings(res.Warnings)
	tail := handles(body+rest+told, res.Artifacts)
	if res.Error != nil {
		if res.Stderr != "" {
			tail = join(tail, "stderr: "+clip(strings.TrimRight(res.Stderr, "\n"), errorBytes))
		}
		tail = join(tail, clip(ErrorText(res.Error), errorBytes))
	}
	tail = join(tail, told)
	if body == "" && tail == "" && rest == "" {
		return "(no value)"
	}
	return fit(body, tail, rest, limits, res.ID)
}

// CallText is Text for one call outside a program.
func CallText(res *proto.CallResult, limits proto.TextLimits, id string) string {
	body := valueText(res.Value)
	if string(res.Value) == "null" {
		body = "(no value)"
	}
	return fit(body, join(handles(body, res.Artifacts), warnings(res.Warnings)), "", limits, id)
}

// maxHandles bounds how many artifacts a text names beside its value.
const maxHandles = 5

// handles names what was kept and that a text does not tell of: a picture beside
// structured content, or one that a program did not return.
func handles(text string, artifacts []proto.Artifact) string {
	var out string
	left := 0
	for _, a := range artifacts {
		if a.ID == "" || strings.Contains(text, a.ID) {
			continue
		}
		if left++; left <= maxHandles {
			out = join(out, fmt.Sprintf("artifact %s: %s, %d bytes, %q (tenon runs output %s)", a.ID, line(a.MimeType), a.Bytes, clip(a.Name, 100), a.ID))
		}
	}
	if left > maxHandles {
		out += fmt.Sprintf("\nand %d more artifacts", left-maxHandles)
	}
	return out
}

// ErrorText is an error in a line or two: kind and message, where, what to do.
func ErrorText(e *proto.Error) string {
	text := "error " + e.Kind + ": " + e.Message
	if e.Position != nil {
		text += fmt.Sprintf(" (line %d, column %d)", e.Position.Line, e.Position.Column)
	}
	if e.Server != "" && !strings.Contains(e.Message, e.Server) {
		at := e.Server
		if e.Tool != "" {
			at += "/" + e.Tool
		}
		text += " [" + at + "]"
	}
	if e.Hint != "" {
		text += "\nhint: " + e.Hint
	}
	return text
}

// line is a text of somebody else's in one line.
func line(s string) string { return clip(strings.Join(strings.Fields(s), " "), 100) }

func warnings(list []proto.Warning) string {
	lines := make([]string, 0, len(list))
	for _, w := range list {
		lines = append(lines, "warning "+w.Kind+": "+w.Message)
	}
	return clip(strings.Join(lines, "\n"), warningBytes)
}

// fit puts the parts together within the limits: the tail is kept whole, the
// body gets the rest, the logs what the body leaves.
func fit(body, tail, logs string, limits proto.TextLimits, id string) string {
	whole := join(join(body, tail), logs)
	if within(whole, limits) {
		return whole
	}
	total := len(whole)
	room := proto.TextLimits{Bytes: limits.Bytes - len(tail) - 1, Lines: limits.Lines - lines(tail)}
	if limits.Bytes <= 0 {
		room.Bytes = total
	}
	if limits.Lines <= 0 {
		room.Lines = lines(whole)
	}
	// The marker stands where the cut is: in the logs if the body fits whole.
	end := marker(total, total, id)
	if cost := len(body) + len(end) + 2; logs != "" && cost <= room.Bytes && lines(body)+1 <= room.Lines {
		kept := headOf(firstLines(logs, room.Lines-lines(body)-1), room.Bytes-cost)
		return join(join(body, tail), join(kept, marker(total-len(logs)+len(kept), total, id)))
	}
	kept := headOf(firstLines(body, room.Lines-1), max(0, room.Bytes-len(end)-1))
	return join(join(kept, marker(len(kept), total, id)), tail)
}

func within(s string, limits proto.TextLimits) bool {
	return (limits.Bytes <= 0 || len(s) <= limits.Bytes) && (limits.Lines <= 0 || lines(s) <= limits.Lines)
}

func lines(s string) int {
	if s == "" {
		return 0
	}
	return strings.Count(s, "\n") + 1
}

// firstLines is at most n lines of s.
func firstLines(s string, n int) string {
	if n <= 0 {
		return ""
	}
	at := 0
	for ; n > 0; n-- {
		next := strings.IndexByte(s[at:], '\n')
		if next < 0 {
			return s
		}
		at += next + 1
	}
	return s[:at-1]
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	default:
		return a + "\n" + b
	}
}
