package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/history"
	"tenon/proto"
)

var historyAll = history.Filter{}

// CODE-16 and R-30.
func TestOutputIsCutAtTheLimitAndKeptWhole(t *testing.T) {
	r := newRig(t)
	whole := strings.Repeat("äöü€", 50_000)
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	res := r.exec(proto.ExecRequest{}, func(context.Context, engine.Program, engine.Host) *engine.Outcome { return value(string(text)) })
	var got string
	if err := json.Unmarshal(res.Value, &got); err != nil {
		t.Fatal(err)
	}
	if !res.Truncated || len(got) > DefaultOutput || len(got) < DefaultOutput-200 || !utf8.ValidString(got) {
		t.Fatalf("truncated %v, %d bytes", res.Truncated, len(got))
	}
	if len(res.Artifacts) != 1 {
		t.Fatalf("artifacts %+v", res.Artifacts)
	}
	kept := strings.Index(got, "…")
	want := fmt.Sprintf("… [truncated: kept %d of %d bytes; tenon runs output %s]", kept, len(whole), res.Artifacts[0].ID)
	if got[kept:] != want || !strings.HasPrefix(whole, got[:kept]) {
		t.Errorf("marker %q, want %q", got[kept:], want)
	}
	for _, id := range []string{res.Artifacts[0].ID, res.ID} {
		if _, data, err := r.m.Output(context.Background(), id); err != nil || string(data) != whole {
			t.Errorf("output %s: %d bytes, %v", id, len(data), err)
		}
	}
	if got := r.exec(proto.ExecRequest{MaxOutputBytes: 1 << 20}, func(context.Context, engine.Program, engine.Host) *engine.Outcome { return value(string(text)) }); got.Truncated || len(got.Value) != len(text) {
		t.Error("within the limit every byte comes")
	}
}

func TestTheOutputOfASmallRunIsItsValue(t *testing.T) {
	r := newRig(t)
	res := r.exec(proto.ExecRequest{}, func(context.Context, engine.Program, engine.Host) *engine.Outcome { return value(`"small"`) })
	if _, data, err := r.m.Output(context.Background(), res.ID); err != nil || string(data) != "small" {
		t.Errorf("%q, %v", data, err)
	}
	if _, _, err := r.m.Output(context.Background(), "run_none"); err == nil {
		t.Error("an unknown run has none")
	}
}

func TestTheLimitHoldsForEverythingTogether(t *testing.T) {
	r := newRig(t)
	for name, out := range map[string]*engine.Outcome{
		"stdout": {Stdout: strings.Repeat("x", 5000)},
		"logs": {Value: json.RawMessage(`"v"`), Logs: []engine.LogRecord{{Level: "info", Message: strings.Repeat("a", 600)}, {Level: "info", Message: strings.Repeat("b", 600)},
			{Level: "info", Message: strings.Repeat("c", 600), Attrs: json.RawMessage(`{"k":"` + strings.Repeat("d", 900) + `"}`)}}},
		"emits": {Emits: []json.RawMessage{json.RawMessage(`"` + strings.Repeat("e", 3000) + `"`), json.RawMessage(`1`)}},
		"value": {Value: json.RawMessage(`{"k":"` + strings.Repeat("v", 3000) + `"}`), Stdout: "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			res := r.exec(proto.ExecRequest{MaxOutputBytes: 1000}, func(context.Context, engine.Program, engine.Host) *engine.Outcome { return out })
			if !res.Truncated || outputSize(res) > 1000+2*len(marker(1, 1, res.Artifacts[0].ID))+16 {
				t.Errorf("%d bytes, truncated %v", outputSize(res), res.Truncated)
			}
			if !json.Valid(res.Value) {
				t.Errorf("value %s", res.Value)
			}
			if text, err := json.Marshal(res); err != nil || !strings.Contains(string(text), "tenon runs output art_") {
				t.Errorf("%s %v", text, err)
			}
		})
	}
}

func TestTextShowsValueThenErrorThenWarningsAndLogs(t *testing.T) {
	res := &proto.RunResult{
		ID: "run_1", Value: json.RawMessage(`"plain"`), Emits: []json.RawMessage{json.RawMessage(`{"n":1}`)},
		Error:    &proto.Error{Kind: "ToolFailure", Message: "nope", Server: "fake", Tool: "echo", Hint: "do this", Position: &proto.Position{Line: 2, Column: 4}},
		Warnings: []proto.Warning{{Kind: "StateLost", Message: "gone"}},
		Logs:     []proto.Log{{Level: "info", Message: "hi", Attrs: json.RawMessage(`{"a":1}`)}},
	}
	want := "plain\nemit: {\"n\":1}\nerror ToolFailure: nope (line 2, column 4) [fake/echo]\nhint: do this\nwarning StateLost: gone\n[info] hi {\"a\":1}"
	if got := Text(res, proto.TextLimits{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Text(&proto.RunResult{Value: json.RawMessage(`{"a":[1]}`)}, proto.TextLimits{}); got != `{"a":[1]}` {
		t.Errorf("%q", got)
	}
	if got := Text(&proto.RunResult{Value: json.RawMessage(`null`), Stdout: "out\n"}, proto.TextLimits{}); got != "out" {
		t.Errorf("%q", got)
	}
	if got := Text(&proto.RunResult{Value: json.RawMessage(`null`)}, proto.TextLimits{}); got != "(no value)" {
		t.Errorf("%q", got)
	}
}

func TestTextKeepsToItsLimitsAndTheErrorVisible(t *testing.T) {
	long := strings.Repeat("ä line of text\n", 10_000)
	text, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	logs := make([]proto.Log, 3000)
	for i := range logs {
		logs[i] = proto.Log{Level: "info", Message: "record"}
	}
	failure := &proto.Error{Kind: "ScriptError", Message: "boom"}
	for name, res := range map[string]*proto.RunResult{
		"value":          {ID: "run_1", Value: text},
		"value, error":   {ID: "run_1", Value: text, Error: failure},
		"value and logs": {ID: "run_1", Value: text, Error: failure, Logs: logs},
		"logs":           {ID: "run_1", Value: json.RawMessage("5"), Error: failure, Logs: logs},
		"long lines":     {ID: "run_1", Value: json.RawMessage(`"` + strings.Repeat("é", 100_000) + `"`)},
	} {
		for _, limits := range []proto.TextLimits{{Bytes: 48 << 10, Lines: 1900}, {Bytes: 1000}, {Lines: 50}} {
			got := Text(res, limits)
			if limits.Bytes > 0 && len(got) > limits.Bytes || limits.Lines > 0 && lines(got) > limits.Lines || !utf8.ValidString(got) {
				t.Errorf("%s %+v: %d bytes, %d lines", name, limits, len(got), lines(got))
			}
			if name == "long lines" && limits.Bytes == 0 {
				continue // one line is within fifty
			}
			if !strings.Contains(got, "tenon runs output run_1]") {
				t.Errorf("%s %+v: no marker in …%q", name, limits, got[max(0, len(got)-200):])
			}
			if res.Error != nil && !strings.Contains(got, "error ScriptError: boom") {
				t.Errorf("%s %+v: the error is cut away", name, limits)
			}
		}
	}
}
