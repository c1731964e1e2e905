package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"

	resumeTries = 5
	resumeFirst = 100 * time.Millisecond // doubled by each try, unless the server says what it wants
	listenFirst = time.Second            // likewise, for the stream of what belongs to no request
	listenMost  = 30 * time.Second
	listenWait  = 500 * time.Millisecond // for the first of those streams, before the first call
	renewWithin = 30 * time.Second       // for a new session, where there is no startTimeout
)

var errNoAnswer = errors.New("the stream ended without the answer")

// streamable is the wire of Streamable HTTP: a POST for each message, whose
// answer is JSON or a stream of events.
type streamable struct {
	web
	renewing sync.Mutex // one new session at a time

	mu      sync.Mutex
	session string
	version string // empty during a handshake
	flights map[int64]context.CancelFunc
	unheard context.CancelFunc // ends the listening of the last session
}

func newStreamable(c *conn) *streamable {
	return &streamable{web: newWeb(c), flights: map[int64]context.CancelFunc{}}
}

func (w *streamable) send(b []byte, id int64) error {
	b = bytes.Clone(b)
	ctx, cancel := context.WithCancel(w.c.ctx)
	if id != 0 {
		w.mu.Lock()
		w.flights[id] = cancel
		w.mu.Unlock()
	}
	started := w.c.start(func() {
		defer w.forget(id)
		defer cancel()
		if err := w.exchange(ctx, b, id); err != nil {
			w.c.settle(id, nil, err)
		}
	})
	if !started {
		cancel()
		w.forget(id)
		return io.ErrClosedPipe
	}
	return nil
}

func (w *streamable) forget(id int64) {
	w.mu.Lock()
	end := w.flights[id]
	delete(w.flights, id)
	w.mu.Unlock()
	if end != nil {
		end()
	}
}

// deliver sends a message of the handshake or a notification of the SDK and
// returns when the server has taken it; an answer is read beside.
func (w *streamable) deliver(ctx context.Context, b []byte) error {
	own, cancel := context.WithCancel(w.c.ctx)
	unhook := context.AfterFunc(ctx, cancel)
	resp, sent, err := w.post(own, b)
	unhook()
	if err != nil {
		cancel()
		return w.broken(sent, err)
	}
	if resp.StatusCode >= 300 {
		defer cancel()
		return w.refusal(resp, 0)
	}
	link := w.c.sdk.Load()
	if !w.c.start(func() {
		defer cancel()
		_ = w.read(own, resp, 0) // its end shows below, or has no meaning
		link.unanswered()
	}) {
		cancel()
		_ = resp.Body.Close()
		return io.ErrClosedPipe
	}
	return nil
}

// exchange sends a message and reads what comes back. A session that the
// server has forgotten is made anew, and the message, which was refused before
// it was accepted, is sent once more.
func (w *streamable) exchange(ctx context.Context, b []byte, id int64) error {
	for again := false; ; again = true {
		session := w.renewed()
		resp, sent, err := w.post(ctx, b)
		if err != nil {
			return w.broken(sent, err)
		}
		// Answers and notifications of a forgotten session are not worth a new one.
		if resp.StatusCode == http.StatusNotFound && session != "" && id != 0 && !again {
			_ = resp.Body.Close()
			if err := w.renew(ctx, session); err != nil {
				return err
			}
			continue
		}
		if resp.StatusCode >= 300 {
			return w.refusal(resp, id)
		}
		return w.read(ctx, resp, id)
	}
}

// renewed is the session, or none where the server has none; not the gap between
// a forgotten one and the next, in which a call would be refused.
func (w *streamable) renewed() string {
	if session := w.current(); session != "" {
		return session
	}
	w.renewing.Lock()
	defer w.renewing.Unlock()
	return w.current()
}

func (w *streamable) current() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session
}

func (w *streamable) post(ctx context.Context, b []byte) (*http.Response, bool, error) {
	h := w.headers()
	h.Set("Accept", "application/json, text/event-stream")
	if v := h.Get(versionHeader); v == "" || v >= discoverVersion {
		describe(h, b)
	}
	resp, sent, err := w.do(ctx, http.MethodPost, w.c.spec.URL, b, h)
	if err == nil {
		w.mu.Lock()
		// A late answer of a forgotten session names that one.
		if id := resp.Header.Get(sessionHeader); id != "" && w.version == "" && h.Get(sessionHeader) == "" {
			w.session = id
		}
		w.mu.Unlock()
	}
	return resp, sent, err
}

