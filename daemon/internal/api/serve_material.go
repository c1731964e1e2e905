package api

import (
	"context"
	"encoding/json"
	"net/http"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// offerQuery reads the parameters of a list of resources, templates or prompts.
func offerQuery(r *http.Request) (proto.OfferQuery, error) {
	q := r.URL.Query()
	out := proto.OfferQuery{Server: q.Get("server"), Cursor: q.Get("cursor")}
	var err error
	out.Limit, err = number(q, "limit")
	return out, err
}

func (s *Server) serveResources(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q, err := offerQuery(r)
	if err != nil {
		return err
	}
	found, err := s.o.Servers.Resources(r.Context(), c, q)
	return one(w, found, err)
}

func (s *Server) serveTemplates(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q, err := offerQuery(r)
	if err != nil {
		return err
	}
	found, err := s.o.Servers.Templates(r.Context(), c, q)
	return one(w, found, err)
}

func (s *Server) servePrompts(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	q, err := offerQuery(r)
	if err != nil {
		return err
	}
	found, err := s.o.Servers.Prompts(r.Context(), c, q)
	return one(w, found, err)
}

// serveResourceRead reads a resource; as serveCall.
func (s *Server) serveResourceRead(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.ResourceRead
	if err := decode(r, &req); err != nil {
		return err
	}
	return framed(s, w, r, func(ctx context.Context, asked func(proto.Frame)) (*proto.CallResult, error) {
		return s.o.Runs.ReadResource(ctx, c, req, asked)
	})
}

// servePromptGet gets a prompt; as serveCall.
func (s *Server) servePromptGet(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.PromptGet
	if err := decode(r, &req); err != nil {
		return err
	}
	var words map[string]string
	if len(req.Arguments) > 0 && json.Unmarshal(req.Arguments, &words) != nil {
		return fault.New(fault.UsageError, "arguments must be an object of texts")
	}
	return framed(s, w, r, func(ctx context.Context, asked func(proto.Frame)) (*proto.CallResult, error) {
		return s.o.Runs.GetPrompt(ctx, c, req, asked)
	})
}
