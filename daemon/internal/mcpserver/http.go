package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
)

// sessionHeader names a connection of Streamable HTTP.
const sessionHeader = "Mcp-Session-Id"

// Serve answers one request of either path; the caller stands in its context.
// Errors are *fault.Error, and nothing was written then.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request) error {
	caller := peer.FromContext(r.Context())
	if caller == nil {
		return fault.New(fault.InternalError, "the request has no caller")
	}
	if caller.Dir == "" {
		caller.Dir = s.o.Home
	}
	m := modeOf(r)
	if upgrades(r) {
		return s.serveLines(w, r, caller, m)
	}
	msgs, err := peek(r)
	if err != nil {
		return err
	}
	c, fresh, err := s.connection(r, caller, m)
	if err != nil {
		return err
	}
	w = c.accept(w, r)
	defer c.enter(r, caller)()
	for _, m := range msgs {
		if m.Method == cancelMethod {
			c.cancelled(m.cancels())
		}
	}
	_, deaf := w.(*jsonOnly)
	leave := c.admit(&request{caller: caller, http: r, gone: r.Context().Done(), deaf: deaf}, r.Header, calls(msgs))
	defer func() {
		if r.Context().Err() != nil { // it may yet say why
			time.AfterFunc(hangUpGrace, leave)
			return
		}
		leave()
	}()
	if r.Method == http.MethodDelete {
		c.kill(fault.New(fault.Cancelled, "the client ended its connection"))
	}
	c.http.ServeHTTP(w, r)
	if r.Method == http.MethodDelete || fresh && !c.initialized() {
		s.finish(c, fault.New(fault.Cancelled, "the client ended its connection"))
	}
	return nil
}

// connection finds the connection of a request, or makes it for the first.
func (s *Server) connection(r *http.Request, caller *peer.Caller, m mode) (c *conn, fresh bool, err error) {
	if id := r.Header.Get(sessionHeader); id != "" {
		c := s.get(id)
		if c == nil || c.mode != m || c.http == nil {
			return nil, false, fault.New(fault.NotFound, "this MCP connection has ended").WithHint("send initialize again")
		}
		return c, false, nil
	}
	if r.Method != http.MethodPost {
		return nil, false, fault.New(fault.UsageError, "%s needs the header %s", r.Method, sessionHeader)
	}
	if err := s.check(caller, m); err != nil {
		return nil, false, err
	}
	c = s.newConn(m)
	c.http = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return c.sdk }, &mcp.StreamableHTTPOptions{
		Logger: s.sdkLog, MaxRequestBodyBytes: MaxMessage,
		DisableLocalhostProtection: true, // the daemon's own guard stands before it
	})
	return c, true, s.add(c)
}

func (c *conn) initialized() bool {
	for ss := range c.sdk.Sessions() {
		return ss.InitializeParams() != nil
	}
	return false
}

// enter counts a request of HTTP, so that a client that is gone can be told
// from one that is silent.
func (c *conn) enter(r *http.Request, caller *peer.Caller) (leave func()) {
	p := process{pid: caller.PID}
	if c.s.o.StartTime != nil && p.pid != 0 {
		p.start, _ = c.s.o.StartTime(p.pid) // a process that is gone has hung up as well
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy++
	c.peer = p
	c.streamed = c.streamed || r.Method == http.MethodGet
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.busy--
		c.quiet = time.Now()
	}
}

// over says why a connection of HTTP is over, or nil: its process is gone, it
// has closed its stream of notifications and asks nothing (many clients leave
// without a word), or it has been silent for long.
func (c *conn) over() *fault.Error {
	if c.http == nil {
		return nil
	}
	c.mu.Lock()
	busy, quiet, streamed, p := c.busy, c.quiet, c.streamed, c.peer
	c.mu.Unlock()
	if busy > 0 {
		return nil
	}
	if c.s.o.StartTime != nil && p.start != "" {
		if now, err := c.s.o.StartTime(p.pid); err != nil || now != p.start {
			return fault.New(fault.Cancelled, "the client's process is gone")
		}
	}
	if streamed && time.Since(quiet) > streamGrace {
		return fault.New(fault.Cancelled, "the client closed its stream and asks nothing")
	}
	if time.Since(quiet) > c.s.o.Idle {
		return fault.New(fault.Cancelled, "the client was silent for %s", c.s.o.Idle)
	}
	return nil
}

const cancelMethod = "notifications/cancelled"

// message is what the transport looks at.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// cancels reads what a notifications/cancelled takes back, and why.
func (m message) cancels() (id, reason string) {
	var p struct {
		ID     json.RawMessage `json:"requestId"`
		Reason string          `json:"reason"`
	}
	_ = json.Unmarshal(m.Params, &p) // the SDK answers what is malformed
	return string(p.ID), p.Reason
}

// calls are the ids of the requests among the messages.
func calls(msgs []message) []string {
	var ids []string
	for _, m := range msgs {
		if len(m.ID) > 0 && m.Method != "" {
			ids = append(ids, string(m.ID))
		}
	}
	return ids
}

// peek reads the body's messages and puts the body back. What cannot be read is
// left to the SDK to refuse.
func peek(r *http.Request) ([]message, error) {
	if r.Method != http.MethodPost || r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, fault.New(fault.UsageError, "the message has more than %d bytes", over.Limit)
	case err != nil:
		return nil, fault.New(fault.UsageError, "the message did not arrive whole: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return messages(body), nil
}

func messages(body []byte) []message {
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		var all []message
		_ = json.Unmarshal(body, &all)
		return all
	}
	var one message
	if json.Unmarshal(body, &one) != nil {
		return nil
	}
	return []message{one}
}

// accept makes up for clients that do not name both media types, which the
// protocol demands of them: one that takes JSON only gets its answer as JSON.
func (c *conn) accept(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	if r.Method == http.MethodDelete {
		return w
	}
	accepts := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	streams := accepts == "" || strings.Contains(accepts, "text/event-stream") || strings.Contains(accepts, "*/*") || strings.Contains(accepts, "text/*")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if streams || r.Method == http.MethodGet {
		return w
	}
	return &jsonOnly{w: w}
}

// jsonOnly turns the stream of one call into its answer. What else is on the
// stream cannot reach such a client.
type jsonOnly struct{ w http.ResponseWriter }

func (j *jsonOnly) Header() http.Header { return j.w.Header() }

func (j *jsonOnly) WriteHeader(status int) { j.w.WriteHeader(status) }

// Write takes one event, as the SDK writes them, or a whole body.
func (j *jsonOnly) Write(p []byte) (int, error) {
	if !strings.HasPrefix(j.w.Header().Get("Content-Type"), "text/event-stream") {
		return j.w.Write(p)
	}
	_, data, ok := bytes.Cut(p, []byte("data: "))
	data = bytes.TrimRight(data, "\n")
	var m message
	if !ok || json.Unmarshal(data, &m) != nil || m.Method != "" {
		return len(p), nil
	}
	j.w.Header().Set("Content-Type", "application/json")
	if _, err := j.w.Write(data); err != nil {
		return 0, err
	}
	return len(p), nil
}
