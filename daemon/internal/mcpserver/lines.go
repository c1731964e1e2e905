package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// Times of an upgraded connection.
const (
	// eofGrace is how long calls may go on whose client has closed its input: a
	// shell's pipe ends its input with its last request and still wants the answer.
	eofGrace = 5 * time.Second
	// writeTimeout is how long a client may read nothing of a message.
	writeTimeout = 30 * time.Second
	// maxUnread is how many messages may wait for a client that does not read,
	// until no more of its own are read.
	maxUnread = 256
)

func upgrades(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), proto.UpgradeMCP)
}

// serveLines speaks MCP's stdio framing, a message a line, on the connection of
// the request, which is not HTTP's any more.
func (s *Server) serveLines(w http.ResponseWriter, r *http.Request, caller *peer.Caller, m mode) error {
	if err := s.check(caller, m); err != nil {
		return err
	}
	c := s.newConn(m)
	if err := s.add(c); err != nil {
		return err
	}
	why := fault.New(fault.Cancelled, "the client closed its connection")
	defer func() { s.finish(c, why) }()
	wire, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fault.New(fault.InternalError, "the connection cannot be upgraded: %w", err)
	}
	defer wire.Close()
	_ = wire.SetDeadline(time.Time{}) // those of the request
	t := &lines{c: c, r: r, caller: caller, wire: wire, in: buffered.Reader, pending: map[string]func(){}, idle: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	head := fmt.Sprintf("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n%s: %s\r\n\r\n",
		proto.UpgradeMCP, proto.HeaderProtocol, w.Header().Get(proto.HeaderProtocol), proto.HeaderBuild, w.Header().Get(proto.HeaderBuild))
	if err := t.write([]byte(head)); err != nil {
		return nil // the client is gone
	}
	ss, err := c.sdk.Connect(context.WithoutCancel(r.Context()), t, nil)
	if err != nil {
		s.log.Error("MCP connection failed", "error", err)
		return nil
	}
	if err := ss.Wait(); err != nil && !errors.Is(err, io.EOF) {
		s.log.Debug("MCP connection ended", "connection", c.id, "error", err)
	}
	return nil
}

// lines is a transport of the SDK, and the connection of it.
type lines struct {
	c      *conn
	r      *http.Request // that the connection began with
	caller *peer.Caller  // as it was then
	wire   net.Conn
	in     *bufio.Reader

	ids    ids
	out    sync.Mutex    // one message at a time
	unread atomic.Int64  // messages that wait to be written
	room   chan struct{} // one of them was

	mu      sync.Mutex
	pending map[string]func() // calls without an answer, by id: what to do then
	idle    chan struct{}     // somebody may look whether nothing is pending
}

var _ mcp.Transport = (*lines)(nil)

// Connect is of mcp.Transport.
func (t *lines) Connect(context.Context) (mcp.Connection, error) { return t, nil }

// SessionID is of mcp.Connection: lines have none.
func (t *lines) SessionID() string { return "" }

// Close is of mcp.Connection.
func (t *lines) Close() error { return t.wire.Close() }

// Read gives the next message. At the end of the input it waits a little for
// the answers to what was asked before, then ends what is left.
func (t *lines) Read(context.Context) (jsonrpc.Message, error) {
	for {
		for t.unread.Load() > maxUnread { // each write ends, within writeTimeout
			<-t.room
		}
		line, err := t.line()
		if err != nil {
			t.drain()
			t.c.kill(fault.New(fault.Cancelled, "the client closed its connection"))
			return nil, io.EOF
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		msg, err := jsonrpc.DecodeMessage(t.ids.in(line))
		if err != nil {
			t.refuse(jsonrpc.CodeParseError, "the line is no message: "+err.Error())
			continue
		}
		if req, ok := msg.(*jsonrpc.Request); ok {
			t.admit(req)
		}
		return msg, nil
	}
}

// line reads one line of at most MaxMessage bytes; a longer one is refused and
// passed over.
func (t *lines) line() ([]byte, error) {
	var whole []byte
	over := false
	for {
		part, err := t.in.ReadSlice('\n')
		if !over {
			whole = append(whole, part...)
		}
		if len(whole) > MaxMessage {
			over, whole = true, nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(whole) == 0:
			return nil, err
		case over:
			t.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message has more than %d bytes", MaxMessage))
			return nil, nil
		}
		return whole, nil
	}
}

// admit notes who sent a request. The caller is told anew each time: an ancestor
// may have opened a bridge meanwhile.
func (t *lines) admit(req *jsonrpc.Request) {
	if req.Method == cancelMethod {
		t.c.cancelled(message{Params: req.Params}.cancels())
	}
	caller := t.caller
	if now, err := t.c.s.o.Callers.FromHTTP(t.r); err == nil {
		if now.Dir == "" {
			now.Dir = t.c.s.o.Home
		}
		caller = now
	}
	head := http.Header{}
	req.Extra = &mcp.RequestExtra{Header: head}
	var ids []string
	if req.IsCall() {
		ids = []string{idText(req.ID)}
	}
	leave := t.c.admit(&request{caller: caller, http: t.r}, head, ids)
	if !req.IsCall() {
		leave() // a notification's handler asks for nothing
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending[ids[0]] = leave
}

// idText is an id as it stands on the wire.
func idText(id jsonrpc.ID) string {
	data, err := json.Marshal(id.Raw())
	if err != nil { // a number or a string
		return ""
	}
	return string(data)
}

// Write sends one message.
func (t *lines) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	res, ok := msg.(*jsonrpc.Response)
	if ok {
		data = t.ids.out(data, res.ID.Raw())
	}
	err = t.write(append(data, '\n'))
	if ok {
		t.mu.Lock()
		id := idText(res.ID)
		leave := t.pending[id]
		delete(t.pending, id)
		t.mu.Unlock()
		if leave != nil {
			leave()
		}
		select {
		case t.idle <- struct{}{}:
		default:
		}
	}
	return err
}

func (t *lines) write(data []byte) error {
	t.unread.Add(1)
	defer func() {
		t.unread.Add(-1)
		select {
		case t.room <- struct{}{}:
		default:
		}
	}()
	t.out.Lock()
	defer t.out.Unlock()
	_ = t.wire.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := t.wire.Write(data)
	if err != nil { // what follows half a message could not be read
		_ = t.wire.Close()
	}
	return err
}

// refuse answers what cannot be read, which has no id.
func (t *lines) refuse(code int, text string) {
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text}})
	if err == nil { // numbers and strings always marshal
		_ = t.write(append(data, '\n')) // a client that is gone reads nothing
	}
}

// drain waits until every call is answered, for eofGrace at most.
func (t *lines) drain() {
	killed := t.c.life.Done()
	late := time.NewTimer(eofGrace)
	defer late.Stop()
	for {
		t.mu.Lock()
		left := len(t.pending)
		t.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-t.idle:
		case <-killed: // calls say so; that is an answer as well
			killed = nil
			late.Reset(answerGrace)
		case <-late.C:
			return
		}
	}
}
