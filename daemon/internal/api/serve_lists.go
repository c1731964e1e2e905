package api

import (
	"net/http"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// list answers with a JSON array, never null.
func list[T any](w http.ResponseWriter, items []T, err error) error {
	if err != nil {
		return err
	}
	if items == nil {
		items = []T{}
	}
	return answer(w, items)
}

// done answers a deletion.
func done(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// one answers with a single object.
func one[T any](w http.ResponseWriter, item *T, err error) error {
	if err != nil {
		return err
	}
	return answer(w, item)
}

func (s *Server) serveServers(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	items, err := s.o.Servers.List(r.Context(), c)
	return list(w, items, err)
}

func (s *Server) serveServer(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q := r.URL.Query()
	item, err := s.o.Servers.Get(r.Context(), c, r.PathValue("name"), q.Get("learn") == "true")
	return one(w, item, err)
}

func (s *Server) serveRestart(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	item, err := s.o.Servers.Restart(r.Context(), c, r.PathValue("name"))
	return one(w, item, err)
}

func (s *Server) serveSearch(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q := r.URL.Query()
	search := proto.Search{Query: q.Get("query"), Namespace: q.Get("namespace"), Directory: c.Dir}
	var err error
	if search.Limit, err = number(q, "limit"); err != nil {
		return err
	}
	if search.Offset, err = number(q, "offset"); err != nil {
		return err
	}
	found, err := s.o.Servers.Search(r.Context(), c, search)
	return one(w, found, err)
}

func (s *Server) serveCatalog(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q := r.URL.Query()
	ask := proto.CatalogQuery{Since: q.Get("since"), NoStart: q.Get("noStart") == "true", Directory: c.Dir}
	var err error
	if ask.Budget, err = number(q, "budget"); err != nil {
		return err
	}
	catalogue, err := s.o.Servers.Catalog(r.Context(), c, ask)
	return one(w, catalogue, err)
}

func (s *Server) serveTypes(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q := r.URL.Query()
	types, err := s.o.Servers.Types(r.Context(), c, proto.TypesQuery{Paths: q["path"], Directory: c.Dir})
	return one(w, types, err)
}

func (s *Server) serveSessions(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	items, err := s.o.Sessions.List(r.Context(), c)
	return list(w, items, err)
}

func (s *Server) serveSessionCreate(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.SessionCreate
	if err := decode(r, &req); err != nil {
		return err
	}
	if req.ID == "" {
		return fault.New(fault.UsageError, "a named session needs an id")
	}
	made, err := s.o.Sessions.Create(r.Context(), c, req)
	return one(w, made, err)
}

func (s *Server) serveSessionEnd(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	id := r.PathValue("id")
	if err := c.MayTouch(peer.EndSess, id); err != nil {
		return err
	}
	return done(w, s.o.Sessions.End(r.Context(), c, id))
}

func (s *Server) serveLeases(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	items, err := s.o.Leases.List(r.Context(), c)
	return list(w, items, err)
}

func (s *Server) serveRelease(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	return done(w, s.o.Leases.Release(r.Context(), c, r.PathValue("id")))
}

func (s *Server) serveApprovals(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	items, err := s.o.Approvals.List(r.Context(), c)
	return list(w, items, err)
}

func (s *Server) serveApproval(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.ApprovalReply
	if err := decode(r, &req); err != nil {
		return err
	}
	return done(w, s.o.Approvals.Answer(r.Context(), c, r.PathValue("id"), req))
}

// serveAnswer answers what a server asks in the middle of a call: the form that
// the caller's terminal was shown.
func (s *Server) serveAnswer(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.Answer
	if err := decode(r, &req); err != nil {
		return err
	}
	return done(w, s.o.Approvals.Reply(r.Context(), c, r.PathValue("id"), req))
}
