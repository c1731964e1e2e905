package api

import (
	"context"
	"net/http"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// Scripts answers for saved scripts.
type Scripts interface {
	List(ctx context.Context, c *peer.Caller) ([]proto.Script, error)
	// Get is one script with its code.
	Get(ctx context.Context, c *peer.Caller, name string) (*proto.Script, error)
	// Save keeps a script; it decides by itself who may.
	Save(ctx context.Context, c *peer.Caller, r proto.ScriptSave) (*proto.Script, error)
}

func (s *Server) serveScripts(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	items, err := s.o.Scripts.List(r.Context(), c)
	return list(w, items, err)
}

// serveScript gives one script; its name may hold slashes.
func (s *Server) serveScript(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	item, err := s.o.Scripts.Get(r.Context(), c, r.PathValue("name"))
	return one(w, item, err)
}

func (s *Server) serveScriptSave(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.ScriptSave
	if err := decode(r, &req); err != nil {
		return err
	}
	if (req.Code == "") == (req.Run == "") {
		return fault.New(fault.UsageError, "a script is saved from code or from a run: give one of the two")
	}
	item, err := s.o.Scripts.Save(r.Context(), c, req)
	return one(w, item, err)
}
