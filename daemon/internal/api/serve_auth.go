package api

import (
	"context"
	"net/http"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// Logins answers for logins to remote servers.
type Logins interface {
	// List is how the logins of the remote servers of the caller's view stand.
	List(ctx context.Context, c *peer.Caller) ([]proto.Login, error)
	// Start logs in; told hears what the user has to do.
	Start(ctx context.Context, c *peer.Caller, server string, r proto.LoginStart, told func(proto.LoginPrompt)) (*proto.Login, error)
	// End logs out.
	End(ctx context.Context, c *peer.Caller, server string) (*proto.LoginEnded, error)
}

func (s *Server) serveLogins(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	logins, err := s.o.Logins.List(r.Context(), c)
	return list(w, logins, err)
}

// serveLogin logs in: a frame of type login for what the user has to do, then
// result or error. The login ends with the connection.
func (s *Server) serveLogin(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	var req proto.LoginStart
	if err := decode(r, &req); err != nil {
		return err
	}
	if wanted(r) == oneDocument {
		return fault.New(fault.UsageError, "a login tells in the middle of it what the user has to do").
			WithHint("ask for frames: Accept: application/x-ndjson, or text/event-stream")
	}
	return framed(s, w, r, func(ctx context.Context, told func(proto.Frame)) (*proto.Login, error) {
		return s.o.Logins.Start(ctx, c, r.PathValue("name"), req, func(p proto.LoginPrompt) {
			data, err := proto.Marshal(p)
			if err != nil {
				s.o.Log.Error("frame was not written", "type", "login", "error", err)
				return
			}
			told(proto.Frame{Type: "login", Data: data})
		})
	})
}

func (s *Server) serveLogout(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	ended, err := s.o.Logins.End(r.Context(), c, r.PathValue("name"))
	return one(w, ended, err)
}
