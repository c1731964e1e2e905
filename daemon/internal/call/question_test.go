package call

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

const (
	yesNo    = `{"message":"Sure?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}}}}`
	accepted = `{"action":"accept","content":{"ok":true}}`
	prompt   = `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}`
	said     = `{"role":"assistant","content":{"type":"text","text":"ho"},"model":"m"}`
)

// asks makes the server ask during the call; what it was told is the result.
func (r *rig) asks(method, params string) {
	r.conn.answer = func(ctx context.Context, c upstream.Call) (json.RawMessage, error) {
		got, err := c.Questions.Ask(ctx, method, json.RawMessage(params))
		if err != nil {
			got = json.RawMessage(`"` + string(fault.KindOf(err)) + `"`)
		}
		return proto.Marshal(map[string]any{"content": []any{}, "structuredContent": map[string]any{"told": got}})
	}
}

func (r *rig) told(req Request) (string, *Result) {
	r.t.Helper()
	res, err := r.path.Call(context.Background(), req)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(res.Value), res
}

func TestAQuestionGoesToTheBridgeThatStartedTheRun(t *testing.T) {
	r := newRig(t)
	r.asks("elicitation/create", yesNo)
	req := r.request("echo", `{"text":"x"}`)
	req.Origin = proto.Origin{Session: "ses_1", Call: "call_1"}
	var waits []string
	var mu sync.Mutex
	req.OnWait = func(kind string, begin bool) {
		mu.Lock()
		defer mu.Unlock()
		waits = append(waits, map[bool]string{true: "+", false: "-"}[begin]+kind)
	}
	req.Bridge = &bridge{id: "b1", question: func(_ context.Context, q proto.Question) (proto.Answer, error) {
		time.Sleep(20 * time.Millisecond) // the human's time, which the test is about
		if q.Origin.Call != "call_1" || q.Run != "run_1" || q.Server != "fake" || q.Tool != "echo" || q.Kind != "elicitation" || string(q.Params) != yesNo {
			t.Errorf("asked %+v", q)
		}
		return proto.Answer{Result: json.RawMessage(accepted)}, nil
	}}
	got, res := r.told(req)
	if got != `{"told":`+accepted+`}` || len(res.Warnings) != 0 {
		t.Errorf("got %s, warnings %v", got, res.Warnings)
	}
	if res.Times.Human < 20*time.Millisecond || res.Times.Tool > res.Times.Human {
		t.Errorf("times %+v", res.Times)
	}
	if got := strings.Join(waits[len(waits)-6:], " "); got != "+tool -tool +answer +tool -answer -tool" {
		t.Errorf("clocks %s", got)
	}
}

