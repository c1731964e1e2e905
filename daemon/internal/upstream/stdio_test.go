package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

func TestCallReturnsTheRawResult(t *testing.T) {
	c := dial(t, stdioSpec(t))
	raw, err := c.Call(context.Background(), Call{Tool: "echo", Arguments: args(`{"text":"h\u00e9"}`)})
	if err != nil || string(raw) != `{"content":[{"type":"text","text":"hé"}]}` {
		t.Errorf("%s, %v", raw, err)
	}
	info := c.Info()
	if info.Protocol != "2025-06-18" || info.ServerName != "fake" || info.PID == 0 ||
		string(info.Capabilities) != `{"logging":{},"tools":{"listChanged":true}}` {
		t.Errorf("info %+v %s", info, info.Capabilities)
	}
	raw, err = c.Call(context.Background(), Call{Tool: "fail", Arguments: args(`{"empty":true}`)})
	if err != nil || string(raw) != `{"isError":true,"content":[]}` {
		t.Errorf("a failed tool's result must pass: %s, %v", raw, err)
	}
}

//
func TestArgumentsAreAlwaysAnObjectOnOneLine(t *testing.T) {
	c := dial(t, stdioSpec(t))
	for in, want := range map[string]string{
		"": `{}`, "{\n \"a\": null,\r\n\"b\":\"x\\ny\"}": "{  \"a\": null,  \"b\":\"x\\ny\"}", `{"a":[1,2]}`: `{"a":[1,2]}`,
	} {
		if got := text(t, c, Call{Tool: "args", Arguments: json.RawMessage(in)}); got != want {
			t.Errorf("%q arrived as %q", in, got)
		}
	}
	for _, wrong := range []string{`null`, `[]`, `{"a":`, "{}\n{}"} {
		_, err := c.Call(context.Background(), Call{Tool: "args", Arguments: json.RawMessage(wrong)})
		wantKind(t, err, fault.InvalidToolInput)
	}
}

//
func TestNoiseOnStdoutIsSkippedAndReported(t *testing.T) {
	e := &ear{}
	s := stdioSpec(t, "--say", "start", `Server ready\n`, "--say", "call", `{"level":"info","msg":"hush-hush"}\n\n   \t\n`)
	s.Observer, s.Secrets = e, []string{"hush-hush"}
	c := dial(t, s)
	for range 100 {
		if got := text(t, c, Call{Tool: "echo", Arguments: args(`{"text":"x"}`)}); got != "x" {
			t.Fatalf("got %q", got)
		}
	}
	noise, _, _ := e.heard()
	if len(noise) < 2 || len(noise) > 2*noiseBurst || noise[0] != "Server ready" || noise[1] != `{"level":"info","msg":"[secret]"}` {
		t.Errorf("noise %q", noise)
	}
}

//
func TestMessagesOfAnySizeUpToTheCap(t *testing.T) {
	const limit = 5 << 20
	s := stdioSpec(t)
	s.MaxMessage = limit
	c := dial(t, s)
	envelope := len(`{"jsonrpc":"2.0","id":1000001,"result":{"content":[{"type":"text","text":""}]}}`)
	for _, n := range []int{0, 65535, 65537, 4 << 20, limit - envelope} {
		if got := text(t, c, Call{Tool: "blob", Arguments: args(`{"bytes":%d}`, n)}); len(got) != n {
			t.Errorf("asked for %d bytes, got %d", n, len(got))
		}
	}
	for _, n := range []int{limit - envelope + 1, 3 * limit} {
		_, err := c.Call(context.Background(), Call{Tool: "blob", Arguments: args(`{"bytes":%d}`, n)})
		wantKind(t, err, fault.InvalidToolOutput, "5 MiB")
		if got := text(t, c, Call{Tool: "echo", Arguments: args(`{"text":"after"}`)}); got != "after" {
			t.Errorf("the next call gave %q", got)
		}
	}
}

