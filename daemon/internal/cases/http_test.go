package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// httpVerb sends one request to the daemon's socket, or over TCP. The body of
// the answer is its stdout, status line and headers are its stderr, and a
// status from 400 on is its exit code.
func httpVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) < 2 {
		return outcome{}, usage("http METHOD PATH [tcp=HOST:PORT] [host=NAME] [body=TEXT] [Header:Value]…")
	}
	opts := options(p.words[2:])
	network, address, base := "unix", s.Get("SOCKET"), "http://tenon"
	if tcp := opts["tcp"]; tcp != "" {
		network, address, base = "tcp", tcp, "http://"+tcp
	}
	ctx, cancel := context.WithTimeout(context.Background(), rig.Hung)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, p.words[0], base+p.words[1], strings.NewReader(opts["body"]))
	if err != nil {
		return outcome{}, err
	}
	req.Header.Set(proto.HeaderProtocol, strconv.Itoa(proto.Protocol))
	req.Header.Set(proto.HeaderDir, p.dir)
	if opts["body"] != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if opts["host"] != "" {
		req.Host = opts["host"]
	}
	for _, w := range p.words[2:] {
		if name, value, ok := strings.Cut(w, ":"); ok && !strings.Contains(name, "=") {
			req.Header.Set(name, value)
		}
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}
	start := time.Now()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return rig.No("%v", err), nil
	}
	defer resp.Body.Close()
	o := outcome{Took: time.Since(start)}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		o.Stderr = []byte(resp.Status)
		return o, nil
	}
	o.Stdout, err = io.ReadAll(resp.Body)
	o.Took = time.Since(start)
	var head strings.Builder
	fmt.Fprintln(&head, resp.Status)
	_ = resp.Header.Write(&head)
	o.Stderr = []byte(head.String())
	if resp.StatusCode >= 400 {
		o.Code = resp.StatusCode
	}
	return o, err
}

// socketVerb puts something in the place of a daemon's socket: "dead" is the
// file that a killed daemon leaves, "deaf" listens and never accepts,
// "protocol=N" is a daemon of another protocol that answers every request with
// its health. They last until the end of the case.
func socketVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) != 2 {
		return outcome{}, usage("socket dead|deaf|protocol=N PATH")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: p.words[1], Net: "unix"})
	if err != nil {
		return outcome{}, err
	}
	if err := os.Chmod(p.words[1], 0o600); err != nil {
		return outcome{}, err
	}
	l.SetUnlinkOnClose(false)
	if p.words[0] == "dead" {
		return outcome{}, l.Close()
	}
	stop := func() { _ = l.Close(); _ = os.Remove(p.words[1]) }
	if n, ok := strings.CutPrefix(p.words[0], "protocol="); ok {
		number, err := strconv.Atoi(n)
		if err != nil {
			return outcome{}, err
		}
		srv := &http.Server{Handler: stranger(number), ReadHeaderTimeout: time.Minute}
		go func() {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				panic(err)
			}
		}()
		stop = func() { _ = srv.Close(); _ = os.Remove(p.words[1]) }
	}
	s.AtEnd(stop)
	return outcome{}, nil
}

// stranger answers as a daemon that speaks another protocol.
func stranger(protocol int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		build := proto.Build{Version: "9.9.9", ID: "other"}
		w.Header().Set(proto.HeaderProtocol, strconv.Itoa(protocol))
		w.Header().Set(proto.HeaderBuild, build.Version)
		if filepath.Base(r.URL.Path) == "health" {
			_ = json.NewEncoder(w).Encode(proto.Health{Protocol: protocol, Build: build, PID: os.Getpid(), UID: os.Getuid()})
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(fault.ProtocolMismatch.HTTPStatus())
		_ = json.NewEncoder(w).Encode(proto.Problem{
			Status: fault.ProtocolMismatch.HTTPStatus(), Title: string(fault.ProtocolMismatch),
			Error: proto.Error{Kind: string(fault.ProtocolMismatch), Message: fmt.Sprintf("this daemon speaks protocol %d", protocol)},
		})
	})
}