func TestAQuestionWithoutAnybodyIsDeclinedWithAWarning(t *testing.T) {
	r := newRig(t)
	began := time.Now()
	for method, params := range map[string]string{"elicitation/create": yesNo, "sampling/createMessage": prompt} {
		r.asks(method, params)
		got, res := r.told(r.request("echo", `{"text":"x"}`))
		if got != `{"told":"ApprovalRequired"}` || len(res.Warnings) != 1 || res.Warnings[0].Kind != "QuestionDeclined" ||
			!strings.Contains(res.Warnings[0].Message, "server fake asked "+method) || !strings.Contains(res.Warnings[0].Message, "no host and no terminal") {
			t.Errorf("got %s, warnings %+v", got, res.Warnings)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestAWrongQuestionIsTheServersMistake(t *testing.T) {
	r := newRig(t)
	r.asks("elicitation/create", `{"mode":"voice"}`)
	if got, _ := r.told(r.request("echo", `{"text":"x"}`)); got != `{"told":"InvalidToolInput"}` {
		t.Errorf("got %s", got)
	}
}

func TestTheUsersTerminalIsAskedAndNoAgents(t *testing.T) {
	r := newRig(t)
	r.asks("elicitation/create", yesNo)
	req := r.request("echo", `{"text":"x"}`)
	r.caller.Interactive = true
	over := make(chan proto.Withdraw, 1)
	req.OnWithdraw = func(w proto.Withdraw) { over <- w }
	req.OnQuestion = func(q proto.Question) {
		if err := r.router.Reply(q.ID, proto.Answer{Result: json.RawMessage(`{"action":"decline"}`)}, "user"); err != nil {
			t.Error(err)
		}
	}
	if got, _ := r.told(req); got != `{"told":{"action":"decline"}}` {
		t.Errorf("got %s", got)
	}
	<-over
	r.caller.Class = peer.Agent
	r.rule("fake_echo", "allow")
	if got, _ := r.told(req); got != `{"told":"ApprovalRequired"}` {
		t.Errorf("an agent's terminal: got %s", got)
	}
}

func TestAQuestionThatNobodyAnswersInTimeIsCancelled(t *testing.T) {
	r := newRig(t)
	r.view.Permissions.AskTimeout = 20 * time.Millisecond
	r.asks("elicitation/create", yesNo)
	req := r.request("echo", `{"text":"x"}`)
	req.Bridge = &bridge{id: "b1", question: func(ctx context.Context, _ proto.Question) (proto.Answer, error) {
		<-ctx.Done()
		return proto.Answer{}, ctx.Err()
	}}
	got, res := r.told(req)
	if got != `{"told":{"action":"cancel"}}` || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0].Message, "nobody answered within 20ms") {
		t.Errorf("got %s, warnings %+v", got, res.Warnings)
	}
}

func TestSamplingStandsBehindTheRules(t *testing.T) {
	r := newRig(t)
	r.asks("sampling/createMessage", prompt)
	var asked []string
	able := &bridge{id: "b2", host: "opencode-v2", human: true,
		reply: func(_ context.Context, a proto.Ask) (proto.AskReply, error) {
			asked = append(asked, a.Key)
			return proto.AskReply{Reply: "reject"}, nil
		},
		question: func(context.Context, proto.Question) (proto.Answer, error) {
			return proto.Answer{Result: json.RawMessage(said)}, nil
		}}
	req := r.request("echo", `{"text":"x"}`)
	req.Bridge = able
	if got, _ := r.told(req); got != `{"told":`+said+`}` || len(asked) != 0 {
		t.Errorf("allowed: got %s, asked %q", got, asked)
	}
	r.rule("fake_sampling", "ask")
	if got, _ := r.told(req); got != `{"told":"PermissionDenied"}` || len(asked) != 1 || asked[0] != "fake_sampling" {
		t.Errorf("asked: got %s, asked %q", got, asked)
	}
	req.Bridge = &bridge{id: "b1", human: true, reply: able.reply} // opencode v1, which has no model for us
	if got, _ := r.told(req); got != `{"told":"ApprovalRequired"}` || len(asked) != 1 {
		t.Errorf("nobody able: got %s, asked %q", got, asked)
	}
	r.view.Permissions.Rules = nil
	r.rule("fake_sampling", "deny")
	req.Bridge = able
	if got, res := r.told(req); got != `{"told":"PermissionDenied"}` || !strings.Contains(res.Warnings[0].Message, "fake_sampling is denied") {
		t.Errorf("denied: got %s", got)
	}
}

// Several questions at once, some outliving the call: run with -race.
func TestQuestionsThatOutliveTheirCallChangeNothing(t *testing.T) {
	r := newRig(t)
	var late sync.WaitGroup
	release := make(chan struct{})
	r.conn.answer = func(_ context.Context, c upstream.Call) (json.RawMessage, error) {
		begun := make(chan struct{}, 4)
		for range 4 {
			late.Go(func() {
				c.Questions.Waiting(func() { begun <- struct{}{}; <-release })
				c.Questions.Declined("elicitation/create", "late")
			})
			<-begun
		}
		return json.RawMessage(`{"content":[]}`), nil
	}
	req := r.request("echo", `{"text":"x"}`)
	balance := map[string]int{}
	var mu sync.Mutex
	req.OnWait = func(kind string, begin bool) {
		mu.Lock()
		defer mu.Unlock()
		if balance[kind]--; begin {
			balance[kind] += 2
		}
	}
	_, res := r.told(req)
	close(release)
	late.Wait()
	if len(res.Warnings) != 0 {
		t.Errorf("warnings %+v", res.Warnings)
	}
	for kind, n := range balance {
		if n != 0 {
			t.Errorf("clock %s is off by %d", kind, n)
		}
	}
}