//
func TestCancelFreesTheCallerAndTellsTheServerOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	c := dial(t, stdioSpec(t, "--ignore", "cancel", "--journal", path))
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(ctx, Call{Tool: "sleep", Arguments: args(`{"ms":300}`)})
		done <- err
	}()
	eventually(t, "the call arrives", func() bool { return len(methods(journal(t, path), "tools/call")) == 1 })
	began := time.Now()
	cancel(errors.New("the user pressed Esc"))
	err := <-done
	if took := time.Since(began); took > 250*time.Millisecond {
		t.Errorf("the caller waited %v", took)
	}
	wantKind(t, err, fault.Cancelled, "the user pressed Esc")
	// The late answer comes and is ignored; the connection works on.
	text(t, c, Call{Tool: "sleep", Arguments: args(`{"ms":500}`)})
	all := journal(t, path)
	told := methods(all, "notifications/cancelled")
	if len(told) != 1 {
		t.Fatalf("told %d times", len(told))
	}
	params := told[0]["params"].(map[string]any)
	if params["reason"] != "the user pressed Esc" || params["requestId"] != methods(all, "tools/call")[0]["id"] {
		t.Errorf("told %v", params)
	}
}

//
func TestInitializeIsNeverCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	s := stdioSpec(t, "--delay", "initialize", "60000", "--journal", path)
	s.StartTimeout = 300 * time.Millisecond
	_, err := Connect(context.Background(), record(t), s)
	wantKind(t, err, fault.ServerUnavailable, "300ms", "startTimeout")
	if fate(err) != fateNotSent || !NotSent(err) {
		t.Errorf("fate %s", fate(err))
	}
	if got := methods(journal(t, path), "notifications/cancelled"); len(got) != 0 {
		t.Errorf("initialize was cancelled: %v", got)
	}
}

//
func TestPingsInBothDirections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	c := dial(t, stdioSpec(t, "--ping", "20", "--journal", path))
	eventually(t, "three answered pings", func() bool {
		n := 0
		for _, m := range journal(t, path) {
			if r, ok := m["result"].(map[string]any); ok && len(r) == 0 {
				n++
			}
		}
		return n >= 3
	})
	if err := c.Ping(context.Background()); err != nil {
		t.Error(err)
	}
	for _, code := range []string{"-32601", "-32600"} {
		if err := dial(t, stdioSpec(t, "--answer-ping", code)).Ping(context.Background()); err != nil {
			t.Errorf("an answer %s counts as dead: %v", code, err)
		}
	}
}

//
func TestDeathOfTheServerNamesCodeAndLastWords(t *testing.T) {
	s := stdioSpec(t, "--exit", "call:3", "3", "--child", "1")
	s.Secrets = []string{"hunter2"}
	c := dial(t, s)
	text(t, c, Call{Tool: "echo"})
	text(t, c, Call{Tool: "stderr", Arguments: args(`{"text":"password hunter2 is wrong"}`)})
	_, err := c.Call(context.Background(), Call{Tool: "echo"})
	wantKind(t, err, fault.ServerUnavailable, "exit status 3", "exiting with 3 as told", "password [secret] is wrong")
	if fate(err) != fateUnknown || NotSent(err) {
		t.Errorf("fate %s", fate(err))
	}
	<-c.Done()
	wantKind(t, c.Err(), fault.ServerUnavailable, "exit status 3")
	_, err = c.Call(context.Background(), Call{Tool: "echo"})
	wantKind(t, err, fault.ServerUnavailable)
	if !NotSent(err) {
		t.Errorf("a call after the end has fate %s", fate(err))
	}
	if !strings.Contains(c.StderrTail(), "[secret]") {
		t.Errorf("stderr %q", c.StderrTail())
	}
}

func TestDeathDuringTheStartIsExplained(t *testing.T) {
	for _, when := range []string{"start", "initialize"} {
		_, err := Connect(context.Background(), record(t), stdioSpec(t, "--exit", when, "7"))
		wantKind(t, err, fault.ServerUnavailable, "exit status 7", "exiting with 7 as told")
		if !NotSent(err) {
			t.Errorf("%s: fate %s", when, fate(err))
		}
	}
	s := stdioSpec(t)
	s.Command = []string{"/no/such/program"}
	_, err := Connect(context.Background(), record(t), s)
	wantKind(t, err, fault.ServerUnavailable, "/no/such/program", "server fake")
}

//
func TestSlowStartSucceedsWithinItsLimit(t *testing.T) {
	s := stdioSpec(t, "--delay", "initialize", "700", "--delay", "list", "700")
	c := dial(t, s)
	if tools, err := c.Tools(context.Background()); err != nil || len(tools) == 0 {
		t.Errorf("%d tools, %v", len(tools), err)
	}
	s = stdioSpec(t, "--delay", "list", "60000")
	s.StartTimeout = 2 * time.Second
	_, err := dial(t, s).Tools(context.Background())
	wantKind(t, err, fault.ServerUnavailable, "startTimeout")
}

