package api

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// handle wraps a route with what all have in common, in this order: the
// handshake, the caller, its right, the gate. Only then is the handler called.
func (s *Server) handle(route Route) http.Handler {
	limit := route.body
	if limit == 0 {
		limit = MaxBody
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.survive(w, r)
		s.hello(w.Header())
		if err := s.shakeHands(r); err != nil {
			s.fail(w, r, err)
			return
		}
		caller, err := s.o.Callers.FromHTTP(r)
		if err == nil && route.may != "" {
			err = caller.May(route.may)
		}
		if err == nil {
			err = route.parameters(r)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		caller.Surface = surface(r)
		if r.Header.Get(proto.HeaderInteractive) == "1" && caller.Class == peer.User {
			caller.Interactive = true
		}
		if route.work {
			leave, err := s.o.Gate.Enter()
			if err != nil {
				w.Header().Set(proto.HeaderDraining, "1")
				s.fail(w, r, err)
				return
			}
			if route.stays {
				leave() // its requests enter by themselves
			} else {
				defer leave()
			}
		}
		if r.ContentLength > limit {
			s.fail(w, r, tooLarge(limit))
			return
		}
		if route.Path != bridgePath { // whose connection is not HTTP's any more
			b := bound(w, r.Body, s.o.PeerLimit)
			r.Body = http.MaxBytesReader(w, b, limit)
			w = b
		}
		r = r.WithContext(peer.WithCaller(r.Context(), caller))
		if err := route.serve(s, w, r, caller); err != nil {
			s.fail(w, r, err)
		}
	})
}

// surface is how the caller reached us, for records.
func surface(r *http.Request) string {
	if r.UserAgent() == "tenon" {
		return "cli"
	}
	return "http"
}

// hello is our half of the handshake, on every answer.
func (s *Server) hello(h http.Header) {
	h.Set(proto.HeaderProtocol, strconv.Itoa(proto.Protocol))
	h.Set(proto.HeaderBuild, local.OwnStamp().String())
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// shakeHands refuses a peer of another protocol before it can be half
// understood. A caller that names none (curl) is taken to follow the documents.
func (s *Server) shakeHands(r *http.Request) error {
	theirs := r.Header.Get(proto.HeaderProtocol)
	if theirs == "" {
		return nil
	}
	stamp := local.ParseStamp(r.Header.Get(proto.HeaderBuild))
	number, err := strconv.Atoi(theirs)
	if err != nil {
		return fault.New(fault.UsageError, "header %s is not a number: %q", proto.HeaderProtocol, theirs)
	}
	if number != proto.Protocol {
		return local.Mismatch(proto.Protocol, local.Build(), number, stamp.Build)
	}
	if stamp.Newer(local.OwnStamp()) {
		s.o.Life.Newer(stamp)
	}
	return nil
}

// survive turns a panic of a handler into an answer and a log line.
func (s *Server) survive(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	s.o.Log.Error("handler panicked", "route", r.Method+" "+r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	s.fail(w, r, fault.New(fault.InternalError, "internal error").
		WithHint("the daemon's log has the cause: tenon daemon logs"))
}

// fail writes a problem document (RFC 9457): the one place where a failure
// becomes an HTTP answer.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := fault.From(err)
	if e.Kind == fault.InternalError {
		s.o.Log.Error("request failed", "route", r.Method+" "+r.URL.Path, "error", e.Message, "cause", e.Unwrap())
	}
	p := e.Problem()
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	if raw, err := proto.Marshal(p); err == nil { // strings and numbers always marshal
		_, _ = w.Write(append(raw, '\n')) // the peer may be gone
	}
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, v any) error {
	raw, err := proto.Marshal(v)
	if err != nil {
		return fault.New(fault.InternalError, "cannot write the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)+1))
	_, _ = w.Write(append(raw, '\n')) // the peer may be gone
	return nil
}

func tooLarge(limit int64) *fault.Error {
	return fault.New(fault.UsageError, "the request has more than %d bytes", limit)
}

// decode reads the one JSON object of a request. Unknown and missing fields
// are named.
func decode(r *http.Request, v any) error {
	raw, err := io.ReadAll(r.Body)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(over.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.New(fault.UsageError, "the request's body did not arrive in time")
	case err != nil:
		return fault.New(fault.UsageError, "cannot read the request: %w", err)
	}
	if err := proto.Decode(raw, v); err != nil {
		var field *proto.FieldError
		if !errors.As(err, &field) {
			return fault.New(fault.UsageError, "request: %w", err)
		}
		e := fault.New(fault.UsageError, "request: %s", field.Error())
		if near := nearestField(field.Path, v); near != "" {
			e.WithHint("did you mean %q?", near)
		}
		return e
	}
	return nil
}

// parameters looks at the parameters of a URL; ones that the route does not know
// are refused. dir and config name the caller's place and belong to every route.
func (route Route) parameters(r *http.Request) error {
	if route.as == asMCP { // whose clients may say what they like there
		return nil
	}
	got, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fault.New(fault.UsageError, "cannot read the query: %w", err)
	}
	var known []string
	for _, p := range route.query {
		known = append(known, p.name)
		if said := got.Get(p.name); p.kind == "flag" && said != "" && said != "true" && said != "false" {
			return fault.New(fault.UsageError, "parameter %s must be true or false, not %q", p.name, said)
		}
	}
	known = append(known, "dir", "config")
	for name := range got {
		if !slices.Contains(known, name) {
			return fault.New(fault.UsageError, "unknown parameter %q", name).
				WithHint("this route takes %s", strings.Join(known, ", "))
		}
	}
	return nil
}

// number reads a whole parameter of at least 0; absent is 0.
func number(q url.Values, name string) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fault.New(fault.UsageError, "parameter %s must be a whole number, not %q", name, text)
	}
	return n, nil
}

// serveNothing answers what no route does.
func (s *Server) serveNothing(w http.ResponseWriter, r *http.Request) {
	s.hello(w.Header())
	var others []string
	for _, route := range table {
		if route.Path == r.URL.Path {
			others = append(others, route.Method)
		}
	}
	e := fault.New(fault.NotFound, "no route %s %s", r.Method, r.URL.Path)
	if len(others) > 0 {
		e.WithHint("this path takes %s", strings.Join(others, ", "))
	}
	s.fail(w, r, e)
}
