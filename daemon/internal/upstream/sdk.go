package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fault"
)

// offer is the version that our initialize names: the newest that begins with
// initialize. The later server/discover is tried when a server refuses that,
// since servers that know only initialize may hang on anything else.
const offer = "2025-11-25"

// discoverVersion is the first protocol version that begins with
// server/discover and wants to know the client in every request.
const discoverVersion = "2026-07-28"

// capabilities is what client() declares, for the requests that are not the
// SDK's: whoever speaks discoverVersion is told with each.
const capabilities = `{"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}},"sampling":{}}`

// maxInbox bounds what waits for the SDK's session; notifications beyond it
// are dropped, since all they say is that something changed or was logged.
const maxInbox = 1024

// sdkLink is the SDK's view of our wire: a transport and its only connection.
// It carries what is not ours: the handshake and notifications.
type sdkLink struct {
	c *conn

	mu     sync.Mutex
	inbox  []jsonrpc.Message
	closed bool
	wake   chan struct{} // one place

	hello      string // id of the initialize request, as JSON
	negotiated string // the version the server answered
	handshake  json.RawMessage
}

func newSDKLink(c *conn) *sdkLink { return &sdkLink{c: c, wake: make(chan struct{}, 1)} }

func (l *sdkLink) Connect(context.Context) (mcp.Connection, error) { return l, nil }

func (l *sdkLink) SessionID() string { return "" }

func (l *sdkLink) Close() error { l.close(); return nil }

// close ends the SDK's reading; the wire stays.
func (l *sdkLink) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.nudge()
}

func (l *sdkLink) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *sdkLink) deliver(m jsonrpc.Message) {
	l.mu.Lock()
	_, answer := m.(*jsonrpc.Response)
	if answer {
		l.overhear(m.(*jsonrpc.Response))
	}
	if answer || len(l.inbox) < maxInbox {
		l.inbox = append(l.inbox, m)
	}
	l.mu.Unlock()
	l.nudge()
}

// overhear keeps what the server says of itself, byte for byte. l.mu is held.
func (l *sdkLink) overhear(r *jsonrpc.Response) {
	id, err := json.Marshal(r.ID.Raw())
	if err != nil || string(id) != l.hello || r.Error != nil {
		return
	}
	var v struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(r.Result, &v) // the SDK reports what is wrong with it
	l.negotiated, l.handshake = v.Version, r.Result
}

// unanswered ends a handshake whose answer cannot come any more.
func (l *sdkLink) unanswered() {
	l.mu.Lock()
	over := l.handshake != nil || l.c.initialized.Load()
	l.mu.Unlock()
	if !over {
		l.close()
	}
}

func (l *sdkLink) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		l.mu.Lock()
		if len(l.inbox) > 0 {
			m := l.inbox[0]
			l.inbox = l.inbox[1:]
			l.mu.Unlock()
			return m, nil
		}
		closed := l.closed
		l.mu.Unlock()
		if closed {
			return nil, io.EOF
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *sdkLink) Write(ctx context.Context, m jsonrpc.Message) error {
	l.mu.Lock()
	closed := l.closed
	if r, ok := m.(*jsonrpc.Request); ok {
		switch {
		case r.Method == "initialize" || r.Method == "server/discover":
			id, err := json.Marshal(r.ID.Raw())
			if err == nil {
				l.hello = string(id)
			}
		case r.Method == "notifications/cancelled" && !l.c.initialized.Load():
			// The SDK cancels a handshake whose context ends; the protocol
			// forbids that for initialize.
			l.mu.Unlock()
			return nil
		}
	}
	l.mu.Unlock()
	if closed {
		return io.ErrClosedPipe
	}
	b, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return l.c.wire.deliver(ctx, append(b, '\n'))
}

// client makes the SDK's client for this connection: it declares what the raw
// path answers and hears what the raw path passes on.
func (c *conn) client() *mcp.Client {
	hear := c.spec.Observer
	return mcp.NewClient(&mcp.Implementation{Name: "tenon", Version: "1"}, &mcp.ClientOptions{
		Logger: slog.New(slog.DiscardHandler),
		Capabilities: &mcp.ClientCapabilities{
			//lint:ignore SA1019 servers of every older protocol ask for roots
			RootsV2:     &mcp.RootCapabilities{ListChanged: true},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
			//lint:ignore SA1019 servers of every older protocol may ask for it
			Sampling: &mcp.SamplingCapabilities{},
		},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			if hear != nil {
				hear.ToolsChanged()
			}
		},
	})
}

