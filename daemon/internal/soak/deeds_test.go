package soak

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// deed is one thing that a session does.
type deed struct {
	name   string
	weight int
	do     func(g *guest) error
}

var deeds = []deed{
	{"echo", 20, (*guest).echo},
	{"state", 16, (*guest).keepState},
	{"places", 8, (*guest).places},
	{"remotes", 8, (*guest).overHTTP},
	{"loop", 6, (*guest).loop},
	{"big result", 4, (*guest).big},
	{"slow and noisy", 4, (*guest).slowAndNoisy},
	{"kinds", 6, (*guest).kinds},
	{"crash", 6, (*guest).crash},
	{"scarce", 6, (*guest).scarce},
	{"cancel", 6, (*guest).cancelled},
	{"timeout", 3, (*guest).timedOut},
	{"throw", 3, (*guest).throws},
	{"lone call", 6, (*guest).loneCall},
	{"agent's shell", 4, (*guest).agentsShell},
	{"sub-agent", 5, (*guest).subAgent},
}

// pick chooses a deed by weight.
func pick() deed {
	total := 0
	for _, d := range deeds {
		total += d.weight
	}
	n := rand.IntN(total)
	for _, d := range deeds {
		if n -= d.weight; n < 0 {
			return d
		}
	}
	return deeds[0]
}

// queued is what a call of a scarce server may come to, besides success.
var queued = []fault.Kind{fault.PoolExhausted}

// echo makes calls in parallel and must get its own texts back, in order.
func (g *guest) echo() error {
	var tokens, calls []string
	for n := range 2 + rand.IntN(8) {
		token := g.w.token()
		tokens = append(tokens, token)
		calls = append(calls, fmt.Sprintf(`tools.%s.echo({text: %q})`, []string{"all", "quick"}[n%2], token))
	}
	r, ok, err := g.run("parallel calls", `await Promise.all([`+strings.Join(calls, ", ")+`])`)
	if err != nil || !ok {
		return err
	}
	g.w.book.answered(tokens...)
	return wants(r, tokens)
}

// keepState keeps a value in the session's own instance, and finds it there in a
// later run, or is told that it was lost.
func (g *guest) keepState() error {
	if g.state == "" || rand.IntN(3) == 0 {
		state := "state-of-" + g.id + fmt.Sprint("-", g.w.ids.Add(1))
		calm := g.w.kills.mark()
		r, ok, err := g.run("set state", fmt.Sprintf(`await tools.own.set({v: %q}); await tools.own.get()`, state), queued...)
		if err != nil || !ok {
			g.state = "" // it may have been set or not
			return err
		}
		g.state, g.calm = state, calm
		return g.mine(r)
	}
	r, ok, err := g.run("get state", `await tools.own.get()`, queued...)
	if err != nil || !ok {
		return err
	}
	return g.mine(r)
}

// mine checks the value of own.get.
func (g *guest) mine(r proto.RunResult) error {
	switch value := string(r.Value); {
	case strings.Contains(value, g.state):
		return nil
	case strings.Contains(value, "state-of-"):
		return fmt.Errorf("run %s of session %s sees the state of another: %s", r.ID, g.id, value)
	case warned(r, "StateLost"):
		g.w.book.count("state lost, and told so")
	case g.w.kills.excuses(g.calm):
		g.w.book.count("state lost with a killed daemon")
	default:
		return fmt.Errorf("run %s of session %s lost its state without a word: %s", r.ID, g.id, value)
	}
	g.state = ""
	return nil
}

// places asks servers of scopes repo and directory where they work.
func (g *guest) places() error {
	r, ok, err := g.run("scopes of directories", `await Promise.all([tools.repo.cwd(), tools.folder.cwd()])`)
	if err != nil || !ok {
		return err
	}
	return wants(r, []string{g.at.top, g.at.dir})
}

// overHTTP calls what is reached over HTTP, over streams that break as well.
func (g *guest) overHTTP() error {
	id := g.id + fmt.Sprint("-", g.w.ids.Add(1))
	code := fmt.Sprintf(`const text = %q; await Promise.all([tools.remote.echo({text}), tools.json.echo({text}), tools.sse.echo({text}), tools.dropping.echo({text}), tools.expiring.echo({text})])`, id)
	r, ok, err := g.run("calls over HTTP", code, queued...)
	if err != nil || !ok {
		return err
	}
	return wants(r, []string{id, id, id, id, id})
}

// loop makes many calls in sequence.
func (g *guest) loop() error {
	token := g.w.token()
	code := fmt.Sprintf(`const text = %q; let n = 0; for (let i = 0; i < 20; i++) if ((await tools.quick.echo({text: "loop-" + i})) === "loop-" + i) n++; [n, await tools.all.echo({text})]`, token)
	r, ok, err := g.run("calls in sequence", code)
	if err != nil || !ok {
		return err
	}
	g.w.book.answered(token)
	return wants(r, []any{20, token})
}

func (g *guest) big() error {
	r, ok, err := g.run("a big result", `const text = await tools.all.blob({bytes: 300000}); console.log(text); text.length`)
	if err != nil || !ok {
		return err
	}
	return wants(r, 300000)
}

func (g *guest) slowAndNoisy() error {
	r, ok, err := g.run("slow and noisy servers", fmt.Sprintf(`const text = %q; await Promise.all([tools.slow.echo({text}), tools.noisy.echo({text}), tools.changing.echo({text})])`, g.id))
	if err != nil || !ok {
		return err
	}
	return wants(r, []string{g.id, g.id, g.id})
}

func (g *guest) kinds() error {
	r, ok, err := g.run("module and command", fmt.Sprintf(`const text = %q; await Promise.all([tools.module.twice({text}), tools.command.say({text})])`, g.id))
	if err != nil || !ok {
		return err
	}
	return wants(r, []string{g.id + g.id, g.id})
}

