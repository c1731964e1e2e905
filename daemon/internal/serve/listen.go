package serve

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"tenon/daemon/internal/api"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/peer"
)

// server is one listener with its HTTP server.
type server struct {
	http *http.Server
	unix *local.Listener // nil for TCP
	done chan struct{}   // closed when Serve has returned
}

const (
	// headerTimeout bounds how long a peer may take to send its headers.
	headerTimeout = 10 * time.Second
	// idleTimeout is how long a peer may keep a connection on which it asks nothing;
	// each costs an open file, of which there may be 1,024.
	idleTimeout = 2 * time.Minute
)

// listen opens the socket and, where it is configured, TCP.
func (d *daemon) listen(lock *local.Lock) error {
	l, err := d.o.Paths.Listen(lock)
	if err != nil {
		return err
	}
	d.serve(l, l, d.api)
	if d.settings.ListenAddress == "" {
		return nil
	}
	tcp, err := net.Listen("tcp", d.settings.ListenAddress)
	if err != nil {
		return fault.New(fault.ConfigError, "listen.address %s: %w", d.settings.ListenAddress, err)
	}
	guard, err := api.NewGuard(d.api, d.settings.ListenAddress, tcp.Addr(), d.settings.ListenToken)
	if err != nil {
		_ = tcp.Close()
		return err
	}
	d.log.Info("listening on TCP", "address", tcp.Addr())
	d.serve(tcp, nil, guard)
	return nil
}

// serve starts one HTTP server; shutdown ends it.
func (d *daemon) serve(l net.Listener, unix *local.Listener, h http.Handler) {
	s := &server{unix: unix, done: make(chan struct{}), http: &http.Server{
		Handler: h, ConnContext: peer.ConnContext, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: api.MaxHeader, ErrorLog: log.New(io.Discard, "", 0), // peers that vanish are no news
	}}
	d.servers = append(d.servers, s)
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			d.log.Error("listener failed", "error", err)
			d.stop <- stopping{reason: "its listener failed"}
		}
	}()
}

// shutdownListeners stops accepting and lets answers that are under way out.
// The socket's name goes first; those who had connected before are still
// answered, if only with the word to try again.
func (d *daemon) shutdownListeners(ctx context.Context) {
	for _, s := range d.servers {
		if s.unix != nil {
			s.unix.Retire()
			<-s.done
		}
	}
	for _, s := range d.servers {
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close() // what is left after the bound is cut
		}
		<-s.done
	}
}
