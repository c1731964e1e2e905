package fakeserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// web serves the fake server over HTTP: streamable at /mcp, SSE at /sse.
type web struct {
	s *server

	mu       sync.Mutex
	sessions map[string]*session
	made     int // sessions so far; makes ids and rotated tokens
}

// session is one client of the web server.
type session struct {
	id    string
	peer  *peer
	inbox *stream // what belongs to no request

	mu      sync.Mutex
	calls   int
	streams map[string]*stream // by number, for resumption
}

// HTTP serves a fake server with flags inside the test's process and returns
// the address of its streamable endpoint; the SSE one is the same with /sse
// for /mcp. Flags that end the process must not be used with it.
func HTTP(t TB, flags ...string) string {
	t.Helper()
	o, err := parse(flags)
	if err != nil {
		t.Fatalf("fake server: %v", err)
	}
	s, err := newServer(o)
	if err != nil {
		t.Fatalf("fake server: %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("fake server: %v", err)
	}
	w := newWeb(s)
	srv := &http.Server{Handler: w.routes(), ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(ln) })
	t.Cleanup(func() {
		_ = srv.Close()
		w.close()
		serving.Wait()
		s.close()
	})
	return "http://" + ln.Addr().String() + "/mcp"
}

func (s *server) serveHTTP(stdout io.Writer) int {
	ln, err := net.Listen("tcp", s.o.http)
	if err != nil {
		fmt.Fprintln(s.stderr, "fake-server:", err)
		return exitUsage
	}
	fmt.Fprintf(stdout, "http://%s/mcp\n", ln.Addr())
	w := newWeb(s)
	srv := &http.Server{Handler: w.routes(), ReadHeaderTimeout: time.Minute}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	if !s.o.ignore["term"] {
		ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	}
	defer stop()
	go func() {
		<-ctx.Done()
		_ = srv.Close()
	}()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(s.stderr, "fake-server:", err)
		return 1
	}
	w.close()
	return 0
}

func newWeb(s *server) *web { return &web{s: s, sessions: map[string]*session{}} }

func (w *web) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mcp", w.post)
	mux.HandleFunc("GET /mcp", w.get)
	mux.HandleFunc("DELETE /mcp", w.delete)
	mux.HandleFunc("GET /sse", w.oldStream)
	mux.HandleFunc("POST /message", w.oldPost)
	if w.s.o.login.issuer != "" {
		return w.s.o.login.guard(mux)
	}
	return w.guard(mux)
}

// guard demands the token. With --token-rotates each session needs the next
// one, and the first request of a new session tells which: an initialize is
// checked against the token after the sessions made so far.
func (w *web) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if want := w.token(r.Header.Get("Mcp-Session-Id")); want != "" && r.Header.Get("Authorization") != "Bearer "+want {
			rw.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			http.Error(rw, "token expired", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

func (w *web) token(id string) string {
	if w.s.o.token == "" || !w.s.o.tokenRotates {
		return w.s.o.token
	}
	w.mu.Lock()
	n := w.made
	w.mu.Unlock()
	if number, err := strconv.Atoi(id); err == nil {
		n = number - 1
	}
	if n == 0 {
		return w.s.o.token
	}
	return w.s.o.token + "." + strconv.Itoa(n)
}

func (w *web) open() *session {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	n := &session{id: strconv.Itoa(w.made), streams: map[string]*stream{}}
	n.inbox = n.stream()
	n.peer = newPeer(w.s, n.inbox)
	w.sessions[n.id] = n
	return n
}

func (w *web) find(id string) *session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sessions[id]
}

func (w *web) forget(id string) {
	w.mu.Lock()
	n := w.sessions[id]
	delete(w.sessions, id)
	w.mu.Unlock()
	if n != nil {
		n.close()
	}
}

func (w *web) close() {
	w.mu.Lock()
	ids := make([]string, 0, len(w.sessions))
	for id := range w.sessions {
		ids = append(ids, id)
	}
	w.mu.Unlock()
	for _, id := range ids {
		w.forget(id)
	}
}

func (n *session) close() {
	n.peer.close()
	n.inbox.finish()
}

// stream makes a numbered stream of the session.
func (n *session) stream() *stream {
	n.mu.Lock()
	defer n.mu.Unlock()
	st := newStream(strconv.Itoa(len(n.streams)))
	n.streams[st.number] = st
	return st
}

func (w *web) post(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, "cannot read the body", http.StatusBadRequest)
		return
	}
	var m envelope
	_ = json.Unmarshal(body, &m) // not JSON: method and id stay empty
	var n *session
	if m.Method == "initialize" {
		n = w.open()
	} else if n = w.find(r.Header.Get("Mcp-Session-Id")); n == nil {
		http.Error(rw, "session not found", http.StatusNotFound)
		return
	}
	if m.Method == "tools/call" && w.spent(n) {
		w.forget(n.id)
		http.Error(rw, "session not found", http.StatusNotFound)
		return
	}
	rw.Header().Set("Mcp-Session-Id", n.id)
	if m.Method == "" || len(m.ID) == 0 {
		rw.WriteHeader(http.StatusAccepted)
		w.s.handle(n.peer, n.inbox, body)
		return
	}
	st := n.stream()
	st.answers(string(m.ID))
	w.s.handle(n.peer, st, body)
	if w.s.o.respond == "json" {
		st.serveJSON(rw, r)
		return
	}
	drop := 0
	if m.Method == "tools/call" {
		drop = w.s.o.drop
	}
	st.serve(rw, r, 0, w.s.o.resume, drop)
}

// spent counts one call and reports whether the session's calls are used up.
func (w *web) spent(n *session) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	return w.s.o.expire > 0 && n.calls > w.s.o.expire
}

func (w *web) get(rw http.ResponseWriter, r *http.Request) {
	n := w.find(r.Header.Get("Mcp-Session-Id"))
	if n == nil {
		http.Error(rw, "session not found", http.StatusNotFound)
		return
	}
	st, from := n.inbox, 0
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		var number string
		number, from = splitEvent(last)
		n.mu.Lock()
		st = n.streams[number]
		n.mu.Unlock()
		if st == nil || !w.s.o.resume {
			http.Error(rw, "cannot resume that stream", http.StatusBadRequest)
			return
		}
	}
	st.serve(rw, r, from, w.s.o.resume, 0)
}

func (w *web) delete(rw http.ResponseWriter, r *http.Request) {
	w.forget(r.Header.Get("Mcp-Session-Id"))
	rw.WriteHeader(http.StatusNoContent)
}

// oldStream is the transport of protocol 2024-11-05: one stream for all.
func (w *web) oldStream(rw http.ResponseWriter, r *http.Request) {
	n := w.open()
	defer w.forget(n.id)
	n.inbox.event("endpoint", []byte("/message?session="+n.id))
	n.inbox.serve(rw, r, 0, false, w.s.o.drop)
}

func (w *web) oldPost(rw http.ResponseWriter, r *http.Request) {
	n := w.find(r.URL.Query().Get("session"))
	if n == nil {
		http.Error(rw, "session not found", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, "cannot read the body", http.StatusBadRequest)
		return
	}
	rw.WriteHeader(http.StatusAccepted)
	w.s.handle(n.peer, n.inbox, body)
}
