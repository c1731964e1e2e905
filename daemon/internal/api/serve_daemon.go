package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

func (s *Server) serveHealth(w http.ResponseWriter, r *http.Request, _ *peer.Caller) error {
	h := s.o.Life.Health()
	h.Draining = h.Draining || s.o.Gate.Closed()
	return answer(w, h)
}

func (s *Server) serveStatus(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	status, err := s.o.Life.Status(r.Context(), c)
	if err != nil {
		return err
	}
	return answer(w, status)
}

func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request, _ *peer.Caller) error {
	s.o.Metrics.ServeHTTP(w, r)
	return nil
}

// actions are what a caller may ask about itself.
var actions = []peer.Action{peer.Approve, peer.Trust, peer.Auth, peer.Install, peer.Presets, peer.Stop, peer.Restart, peer.Hello}

// serveCaller says who the daemon takes the caller for; commands that work on
// files only (opencode install, init) ask it before they touch one.
func (s *Server) serveCaller(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	info := proto.CallerInfo{Class: string(c.Class)}
	if c.Session != nil {
		info.Session = c.Session.ID
	}
	for _, a := range actions {
		if c.May(a) == nil {
			info.May = append(info.May, string(a))
		}
	}
	return answer(w, info)
}

func (s *Server) serveStop(w http.ResponseWriter, r *http.Request, _ *peer.Caller) error {
	var req proto.StopRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	result, err := s.o.Life.Stop(r.Context(), req)
	if err != nil {
		return err
	}
	w.Header().Set("Connection", "close")
	return answer(w, result)
}

func (s *Server) serveTrust(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.TrustRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	if req.Config == (req.Directory != "") {
		return fault.New(fault.UsageError, "trust needs either a directory or config, not both")
	}
	if req.Config && (req.Look || req.Digest != "") {
		return fault.New(fault.UsageError, "look and digest go with a directory")
	}
	result, err := s.o.Life.Trust(r.Context(), req)
	if err != nil {
		return err
	}
	if !req.Look {
		s.o.Events.Publish("config", result)
	}
	return answer(w, result)
}

// concerns reports whether a caller may see an event: programs and questions
// are for the user and for their own session.
func concerns(c *peer.Caller, e proto.Event) bool {
	if e.Type != "run" && e.Type != "approval" || c.May(peer.ReadRun) == nil {
		return true
	}
	var of struct {
		Session string `json:"session"`
	}
	return json.Unmarshal(e.Data, &of) == nil && (of.Session == "" || c.MayTouch(peer.ReadRun, of.Session) == nil)
}

// serveEvents streams what happens in the daemon: ?types=run,approval selects.
// Whoever listens to approvals counts as somebody who sees questions.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q := r.URL.Query()
	var types []string
	for t := range strings.SplitSeq(q.Get("types"), ",") {
		if t != "" {
			types = append(types, t)
		}
	}
	sub := s.o.Events.Subscribe(types...)
	defer sub.Close()
	if c.May(peer.Approve) == nil && (len(types) == 0 || slices.Contains(types, "approval")) {
		defer s.o.Approvals.Watch(c)()
	}
	kind := wanted(r)
	if kind == oneDocument {
		kind = sse
	}
	out := newStream(w, kind)
	if err := out.beat(); err != nil { // the subscription stands: say so
		return nil
	}
	beat := time.NewTicker(keepAlive)
	defer beat.Stop()
	for {
		select {
		case e, ok := <-sub.C:
			if !ok {
				return nil
			}
			if concerns(c, e) && out.send(e.Type, e.Seq, e, len(sub.C) == 0) != nil {
				return nil
			}
		case <-beat.C:
			if out.beat() != nil {
				return nil
			}
		case <-r.Context().Done():
			return nil
		case <-s.o.Events.Done():
			return nil
		}
	}
}
