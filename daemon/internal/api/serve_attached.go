package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tenon/daemon/internal/engine/attached"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// serveAttached turns the connection over to a run whose program is executed
// beside its caller. It returns when that has ended.
func (s *Server) serveAttached(w http.ResponseWriter, r *http.Request, c *peer.Caller) error {
	if !strings.EqualFold(r.Header.Get("Upgrade"), proto.UpgradeAttached) {
		return fault.New(fault.UsageError, "this route needs the header Upgrade: %s", proto.UpgradeAttached).
			WithHint("POST /v1/exec runs programs in the daemon")
	}
	head := fmt.Sprintf("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n%s: %s\r\n\r\n", proto.UpgradeAttached,
		proto.HeaderProtocol, w.Header().Get(proto.HeaderProtocol), proto.HeaderBuild, w.Header().Get(proto.HeaderBuild))
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fault.New(fault.InternalError, "the connection cannot be upgraded: %w", err)
	}
	_ = conn.SetDeadline(time.Time{}) // a run may last for days
	if _, err := conn.Write([]byte(head)); err != nil {
		_ = conn.Close() // the caller is gone
		return nil
	}
	attached.Serve(conn, buffered.Reader, s.o.Log, func(ctx context.Context, d *attached.Daemon, req proto.ExecRequest) (attached.Run, error) {
		return s.o.Runs.ExecAttached(ctx, c, req, d)
	})
	return nil
}

// beside refuses a program that its caller is to execute, saying so.
func (s *Server) beside(w http.ResponseWriter, c *peer.Caller, req proto.ExecRequest) error {
	if req.Where == "" || req.Where == "remote" {
		return nil
	}
	beside, err := s.o.Runs.Beside(c, req)
	if err == nil && beside {
		w.Header().Set(proto.HeaderAttach, "1")
		err = fault.New(fault.UsageError, "the program is executed beside its caller").
			WithHint("upgrade GET /v1/exec/attached for that, or say where: remote")
	}
	return err
}
