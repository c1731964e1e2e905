//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package mcpserver

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// feed passes what happens in a run on to the client: progress where it gave a
// token, log messages where it set a level. It never holds up the run: a client
// that does not read loses messages, never the answer.
type feed struct {
	x     *exchange
	token any
	exact bool // one call: its progress goes on as it came
	queue chan proto.Frame
	done  chan struct{}
	once  sync.Once
	step  float64 // of the last progress sent

	gate   sync.Mutex // between close and what a server logs late
	closed bool       // guarded by gate
}

// backlog is how many messages may wait for the client.
const backlog = 256

// feed makes the feed of a call; close ends it. Without a taker it does nothing.
func (x *exchange) feed(token any) *feed {
	f := &feed{x: x, token: token, exact: !x.c.mode.code()}
	if x.r.deaf || token == nil && !x.c.log.Load() {
		return f
	}
	f.queue, f.done = make(chan proto.Frame, backlog), make(chan struct{})
	go func() {
		defer close(f.done)
		for frame := range f.queue {
			f.pass(frame)
		}
	}()
	return f
}

// frame is for run.Spec.OnFrame; nil when nobody listens.
func (f *feed) frame() func(proto.Frame) {
	if f.queue == nil {
		return nil
	}
	return func(frame proto.Frame) {
		switch frame.Type {
		case "call", "progress", "log", "emit", "ask":
		default:
			return
		}
		select {
		case f.queue <- frame:
		default:
		}
	}
}

// serverLogged is the type of a frame that no run has: what a server logged during
// the call.
const serverLogged = "server-log"

// serverLog is for call.Request.OnLog; nil when nobody listens. What comes when
// the call is over goes nowhere.
func (f *feed) serverLog(server string) func(upstream.Log) {
	if f.queue == nil || !f.x.c.log.Load() {
		return nil
	}
	return func(l upstream.Log) {
		data, err := json.Marshal(l)
		if err != nil {
			return
		}
		f.gate.Lock()
		defer f.gate.Unlock()
		if f.closed {
			return
		}
		select {
		case f.queue <- proto.Frame{Type: serverLogged, Run: server, Data: data}:
		default:
		}
	}
}

// close waits until what was queued is out. The run must have ended.
func (f *feed) close() {
	f.once.Do(func() {
		if f.queue != nil {
			f.gate.Lock()
			f.closed = true
			close(f.queue)
			f.gate.Unlock()
			<-f.done
		}
	})
}

func (f *feed) pass(frame proto.Frame) {
	switch frame.Type {
	case serverLogged:
		var l upstream.Log
		if json.Unmarshal(frame.Data, &l) == nil {
			_ = f.x.ss.Log(f.x.ctx, f.x.c.logOf(frame.Run, l)) // a client that is gone ends the call by itself
		}
	case "log":
		var l proto.Log
		if json.Unmarshal(frame.Data, &l) == nil {
			f.log(frame.Run, l)
		}
	case "progress":
		var p proto.Progress
		if json.Unmarshal(frame.Data, &p) != nil {
			return
		}
		if f.exact {
			f.send(p.Progress, p.Total, p.Message)
			return
		}
		text := fmt.Sprintf("call %d: %v", p.Call, p.Progress)
		if p.Total > 0 {
			text += fmt.Sprintf(" of %v", p.Total)
		}
		if p.Message != "" {
			text += ": " + p.Message
		}
		f.next(text)
	case "call":
		var e proto.CallEvent
		if !f.exact && json.Unmarshal(frame.Data, &e) == nil {
			f.next(fmt.Sprintf("%s/%s %s", e.Server, e.Tool, e.Status))
		}
	case "ask":
		var a proto.Ask
		if json.Unmarshal(frame.Data, &a) == nil {
			f.next(a.Key + " waits for approval")
		}
	case "emit":
		f.next("emit: " + short(string(frame.Data)))
	}
}

// next is one step more; the protocol wants progress to grow.
func (f *feed) next(text string) {
	if f.exact {
		return
	}
	f.step++
	f.send(f.step, 0, text)
}

func (f *feed) send(progress, total float64, text string) {
	if f.token == nil {
		return
	}
	// A client that is gone ends the call by itself.
	_ = f.x.ss.NotifyProgress(f.x.ctx, &mcp.ProgressNotificationParams{ProgressToken: f.token, Progress: progress, Total: total, Message: text})
}

// levels are MCP's names of a program's levels, where they differ.
var levels = map[string]mcp.LoggingLevel{"warn": "warning", "log": "info", "trace": "debug"}

func (f *feed) log(run string, l proto.Log) {
	level, ok := levels[l.Level]
	if !ok {
		level = mcp.LoggingLevel(l.Level)
	}
	data := map[string]any{"message": l.Message, "run": run}
	if len(l.Attrs) > 0 {
		data["attrs"] = l.Attrs
	}
	_ = f.x.ss.Log(f.x.ctx, &mcp.LoggingMessageParams{Level: level, Logger: "exec", Data: data})
}

// short is the beginning of a value that a message names.
func short(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