// describe names version, method and tool in headers, which the newest protocol
// wants from its first message on. Messages of others are left alone: they
// carry no version of their own.
func describe(h http.Header, b []byte) {
	var m message
	if !sniff(b, &m) || m.method == nil {
		return
	}
	var params struct {
		Name string `json:"name"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.params, &params) != nil || params.Meta.Version == "" {
		return
	}
	h.Set(versionHeader, params.Meta.Version)
	h.Set("Mcp-Method", m.name())
	if params.Name != "" {
		h.Set("Mcp-Name", headerText(params.Name))
	}
}

// headers are those of the session; none during a handshake.
func (w *streamable) headers() http.Header {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := http.Header{}
	if w.session != "" {
		h.Set(sessionHeader, w.session)
	}
	if w.version != "" {
		h.Set(versionHeader, w.version)
	}
	return h
}

// read takes an accepted request's answer. An error means that the call with
// this id will get none.
func (w *streamable) read(ctx context.Context, resp *http.Response, id int64) error {
	defer func() { _ = resp.Body.Close() }()
	var err error
	switch {
	case isEvents(resp):
		return w.follow(ctx, resp, id)
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent:
		return nil // an answer, if one is due, comes on the other stream
	default:
		err = w.whole(resp, id)
	}
	if err == nil && id != 0 && w.c.waiting(id) {
		err = errNoAnswer
	}
	if err != nil {
		return w.broken(true, err)
	}
	return nil
}

// follow reads a stream until the call is answered, and resumes it where the
// server gave its events ids. Otherwise a break is the end of the call.
func (w *streamable) follow(ctx context.Context, resp *http.Response, id int64) error {
	e := w.events(id)
	for {
		err := e.run(resp.Body)
		_ = resp.Body.Close()
		if id == 0 || !w.c.waiting(id) || ctx.Err() != nil {
			return nil
		}
		if err == io.EOF {
			err = errNoAnswer
		}
		if e.last == "" {
			return w.broken(true, err)
		}
		if resp = w.resume(ctx, e); resp == nil {
			return w.broken(true, err)
		}
	}
}

func (w *streamable) events(id int64) *events {
	return &events{
		limit:  w.c.limit,
		each:   func(e event) { w.c.receive(e.data, true, id) },
		beyond: func(head, tail []byte) { w.c.unreadable(head, tail, id) },
	}
}

// resume asks for the rest of a stream; nil when it is not to be had.
func (w *streamable) resume(ctx context.Context, e *events) *http.Response {
	delay := e.retry
	for try := range resumeTries {
		if e.retry == 0 {
			delay = resumeFirst << try
		}
		if !pause(ctx, delay) {
			return nil
		}
		resp, err := w.get(ctx, e.last)
		switch {
		case err != nil:
			continue
		case resp.StatusCode == http.StatusOK && isEvents(resp):
			return resp
		}
		_ = resp.Body.Close()
		if resp.StatusCode < http.StatusInternalServerError {
			return nil
		}
	}
	return nil
}

func (w *streamable) get(ctx context.Context, last string) (*http.Response, error) {
	h := w.headers()
	h.Set("Accept", "text/event-stream")
	if last != "" {
		h.Set("Last-Event-ID", last)
	}
	resp, _, err := w.do(ctx, http.MethodGet, w.c.spec.URL, nil, h)
	return resp, err
}

// ready begins to listen for what belongs to no request. It waits a moment for
// the server to take the stream, or to refuse it: many send their questions on
// it even during a call, and lose them where there is none.
func (w *streamable) ready(version string) {
	ctx, cancel := context.WithCancel(w.c.ctx)
	open := make(chan struct{})
	w.mu.Lock()
	w.version = version
	old := w.unheard
	w.unheard = cancel
	w.mu.Unlock()
	if old != nil {
		old()
	}
	// The newest protocol has no such stream: the SDK's session subscribes.
	if version >= discoverVersion || !w.c.start(func() { w.listen(ctx, sync.OnceFunc(func() { close(open) })) }) {
		cancel()
		return
	}
	late := time.NewTimer(listenWait)
	defer late.Stop()
	select {
	case <-open:
	case <-late.C: // some answer with the first event only
	case <-ctx.Done():
	}
}

// listen ends with its session, or when the server offers no such stream. It
// tells open when the server has answered for the first time.
func (w *streamable) listen(ctx context.Context, open func()) {
	e := w.events(0)
	delay := listenFirst
	for {
		resp, err := w.get(ctx, e.last)
		open()
		if isDenied(err) {
			return // the next call says why
		}
		if err == nil {
			if resp.StatusCode != http.StatusOK || !isEvents(resp) {
				_ = resp.Body.Close()
				return
			}
			begin := time.Now()
			_ = e.run(resp.Body) // whatever ended it, the next try tells more
			_ = resp.Body.Close()
			if time.Since(begin) > listenMost {
				delay = listenFirst
			}
		}
		if !pause(ctx, max(delay, e.retry)) {
			return
		}
		delay = min(2*delay, listenMost)
	}
}

// renew makes a new session in place of the forgotten one. Whoever comes while
// that is under way gets its result.
func (w *streamable) renew(ctx context.Context, forgotten string) error {
	w.renewing.Lock()
	defer w.renewing.Unlock()
	w.mu.Lock()
	if w.session != forgotten {
		w.mu.Unlock()
		return nil
	}
	version := w.version
	w.session, w.version = "", ""
	w.mu.Unlock()
	w.c.initialized.Store(false)
	limit := w.c.spec.StartTimeout
	if limit <= 0 {
		limit = renewWithin
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errStartTimeout)
	defer cancel()
	if err := w.c.shake(ctx); err != nil {
		w.mu.Lock()
		// The next call is refused again and tries again.
		w.session, w.version = forgotten, version
		w.mu.Unlock()
		w.c.initialized.Store(true)
		return w.c.startError(ctx, err)
	}
	if w.c.spec.Observer != nil {
		w.c.spec.Observer.ToolsChanged()
	}
	return nil
}

// close tells the server that the session is over.
func (w *streamable) close(ctx context.Context) error {
	if w.current() != "" {
		ctx, cancel := context.WithTimeout(ctx, closeTimeout)
		defer cancel()
		if resp, _, err := w.do(ctx, http.MethodDelete, w.c.spec.URL, nil, w.headers()); err == nil {
			_ = resp.Body.Close() // servers may refuse it: the session is over for us
		}
	}
	w.client.CloseIdleConnections()
	return nil
}