//
func TestEveryKnownProtocolVersionIsAccepted(t *testing.T) {
	for _, v := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		c := dial(t, stdioSpec(t, "--version", v))
		if got := c.Info().Protocol; got != v {
			t.Errorf("negotiated %s, want %s", got, v)
		}
		if got := text(t, c, Call{Tool: "echo", Arguments: args(`{"text":"x"}`)}); got != "x" {
			t.Errorf("%s: echo gave %q", v, got)
		}
	}
	_, err := Connect(context.Background(), record(t), stdioSpec(t, "--version", "1999-01-01"))
	wantKind(t, err, fault.ServerUnavailable, "1999-01-01", "2024-11-05", "2025-11-25")
}

// R-17, CODE-13
func TestProgressKeepsACallAliveUpToTheWall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	c := dial(t, stdioSpec(t, "--journal", path))
	var got []Progress
	s := text(t, c, Call{Tool: "tick", Arguments: args(`{"n":10,"ms":150}`), Timeout: time.Second, Wall: 20 * time.Second,
		Progress: func(p Progress) { got = append(got, p) }})
	if s != "done" || len(got) != 10 || got[9] != (Progress{10, 10, "tick 10"}) {
		t.Errorf("%q with progress %v", s, got)
	}
	began := time.Now()
	_, err := c.Call(context.Background(), Call{Tool: "tick", Arguments: args(`{"forever":true,"ms":100}`), Timeout: time.Second, Wall: 2 * time.Second})
	wantKind(t, err, fault.TimeoutExceeded, "callWall", "2s")
	if took := time.Since(began); took < 2*time.Second || took > 5*time.Second {
		t.Errorf("the wall stood at %v", took)
	}
	_, err = c.Call(context.Background(), Call{Tool: "sleep", Arguments: args(`{"ms":60000}`), Timeout: 200 * time.Millisecond, Wall: time.Minute})
	wantKind(t, err, fault.TimeoutExceeded, "callTimeout", "200ms")
	eventually(t, "both are cancelled", func() bool { return len(methods(journal(t, path), "notifications/cancelled")) == 2 })
	all := journal(t, path)
	for _, m := range methods(all, "tools/call") {
		if meta := m["params"].(map[string]any)["_meta"].(map[string]any); meta["progressToken"] == nil {
			t.Errorf("no progress token in %v", m)
		}
	}
	for _, m := range methods(all, "notifications/cancelled") {
		if m["params"].(map[string]any)["reason"] != "timeout" {
			t.Errorf("reason in %v", m)
		}
	}
}

