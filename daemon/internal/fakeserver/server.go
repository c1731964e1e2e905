package fakeserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var errLocked = errors.New("profile is in use")

// server is the state of the process, shared by all its peers.
type server struct {
	o       *options
	tools   []byte // the result of tools/list when --tools gives one
	journal *os.File
	lock    *os.File
	stderr  io.Writer
	calls   atomic.Int64 // tools/call served, for counter
	asks    atomic.Int64 // ids of our own requests

	mu     sync.Mutex
	seen   map[string]int // how often each moment came
	value  json.RawMessage
	loaded int  // how often the tool load was called
	sent   bool // somebody was sent to the page of the tool visit

	material material
}

func newServer(o *options) (*server, error) {
	s := &server{o: o, seen: map[string]int{}, value: json.RawMessage("null"), stderr: io.Discard}
	if o.toolsFile != "" {
		data, err := readTools(o.toolsFile)
		if err != nil {
			return nil, err
		}
		s.tools = data
	}
	if o.lock != "" {
		f, err := os.OpenFile(o.lock, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("%s: %w", o.lock, errLocked)
		}
		s.lock = f
	}
	if o.journal != "" {
		f, err := os.OpenFile(o.journal, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		s.journal = f
	}
	return s, nil
}

func (s *server) close() {
	if s.journal != nil {
		_ = s.journal.Close()
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
}

// note appends one received message to the journal: one write, so that lines
// of concurrent peers do not mix.
func (s *server) note(raw []byte) {
	if s.journal == nil {
		return
	}
	message := json.RawMessage(raw)
	if !json.Valid(raw) {
		message, _ = json.Marshal(string(raw))
	}
	line, err := json.Marshal(struct {
		Time    time.Time       `json:"time"`
		Message json.RawMessage `json:"message"`
	}{time.Now(), message})
	if err == nil {
		_, _ = s.journal.Write(append(line, '\n'))
	}
}

// arrive counts a moment and does what the command line wants then: noise
// first, then a delay, then the exit. It gives the count, from 1.
func (s *server) arrive(when string, out writer) (n int) {
	s.mu.Lock()
	s.seen[when]++
	n = s.seen[when]
	s.mu.Unlock()
	for _, t := range []times{{when, 0}, {when, n}} {
		if text, ok := s.o.say[t]; ok {
			out.raw([]byte(text))
		}
	}
	if d := s.o.delay[when]; d > 0 {
		time.Sleep(d)
	}
	for _, t := range []times{{when, 0}, {when, n}} {
		if code, ok := s.o.exit[t]; ok {
			s.die(code)
		}
	}
	return n
}

func (s *server) sayAt(when string, out writer) {
	if text, ok := s.o.say[times{when: when}]; ok {
		out.raw([]byte(text))
	}
}

func (s *server) exitAt(when string) {
	if code, ok := s.o.exit[times{when: when}]; ok {
		s.die(code)
	}
}

func (s *server) die(code int) {
	fmt.Fprintf(s.stderr, "fake-server: exiting with %d as told\n", code)
	Exit(code)
}

// envelope is any JSON-RPC message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// handle works on one message from the peer. Answers go to out, which over
// HTTP is the stream of this request and else the peer's only stream.
func (s *server) handle(p *peer, out writer, raw []byte) {
	s.note(raw)
	var m envelope
	if err := json.Unmarshal(raw, &m); err != nil {
		out.message([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}`))
		return
	}
	switch {
	case m.Method == "":
		p.settle(&m)
	case len(m.ID) == 0:
		s.notified(p, &m)
	default:
		s.request(p, out, &m)
	}
}

func (s *server) notified(p *peer, m *envelope) {
	switch m.Method {
	case "notifications/initialized":
		s.arrive("initialized", p.out)
		if s.o.ping > 0 {
			p.start(func() { s.pingForever(p) })
		}
	case "notifications/cancelled":
		if s.o.ignore["cancel"] {
			return
		}
		var c struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &c) == nil {
			p.cancel(string(c.RequestID))
		}
	case "notifications/roots/list_changed":
		if !s.o.ignore["roots"] {
			p.start(func() { _, _ = p.ask(context.Background(), p.out, "roots/list", nil) })
		}
	}
}

func (s *server) request(p *peer, out writer, m *envelope) {
	switch m.Method {
	case "tools/call":
		s.callTool(p, out, m)
	case "tools/list":
		if n := s.arrive("list", out); n == s.o.refuseList {
			refuse(out, m.ID, -32603, "the list cannot be read now")
			return
		}
		answer(out, m.ID, s.listTools(m.Params))
	case "server/discover":
		if !s.modern() {
			refuse(out, m.ID, -32601, "method not found: "+m.Method)
			return
		}
		s.discover(out, m)
	case "initialize":
		if s.modern() { // it has no such thing any more
			refuse(out, m.ID, -32601, "method not found: "+m.Method)
			return
		}
		// The answer waits for ours to roots/list, so it cannot be given in
		// the reading loop.
		if s.o.ask["initialize"] {
			p.start(func() {
				_, _ = p.ask(context.Background(), out, "roots/list", nil)
				s.initialize(out, m)
			})
			return
		}
		s.initialize(out, m)
	case "ping":
		if s.o.answerPing != 0 {
			refuse(out, m.ID, s.o.answerPing, "no ping here")
			return
		}
		answer(out, m.ID, []byte(`{}`))
	default:
		if !s.materialRequest(p, out, m) {
			refuse(out, m.ID, -32601, "method not found: "+m.Method)
		}
	}
}

func (s *server) initialize(out writer, m *envelope) {
	s.arrive("initialize", out)
	result := map[string]any{
		"protocolVersion": s.o.version,
		"capabilities":    s.capabilities(),
		"serverInfo":      map[string]any{"name": s.o.name, "version": "1.0.0"},
	}
	if s.o.instructions != "" {
		result["instructions"] = s.o.instructions
	}
	data, _ := json.Marshal(result)
	answer(out, m.ID, data)
}

func (s *server) pingForever(p *peer) {
	tick := time.NewTicker(s.o.ping)
	defer tick.Stop()
	for {
		if _, err := p.ask(context.Background(), p.out, "ping", nil); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-p.done:
			return
		}
	}
}

func answer(out writer, id json.RawMessage, result []byte) {
	b := make([]byte, 0, len(result)+len(id)+40)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"result":`...)
	b = append(b, result...)
	out.message(append(b, '}'))
}

func refuse(out writer, id json.RawMessage, code int, message string) {
	text, _ := json.Marshal(message)
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	b = append(b, text...)
	out.message(append(b, '}', '}'))
}
