package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"tenon/proto"
)

// bridge is the double's WebSocket to the daemon: JSON-RPC in both directions.
type bridge struct {
	d    *double
	ws   *websocket.Conn
	gone chan struct{} // closed when the connection is

	mu      sync.Mutex
	pending map[string]chan proto.RPCMessage
	open    map[string]chan string // questions, to be withdrawn
	own     int64                  // ids of our own requests count down
}

func dial(socket string, d *double) (*bridge, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "ws://tenon/v1/bridge", &websocket.DialOptions{
		HTTPHeader: http.Header{proto.HeaderProtocol: {strconv.Itoa(proto.Protocol)}},
		HTTPClient: &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", socket)
			},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	ws.SetReadLimit(-1)
	b := &bridge{
		d: d, ws: ws, gone: make(chan struct{}),
		pending: map[string]chan proto.RPCMessage{}, open: map[string]chan string{},
	}
	go b.read()
	return b, nil
}

func (b *bridge) alive() bool {
	select {
	case <-b.gone:
		return false
	default:
		return true
	}
}

func (b *bridge) close() {
	_ = b.ws.Close(websocket.StatusNormalClosure, "")
	<-b.gone
}

func (b *bridge) send(m proto.RPCMessage) error {
	m.JSONRPC = proto.RPCVersion
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return b.ws.Write(ctx, websocket.MessageText, raw)
}

// request sends a request and waits for its answer or the end of the bridge.
func (b *bridge) request(id int64, method string, params []byte) (proto.RPCMessage, error) {
	key := strconv.FormatInt(id, 10)
	answer := make(chan proto.RPCMessage, 1)
	b.mu.Lock()
	b.pending[key] = answer
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.pending, key)
		b.mu.Unlock()
	}()
	if err := b.send(proto.RPCMessage{ID: json.RawMessage(key), Method: method, Params: params}); err != nil {
		return proto.RPCMessage{}, fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		return m, nil
	case <-b.gone:
		return proto.RPCMessage{}, fmt.Errorf("%s: the bridge was lost", method)
	}
}

// must sends a request of the double's own; a failure is an error.
func (b *bridge) must(method string, params []byte) error {
	b.mu.Lock()
	b.own--
	id := b.own
	b.mu.Unlock()
	m, err := b.request(id, method, params)
	if err == nil && m.Error != nil {
		err = fmt.Errorf("%s: %s", method, m.Error.Message)
	}
	return err
}

func (b *bridge) read() {
	defer close(b.gone)
	for {
		_, raw, err := b.ws.Read(context.Background())
		if err != nil {
			return
		}
		var m proto.RPCMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			_ = b.ws.Close(websocket.StatusInvalidFramePayloadData, "not JSON")
			return
		}
		switch {
		case m.Method == "":
			b.mu.Lock()
			answer := b.pending[string(m.ID)]
			b.mu.Unlock()
			if answer != nil {
				answer <- m
			}
		case m.Method == proto.MethodAsk:
			b.ask(m)
		case m.Method == proto.MethodQuestion:
			b.question(m)
		case m.Method == proto.MethodCatalogChanged:
			b.d.changes.Add(1)
		case len(m.ID) > 0:
			go b.serve(m)
		}
	}
}

// ask begins a question in the reader, so that a withdrawal that follows at
// once finds it.
func (b *bridge) ask(m proto.RPCMessage) {
	var ask proto.Ask
	if err := json.Unmarshal(m.Params, &ask); err != nil {
		b.reply(m.ID, nil, err)
		return
	}
	withdrawn := make(chan string, 1)
	b.mu.Lock()
	b.open[ask.ID] = withdrawn
	b.mu.Unlock()
	go func() {
		reply := b.d.answer(b, ask, withdrawn)
		b.mu.Lock()
		delete(b.open, ask.ID)
		b.mu.Unlock()
		b.reply(m.ID, reply, nil)
	}()
}

// serve answers the daemon's other requests.
func (b *bridge) serve(m proto.RPCMessage) {
	switch m.Method {
	case proto.MethodWithdraw:
		var w proto.Withdraw
		err := json.Unmarshal(m.Params, &w)
		b.mu.Lock()
		withdrawn := b.open[w.ID]
		b.mu.Unlock()
		if withdrawn != nil {
			select {
			case withdrawn <- w.Reason:
			default: // withdrawn twice
			}
		}
		b.reply(m.ID, proto.Done{}, err)
	case proto.MethodResolve:
		var r proto.Resolve
		err := json.Unmarshal(m.Params, &r)
		b.reply(m.ID, b.d.resolve(r), err)
	case proto.MethodNotice:
		var n proto.Notice
		err := json.Unmarshal(m.Params, &n)
		b.d.notice(n)
		b.reply(m.ID, proto.Done{}, err)
	default:
		_ = b.send(proto.RPCMessage{ID: m.ID, Error: &proto.RPCError{Code: proto.CodeMethodNotFound, Message: "no " + m.Method + " here"}})
	}
}

func (b *bridge) reply(id json.RawMessage, result any, err error) {
	if err != nil {
		_ = b.send(proto.RPCMessage{ID: id, Error: &proto.RPCError{Code: proto.CodeInvalidParams, Message: err.Error()}})
		return
	}
	raw, err := json.Marshal(result)
	if err != nil {
		panic(err) // our own types
	}
	_ = b.send(proto.RPCMessage{ID: id, Result: raw})
}