//
func TestEveryPageOfToolsIsRead(t *testing.T) {
	c := dial(t, stdioSpec(t, "--more", "120", "--pages", "50"))
	tools, err := c.Tools(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if last := tools[len(tools)-1]; last.Name != "t120" || string(last.InputSchema) != `{"type":"object"}` {
		t.Errorf("%d tools, last %+v", len(tools), last)
	}
	if got := text(t, c, Call{Tool: "t120"}); got != "t120 {}" {
		t.Errorf("the last page's tool gave %q", got)
	}
	for _, kind := range []string{"repeat", "endless"} {
		_, err := dial(t, stdioSpec(t, "--cursor", kind, "--pages", "1")).Tools(context.Background())
		wantKind(t, err, fault.ServerUnavailable, "tools/list")
	}
}

func TestAnEntryThatIsNoToolDoesNotTakeTheOthersWithIt(t *testing.T) {
	c := dial(t, stdioSpec(t, "--say", "list:1", `{"jsonrpc":"2.0","id":1000001,"result":{"tools":[{"name":"one"},{"title":"nameless"},{"name":7},"text",null,{"name":"two","unusable":"no"}]}}\n`))
	tools, err := c.Tools(context.Background())
	if err != nil || len(tools) != 6 {
		t.Fatalf("%d entries, %v", len(tools), err)
	}
	for at, tool := range tools {
		if usable := at == 0 || at == 5; usable != (tool.Unusable == "") || !usable && !strings.Contains(tool.Unusable, "tools["+itoa(at)+"]") {
			t.Errorf("entry %d: %+v", at, tool)
		}
	}
}

// R-20, transport only
func TestListChangesAndLogsAreHeard(t *testing.T) {
	e := &ear{}
	s := stdioSpec(t)
	s.Observer = e
	c := dial(t, s)
	text(t, c, Call{Tool: "load"})
	text(t, c, Call{Tool: "log", Arguments: args(`{"text":"careful"}`)})
	eventually(t, "change and log are heard", func() bool {
		_, _, logs := e.heard()
		return e.changed() == 1 && len(logs) == 1 && logs[0] == "warning: careful"
	})
	if got := text(t, c, Call{Tool: "extra"}); got != "extra {}" {
		t.Errorf("extra gave %q", got)
	}
}

func TestRefusalsHaveKinds(t *testing.T) {
	c := dial(t, stdioSpec(t))
	_, err := c.Call(context.Background(), Call{Tool: "nothing"})
	wantKind(t, err, fault.UnknownTool, "unknown tool: nothing")
	_, err = c.Call(context.Background(), Call{Tool: "error", Arguments: args(`{"code":-32602,"text":"no such key"}`)})
	wantKind(t, err, fault.InvalidToolInput, "no such key")
	_, err = c.Call(context.Background(), Call{Tool: "error", Arguments: args(`{"code":7,"text":"broken"}`)})
	wantKind(t, err, fault.ToolFailure, "broken")
	var e *fault.Error
	if errors.As(err, &e); e.Tool != "error" || e.Server != "fake" {
		t.Errorf("error names %s %s", e.Server, e.Tool)
	}
}

func TestMalformedAnswerFailsItsCallOnly(t *testing.T) {
	c := dial(t, stdioSpec(t, "--say", "call:1", `{"jsonrpc":"2.0","id":1000001,"result":{"x":NaN}}\n`))
	_, err := c.Call(context.Background(), Call{Tool: "sleep", Arguments: args(`{"ms":60000}`)})
	wantKind(t, err, fault.InvalidToolOutput, "malformed JSON")
	text(t, c, Call{Tool: "echo"})
}

func TestAnswerWithoutAUsableResultFailsItsCallAtOnce(t *testing.T) {
	for answer, why := range map[string]string{
		`{"jsonrpc":"2.0","id":1000001}`:                            "neither a result nor an error",
		`{"jsonrpc":"2.0","id":1000001,"error":null}`:               "neither a result nor an error",
		`{"jsonrpc":"2.0","id":1000001,"result":null}`:              "no object",
		`{"jsonrpc":"2.0","id":1000001,"result":[{"type":"text"}]}`: "no object",
		`{"jsonrpc":"2.0","id":1000001,"result":"done"}`:            "no object",
	} {
		c := dial(t, stdioSpec(t, "--say", "call:1", answer+`\n`))
		_, err := c.Call(context.Background(), Call{Tool: "sleep", Arguments: args(`{"ms":60000}`)})
		wantKind(t, err, fault.InvalidToolOutput, why)
		text(t, c, Call{Tool: "echo"})
	}
}

func TestStderrFloodDoesNotStall(t *testing.T) {
	e := &ear{}
	s := stdioSpec(t, "--stderr", itoa(4<<20))
	s.Observer = e
	c := dial(t, s)
	text(t, c, Call{Tool: "echo"})
	if n := len(c.StderrTail()); n == 0 || n > stderrLines*(stderrLine+1) {
		t.Errorf("kept %d bytes of stderr", n)
	}
}

func TestManyCallsAtOnceGetTheirOwnAnswers(t *testing.T) {
	c := dial(t, stdioSpec(t))
	var work sync.WaitGroup
	for i := range 50 {
		work.Go(func() {
			for j := range 20 {
				want := itoa(i*1000 + j)
				ctx, cancel := context.WithCancel(context.Background())
				if j%5 == 4 {
					cancel() // before it is sent
				}
				raw, err := c.Call(ctx, Call{Tool: "echo", Arguments: args(`{"text":"%s"}`, want), Timeout: time.Minute})
				cancel()
				if j%5 == 4 {
					if fault.KindOf(err) != fault.Cancelled {
						t.Errorf("a cancelled call gave %v", err)
					}
				} else if err != nil || !strings.Contains(string(raw), `"`+want+`"`) {
					t.Errorf("%s: %s, %v", want, raw, err)
				}
			}
		})
	}
	work.Wait()
}
