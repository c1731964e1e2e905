package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const callbackPath = "/callback"

// secret is a value that nobody can guess (256 bits), of characters that PKCE
// and state may have.
func secret() string { return rand.Text() + rand.Text() }

// loopback is where the browser comes back to.
type loopback struct {
	redirect string // the address of it
	path     string
	srv      *http.Server
	serving  sync.WaitGroup
	got      chan answer // one place

	mu    sync.Mutex
	state string // guarded by mu; empty: nothing is expected
	meta  *serverMeta
}

// answer is what came back.
type answer struct {
	code string
	err  error
}

// listen opens the loopback address: the one that is registered, else the one of
// the login before, since its client is registered for it, else any.
func listen(fixed string, before *record) (*loopback, error) {
	host, port, path := "127.0.0.1", "0", callbackPath
	if fixed != "" {
		u, err := url.Parse(fixed)
		if err != nil {
			return nil, err
		}
		host, port, path = u.Hostname(), u.Port(), first(u.EscapedPath(), "/")
		if port == "" {
			port = "80"
		}
	}
	var ln net.Listener
	var err error
	if fixed == "" && before != nil && before.Client.From == registered {
		if u, parsed := url.Parse(before.Client.Redirect); parsed == nil && u.Port() != "" {
			ln, _ = net.Listen("tcp", net.JoinHostPort(host, u.Port())) // taken: any other, and a new client
		}
	}
	if ln == nil {
		if ln, err = net.Listen("tcp", net.JoinHostPort(host, port)); err != nil {
			return nil, fmt.Errorf("the address that the browser comes back to cannot be opened: %w", err)
		}
	}
	l := &loopback{path: path, got: make(chan answer, 1), redirect: fixed}
	if fixed == "" {
		l.redirect = "http://" + ln.Addr().String() + callbackPath
	}
	l.srv = &http.Server{Handler: l, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	l.serving.Go(func() { _ = l.srv.Serve(ln) })
	return l, nil
}

// close ends the listener, after the page that is being shown.
func (l *loopback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if l.srv.Shutdown(ctx) != nil {
		_ = l.srv.Close()
	}
	l.serving.Wait()
}

func (l *loopback) expect(state string, m *serverMeta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state, l.meta = state, m
}

// wait gives the code.
func (l *loopback) wait(ctx context.Context) (string, error) {
	select {
	case a := <-l.got:
		return a.code, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// ServeHTTP takes the browser that comes back. Whoever does not know the state
// is no part of this login and cannot end it.
func (l *loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet || r.URL.EscapedPath() != l.path {
		http.NotFound(w, r)
		return
	}
	q := r.URL.Query()
	l.mu.Lock()
	known := l.state != "" && subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(l.state)) == 1
	m := l.meta
	if known {
		l.state = "" // once
	}
	l.mu.Unlock()
	if !known {
		page(w, http.StatusBadRequest, "This is no answer to a login that tenon has begun.")
		return
	}
	a := read(q, m)
	l.got <- a
	if a.err != nil {
		page(w, http.StatusBadRequest, "The login failed: "+a.err.Error())
		return
	}
	page(w, http.StatusOK, "You are logged in. This page can be closed.")
}

// read checks an answer whose state was right. Iss tells that it comes from the
// server that was asked and not from another (RFC 9207).
func read(q url.Values, m *serverMeta) answer {
	switch iss := q.Get("iss"); {
	case iss == "" && m.NamesItself:
		return answer{err: fmt.Errorf("the answer does not say which authorization server it is from, and %s always does", clip(m.Issuer, 200))}
	case iss != "" && iss != m.Issuer:
		return answer{err: fmt.Errorf("the answer is from another authorization server, %s, and not from %s", clip(iss, 200), clip(m.Issuer, 200))}
	}
	if code := q.Get("error"); code != "" {
		return answer{err: &refusal{Code: code, Description: q.Get("error_description")}}
	}
	if q.Get("code") == "" {
		return answer{err: fmt.Errorf("the answer has no code")}
	}
	return answer{code: q.Get("code")}
}

func page(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = strings.NewReader("<!doctype html><meta charset=utf-8><title>tenon</title><p>" + html.EscapeString(text) + "</p>\n").WriteTo(w)
}
