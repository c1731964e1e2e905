package upstream

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"tenon/daemon/internal/fault"
)

const (
	dialTimeout  = 10 * time.Second
	closeTimeout = 2 * time.Second // for the DELETE that ends a session
	refusalBody  = 64 << 10        // bytes read of a refusal's body
	errorText    = 300             // and shown
)

// web is what both HTTP transports share.
type web struct {
	c      *conn
	client *http.Client
}

func newWeb(c *conn) web {
	// A transport of our own: its idle connections end with this server's.
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 64, // parallel calls reuse their connections
		IdleConnTimeout:     90 * time.Second,
	}
	return web{c: c, client: &http.Client{Transport: t, CheckRedirect: sameServer}}
}

// do sends one request with the configured headers and the token of the login.
// sent reports whether any byte of it may have reached the server. A request that
// was refused for its token was not accepted: it is sent once more with another,
// where there is one.
func (w *web) do(ctx context.Context, method, url string, body []byte, header http.Header) (resp *http.Response, sent bool, err error) {
	login := w.c.spec.Login
	if login == nil {
		return w.attempt(ctx, method, url, body, header, "")
	}
	token, err := login.Token(ctx)
	for again := false; err == nil; again = true {
		resp, sent, err = w.attempt(ctx, method, url, body, header, token)
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, sent, err
		}
		if again {
			if resp.StatusCode == http.StatusForbidden {
				_, err = login.Refused(ctx, token, resp.StatusCode, resp.Header)
			} else {
				err = login.Rejected()
			}
			if err == nil {
				return resp, sent, nil
			}
		} else {
			next, refused := login.Refused(ctx, token, resp.StatusCode, resp.Header)
			if next == "" && refused == nil {
				return resp, sent, nil
			}
			token, err = next, refused
		}
		drain(resp)
	}
	return nil, false, &denied{fault.From(err)}
}

// denied is the error of a request that was not sent, or not accepted, for want of
// a token.
type denied struct{ err *fault.Error }

func (d *denied) Error() string { return d.err.Error() }
func (d *denied) Unwrap() error { return d.err }

func isDenied(err error) bool {
	var d *denied
	return errors.As(err, &d)
}

// drain reads the little that a refusal says, which leaves its connection to the
// next request.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, refusalBody)
	_ = resp.Body.Close()
}

// attempt sends a request once.
func (w *web) attempt(ctx context.Context, method, url string, body []byte, header http.Header, token string) (resp *http.Response, sent bool, err error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, r)
	if err != nil {
		return nil, false, err
	}
	req.Header.Set("User-Agent", "tenon")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header[k] = v
	}
	for k, v := range w.c.spec.Headers {
		req.Header.Set(k, v)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err = w.client.Do(req)
	return resp, connected.Load(), err
}

func (w *web) linger(*pending) {} // each answer has its own stream, or there is no hurry
func (w *web) pid() int        { return 0 }
func (w *web) stderr() string  { return "" }

// refusal takes an answer that is no success, and closes it. Nil means that it
// was a JSON-RPC error after all, which servers send with status 400 too.
func (w *web) refusal(resp *http.Response, tie int64) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, refusalBody)) // what arrives is shown
	_ = resp.Body.Close()
	var m message
	if resp.StatusCode == http.StatusBadRequest && sniff(body, &m) && m.response() && m.id != nil {
		w.c.receive(body, true, tie)
		return nil
	}
	text := clip(strings.Join(strings.Fields(string(body)), " "), errorText)
	if text != "" {
		text = ": " + text
	}
	e := w.c.unavailable("server %s answered %s%s", w.c.spec.Name, resp.Status, text)
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		e.Hint = redirectHint(resp)
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Hint = "check the credentials in the server's headers"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		e.Hint = "check the url, and whether the server wants the kind http or sse"
	}
	if resp.StatusCode < http.StatusInternalServerError {
		return withFate(e, fateNotSent) // refused before it did anything
	}
	return withFate(e, fateUnknown)
}

// broken is the error of a request whose connection failed.
func (w *web) broken(sent bool, err error) *fault.Error {
	var d *denied
	if errors.As(err, &d) {
		return withFate(d.err, fateNotSent)
	}
	e := w.c.unavailable("server %s disconnected: %w", w.c.spec.Name, err)
	if !sent {
		e = w.c.unavailable("server %s cannot be reached: %w", w.c.spec.Name, err)
		return withFate(e, fateNotSent)
	}
	return withFate(e, fateUnknown)
}

// whole reads a JSON answer up to the cap.
func (w *web) whole(resp *http.Response, tie int64) error {
	limit := w.c.limit
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return err
	}
	if int64(len(body)) > limit {
		w.c.unreadable(body[:min(len(body), edgeBytes)], nil, tie)
		return nil
	}
	w.c.receive(body, true, tie)
	return nil
}

func isEvents(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}

// headerText is s as the value of a header: beyond printable ASCII in the
// protocol's base64 form.
func headerText(s string) string {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return fmt.Sprintf("=?base64?%s?=", base64.StdEncoding.EncodeToString([]byte(s)))
		}
	}
	return s
}

// pause waits for d; it reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
