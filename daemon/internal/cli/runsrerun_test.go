package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestARunIsMadeAnewAsItWas(t *testing.T) {
	limit := int64(5000)
	req, err := again(proto.Run{
		ID: "run_1", Status: "ok", Engine: "deno", Cwd: "/work", Code: "return input",
		Options: &proto.RunOptions{
			Sandbox: "read-only", Typecheck: "warn", Where: "local", Args: []string{"a"}, Input: json.RawMessage(`{"x":1}`),
			Limits: &proto.RunLimits{TimeoutMS: &limit, MaxToolCalls: 3},
		},
	})
	if err != nil || req.Code != "return input" || req.Engine != "deno" || req.Cwd != "/work" || req.Sandbox != "read-only" || req.Where != "local" ||
		string(req.Input) != `{"x":1}` || req.Args[0] != "a" || *req.TimeoutMS != 5000 || req.MaxToolCalls != 3 {
		t.Errorf("%+v, %v", req, err)
	}
	req, err = again(proto.Run{Status: "ok", Engine: "embedded", Code: "1", Options: &proto.RunOptions{Sandbox: "confined", Script: "deploy", Export: "main"}})
	if err != nil || req.Script != "deploy" || req.Export != "main" || req.Code != "" || req.Sandbox != "" {
		t.Errorf("a saved script: %+v, %v", req, err)
	}
	for why, r := range map[string]proto.Run{
		"goes on":          {Status: "running", Code: "1"},
		"is one call":      {Status: "ok", Engine: "call", Code: "call(…)"},
		"not kept whole":   {Status: "ok", Code: "1", Options: &proto.RunOptions{Cut: []string{"given"}}},
		"secret is masked": {Status: "ok", Code: "1", Options: &proto.RunOptions{Input: json.RawMessage(`{"t":"[redacted]"}`)}},
	} {
		if _, err := again(r); fault.KindOf(err) != fault.UsageError || !strings.Contains(err.Error(), why) || fault.From(err).Hint == "" {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func TestWhoRunsAgainIsToldThatStandardInputIsNotKept(t *testing.T) {
	p := newPlace(t, nil)
	for piped, words := range map[bool][]string{true: {"-e", "return (await stdin.text()).length"}, false: {"-e", "return 1"}} {
		cmd := p.command(append([]string{"exec"}, words...)...)
		if piped {
			cmd.Stdin = strings.NewReader("twelve bytes")
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		run := p.lastRun()
		got := p.run("runs", "rerun", run.ID)
		if strings.Contains(got.err, "had standard input, which is not kept") != piped {
			t.Errorf("piped %v: %+v", piped, got)
		}
	}
}

func TestMomentsAreReadAsPeopleWriteThem(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2h": "2026-03-10T10:00:00Z", "7d": "2026-03-03T12:00:00Z", "90m": "2026-03-10T10:30:00Z",
		"2026-01-31": "2026-01-31T00:00:00Z", "2026-01-31T12:00:00+01:00": "2026-01-31T11:00:00Z",
		"yesterday": "", "-2h": "", "-1d": "", "": "",
	} {
		at, ok := momentOf(text, now)
		if ok != (want != "") || ok && at.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v", text, at, ok)
		}
	}
}
