package api

import (
	"context"
	"net/http"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// Presets answers for the two dials of the permissions.
type Presets interface {
	List(ctx context.Context, c *peer.Caller) (*proto.Presets, error)
	// Use writes a preset's dials into the user's file.
	Use(ctx context.Context, c *peer.Caller, r proto.PresetUse) (*proto.PresetUsed, error)
}

func (s *Server) servePresets(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	list, err := s.o.Presets.List(r.Context(), c)
	return one(w, list, err)
}

func (s *Server) servePresetUse(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.PresetUse
	if err := decode(r, &req); err != nil {
		return err
	}
	if req.Name == "" {
		return fault.New(fault.UsageError, "no preset is named")
	}
	used, err := s.o.Presets.Use(r.Context(), c, req)
	return one(w, used, err)
}
