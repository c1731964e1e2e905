package api

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
)

// statuses are those of a run.
var statuses = []string{"running", "ok", "failed", "cancelled", "lost"}

func (s *Server) serveRuns(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q := r.URL.Query()
	want := RunQuery{
		Session: q.Get("session"), Live: q.Get("live") == "true", Status: q.Get("status"), Server: q.Get("server"), Tool: q.Get("tool"),
	}
	if want.Status != "" && !slices.Contains(statuses, want.Status) {
		return fault.New(fault.UsageError, "parameter status must be one of %s, not %q", strings.Join(statuses, ", "), want.Status)
	}
	var err error
	if want.Since, err = moment(q, "since"); err != nil {
		return err
	}
	if want.Limit, err = number(q, "limit"); err != nil {
		return err
	}
	items, err := s.o.Runs.List(r.Context(), c, want)
	return list(w, items, err)
}

// serveStats counts what came of the calls, or runs, that history keeps.
func (s *Server) serveStats(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q := r.URL.Query()
	since, err := moment(q, "since")
	if err != nil {
		return err
	}
	stats, err := s.o.Runs.Stats(r.Context(), c, q.Get("by"), since)
	return one(w, stats, err)
}

// moment reads a time of RFC 3339; the zero time when it is not given.
func moment(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fault.New(fault.UsageError, "parameter %s must be a time such as 2026-01-31T12:00:00Z, not %q", name, text)
	}
	return at, nil
}

func (s *Server) serveRun(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	item, err := s.o.Runs.Get(r.Context(), c, r.PathValue("id"))
	return one(w, item, err)
}

// serveOutput gives the whole output of a run, or one of its artifacts, as
// bytes: nothing of it is interpreted.
func (s *Server) serveOutput(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q := r.URL.Query()
	out, err := s.o.Runs.Output(r.Context(), c, r.PathValue("id"), q.Get("artifact"))
	if err != nil {
		return err
	}
	defer out.Body.Close()
	kind := out.MimeType
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", "sandbox") // upstream bytes are data, whatever they claim to be
	disposition := "attachment"
	if out.Name != "" {
		disposition += "; filename=" + strconv.QuoteToASCII(out.Name)
	}
	w.Header().Set("Content-Disposition", disposition)
	_, _ = io.Copy(w, out.Body) // the peer may be gone
	return nil
}

func (s *Server) serveCancel(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	reason := "cancelled by " + string(c.Class)
	return done(w, s.o.Runs.Cancel(r.Context(), c, r.PathValue("id"), reason))
}