func logText(data any) string {
	if s, ok := data.(string); ok {
		return s
	}
	b, err := json.Marshal(data)
	if err != nil {
		return ""
	}
	return string(b)
}

// shake hands: initialize, and server/discover where that is refused. It
// replaces the session of an earlier handshake on the same connection.
func (c *conn) shake(ctx context.Context) error {
	err := c.shakeAs(ctx, offer)
	var refused *jsonrpc.Error
	if errors.As(err, &refused) && (refused.Code == codeMethodNotFound || refused.Code == mcp.CodeUnsupportedProtocolVersion) {
		if again := c.shakeAs(ctx, discoverVersion); again == nil {
			return nil
		}
	}
	return err
}

func (c *conn) shakeAs(ctx context.Context, version string) error {
	link := newSDKLink(c)
	if old := c.sdk.Swap(link); old != nil {
		old.close()
	}
	session, err := c.client().Connect(ctx, link, &mcp.ClientSessionOptions{ProtocolVersion: version})
	link.mu.Lock()
	negotiated, raw := link.negotiated, link.handshake
	link.mu.Unlock()
	if err != nil {
		link.close()
		if known := mcp.SupportedProtocolVersions(); negotiated != "" && !slices.Contains(known, negotiated) {
			return c.unavailable("server %s speaks protocol version %s; supported are %s", c.spec.Name,
				clip(negotiated, 40), strings.Join(known, ", ")).Because(err)
		}
		return err
	}
	c.adopt(session, raw)
	return nil
}

// adopt makes a session that has shaken hands the connection's own.
func (c *conn) adopt(session *mcp.ClientSession, raw json.RawMessage) {
	res := session.InitializeResult()
	info := Info{Protocol: res.ProtocolVersion, Instructions: c.mask.Replace(res.Instructions)}
	if res.ServerInfo != nil {
		info.ServerName, info.ServerVer = res.ServerInfo.Name, res.ServerInfo.Version
	}
	var own struct {
		Capabilities json.RawMessage `json:"capabilities"`
	}
	if json.Unmarshal(raw, &own) == nil {
		info.Capabilities = own.Capabilities
	}
	c.info.Store(&info)
	meta := ""
	if info.Protocol >= discoverVersion {
		meta = `,"` + mcp.MetaKeyProtocolVersion + `":"` + info.Protocol + `","` + mcp.MetaKeyClientInfo +
			`":{"name":"tenon","version":"1"},"` + mcp.MetaKeyClientCapabilities + `":` + capabilities
	}
	c.meta.Store(&meta)
	c.mu.Lock()
	old := c.session
	c.session = session
	gone := c.err != nil
	c.mu.Unlock()
	if old != nil {
		_ = old.Close() // its link is closed: it only ends its goroutines
	}
	c.wire.ready(info.Protocol)
	c.initialized.Store(!gone)
}

// requestMeta is what every request of this protocol version carries.
func (c *conn) requestMeta() string {
	if m := c.meta.Load(); m != nil {
		return *m
	}
	return ""
}

var _ interface {
	mcp.Transport
	mcp.Connection
} = (*sdkLink)(nil)

// startError says why a connection could not be made.
func (c *conn) startError(ctx context.Context, err error) error {
	gone := c.Err()
	if gone == nil {
		gone = c.goneBy(err)
	}
	if gone != nil {
		return withFate(fault.From(gone), fateNotSent)
	}
	var e *fault.Error
	switch {
	case errors.As(err, &e):
		return withFate(e, fateNotSent)
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errStartTimeout):
		e = c.unavailable("server %s was not ready within %v (startTimeout)%s", c.spec.Name, c.spec.StartTimeout, c.lastWords()).
			WithHint("raise startTimeout if the server needs longer")
	case ctx.Err() != nil:
		return endOf(ctx, c.spec.Name, "the start")
	default:
		e = c.unavailable("server %s did not initialize: %w%s", c.spec.Name, err, c.lastWords())
	}
	return withFate(e, fateNotSent)
}

// lastWords is the end of stderr, as the end of a message.
func (c *conn) lastWords() string {
	const lines, length = 5, 600
	s := c.wire.stderr()
	if s == "" {
		return ""
	}
	all := strings.Split(s, "\n")
	return "; its last words: " + clip(strings.Join(all[max(0, len(all)-lines):], " | "), length)
}