// crash uses a server until it crashes under the call; only that may fail.
func (g *guest) crash() error {
	if rand.IntN(3) == 0 {
		_, _, err := g.run("a frail server", `await tools.frail.pid()`, fault.ServerUnavailable)
		return err
	}
	code := `let failed = 0; for (let i = 0; i < 9; i++) { try { await tools.crashy.pid() } catch (e) { if (e.kind !== "ServerUnavailable") throw e; failed++ } } failed`
	_, _, err := g.run("crash", code, fault.PoolExhausted)
	return err
}

// scarce wants what there is too little of, or what does not go when told.
func (g *guest) scarce() error {
	server := []string{"tight", "tight", "stubborn", "nested"}[rand.IntN(4)]
	r, ok, err := g.run("scarce servers", fmt.Sprintf(`await tools.%s.sleep({ms: 100}); await tools.%s.echo({text: %q})`, server, server, g.id), queued...)
	if err != nil || !ok {
		return err
	}
	return wants(r, g.id)
}

// cancelled starts a long call and takes it back.
func (g *guest) cancelled() error {
	kills, deaths := g.w.kills.mark(), g.slot.deaths.mark()
	start, id := g.program(g.id, `emit(1); await tools.all.sleep({ms: 600000})`), g.host.NextID()
	type ended struct {
		o   rig.Outcome
		err error
	}
	end := make(chan ended, 1)
	go func() {
		o, err := g.host.Start(start, id)
		end <- ended{o, err}
	}()
	tick := time.NewTicker(10 * rig.PollEvery)
	defer tick.Stop()
	for hung := time.After(hangs); ; {
		err := g.host.Cancel(id, "user")
		excused := g.w.kills.excuses(kills) || g.died(deaths)
		if err != nil && !excused {
			return fmt.Errorf("cancel: %w", err)
		}
		select {
		case e := <-end:
			excused = g.w.kills.excuses(kills) || g.died(deaths)
			if !excused && (e.err != nil || e.o.Code != fault.Cancelled.ExitCode()) {
				return fmt.Errorf("a cancelled run ended with %d: %s %v", e.o.Code, e.o.Stderr, e.err)
			}
			var done proto.RunDone
			if json.Unmarshal(e.o.Stdout, &done) == nil && done.Result.ID != "" {
				g.w.book.given(done.Result)
			}
			g.w.book.count("cancelled")
			return nil
		case <-tick.C: // the request may not have arrived before its cancel
		case <-hung:
			return fmt.Errorf("a cancelled run goes on after %s", hangs)
		}
	}
}

func (g *guest) timedOut() error {
	start := g.program(g.id, `await tools.all.sleep({ms: 600000})`)
	start.TimeoutMS = 500
	r, ok, err := g.runFor("timeout", start, fault.TimeoutExceeded)
	if err == nil && ok {
		err = fmt.Errorf("run %s ended well, and should have been out of time", r.ID)
	}
	return err
}

func (g *guest) throws() error {
	r, ok, err := g.run("throw", `throw new Error("on purpose")`, fault.ScriptError)
	if err == nil && ok {
		err = fmt.Errorf("run %s ended well, and throws", r.ID)
	}
	return err
}

func (g *guest) loneCall() error {
	token := g.w.token()
	arguments, err := json.Marshal(map[string]string{"text": token})
	if err != nil {
		return err
	}
	call := proto.CallStart{
		Origin:    proto.Origin{Session: g.id, Call: rig.CallID(g.w.ids.Add(1)), Agent: "build"},
		Directory: g.at.dir, Server: "all", Tool: "echo", Arguments: arguments, Text: modelLimits,
	}
	o, ok, err := g.try("lone call", nil, g.request(proto.MethodCallStart, call))
	if err != nil || !ok {
		return err
	}
	if !strings.Contains(string(o.Stdout), `"`+token+`"`) {
		return fmt.Errorf("got %s, want %s", rig.Tail(o.Stdout, 300), token)
	}
	g.w.book.answered(token)
	return nil
}

// agentsShell calls from a shell that the session's agent has opened.
func (g *guest) agentsShell() error {
	// A plugin connects again by itself; a double with its next request.
	_, ok, err := g.try("status", nil, g.request(proto.MethodStatusGet, proto.StatusGet{Session: g.id}))
	if err != nil || !ok {
		return err
	}
	token := g.w.token()
	o, ok, err := g.try("tenon call in an agent's shell", nil, func() (rig.Outcome, error) {
		return g.w.command(rig.Command{Argv: []string{"tenon", "call", "all", "echo", "text=" + token}, Dir: g.at.dir, As: g.id})
	})
	if err != nil || !ok {
		return err
	}
	if got := strings.TrimSpace(string(o.Stdout)); got != token {
		return fmt.Errorf("got %q, want %q", got, token)
	}
	g.w.book.answered(token)
	return nil
}

// subAgent is a child of the session, which must see its parent's state.
func (g *guest) subAgent() error {
	if g.state == "" {
		return nil
	}
	child := g.id + fmt.Sprint("-child-", g.w.ids.Add(1))
	if ok, err := g.attach(child, g.id); err != nil || !ok {
		return err
	}
	r, ok, err := g.runFor("sub-agent", g.program(child, `await tools.own.get()`), queued...)
	// A child that is new to the instance has lost nothing, so it is not told.
	if value := string(r.Value); err == nil && ok && !strings.Contains(value, g.state) {
		if strings.Contains(value, "state-of-") {
			err = fmt.Errorf("run %s of %s sees a stranger's state: %s", r.ID, child, value)
		}
	}
	if err != nil {
		return err
	}
	return g.leave(child, true)
}
