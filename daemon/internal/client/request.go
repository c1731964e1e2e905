package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// maxProblem bounds how much of a failed response is read.
const maxProblem = 1 << 20

// Do makes one request with in as JSON body (nil: none) and reads the answer
// into out (nil: ignored). Failures are *fault.Error.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	res, err := c.Open(ctx, method, path, in, "application/json")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, res.Body)
	} else {
		err = json.NewDecoder(res.Body).Decode(out)
	}
	if err != nil {
		return c.broken(ctx, err)
	}
	return nil
}

// named refuses a path with a step in it in place of a name: nothing is called so,
// and the daemon would take it for the path of another route.
func named(path string) error {
	path, _, _ = strings.Cut(path, "?")
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step == "" || step == "." || step == ".." { // url.PathEscape leaves dots as they are
			return fault.New(fault.NotFound, "nothing is called %q", step)
		}
	}
	return nil
}

// Open makes one request and returns a successful response, whose body the
// caller closes. It brings the daemon up when there is none or when it is
// about to go; a request that a daemon may have seen is never sent again.
func (c *Client) Open(ctx context.Context, method, path string, in any, accept string) (*http.Response, error) {
	if err := named(path); err != nil {
		return nil, err
	}
	if err := c.setup(); err != nil {
		return nil, err
	}
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, fault.New(fault.InternalError, "cannot write the request: %w", err)
		}
	}
	res, err := c.send(ctx, method, path, body, accept)
	if !c.mayStart(err) {
		return res, err
	}
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	return c.send(ctx, method, path, body, accept)
}

// mayStart reports whether the failure means that no daemon took the request.
func (c *Client) mayStart(err error) bool {
	if err == nil || c.NoStart || c.Dial != nil || c.Socket != c.Paths.Socket {
		return false
	}
	var dial *dialError
	return errors.As(err, &dial) && absent(dial.err) || errors.Is(err, errDraining) || errors.Is(err, errDying)
}

// errDying marks a daemon that took a connection and ended before a word was
// exchanged.
var errDying = errors.New("the daemon has just ended")

// errDraining marks the answer of a daemon that takes no more work.
var errDraining = errors.New("the daemon is draining")

// ErrAttach marks the refusal of a program that is executed beside its caller:
// see Attach.
var ErrAttach = errors.New("the program is executed beside its caller")

func (c *Client) send(ctx context.Context, method, path string, body []byte, accept string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+c.host()+path, bytes.NewReader(body))
	if err != nil {
		return nil, fault.New(fault.UsageError, "cannot make a request for %s: %w", path, err)
	}
	c.headers(req.Header)
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.exchange(ctx, req)
	if err != nil {
		var dial *dialError
		if errors.As(err, &dial) && ctx.Err() == nil {
			return nil, c.unreachable(err)
		}
		return nil, c.broken(ctx, err)
	}
	if err := c.greet(res.Header); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	if res.StatusCode >= 400 {
		defer res.Body.Close()
		return nil, problem(res)
	}
	return res, nil
}

// broken is a connection that ended while the daemon had the request.
func (c *Client) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fault.From(context.Cause(ctx))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		e := fault.New(fault.DaemonUnavailable, "the daemon at %s does not answer", c.Socket)
		if info, ok := c.Paths.Info(); ok && c.Socket == c.Paths.Socket {
			e.Message += fmt.Sprintf(" (pid %d)", info.PID)
		}
		return e.WithHint("it may be stopped or hang; its log says more: %s", c.Paths.LogFile())
	}
	return fault.New(fault.DaemonUnavailable, "the daemon went away during the request: %w", err).
		WithHint("whether the request was carried out is unknown, so it was not sent again; tenon runs list and tenon daemon logs say more")
}

// greet compares the two sides of the handshake.
func (c *Client) greet(h http.Header) error {
	theirs := local.ParseStamp(h.Get(proto.HeaderBuild))
	c.mu.Lock()
	first := c.daemon.Version == ""
	c.daemon = theirs
	c.mu.Unlock()
	number, err := strconv.Atoi(h.Get(proto.HeaderProtocol))
	if err != nil {
		return fault.New(fault.ProtocolMismatch, "what answers at %s is not a tenon daemon", c.Socket).
			WithHint("check TENON_SOCKET, --socket and TENON_RUNTIME_DIR")
	}
	if number != proto.Protocol {
		return local.Mismatch(proto.Protocol, local.OwnStamp().Build, number, theirs.Build)
	}
	if first && c.Notice != nil && local.OwnStamp().Newer(theirs) {
		c.Notice(fmt.Sprintf("the daemon is of an older build, %s; it finishes what runs and is then replaced by %s",
			local.FormatBuild(theirs.Build), local.FormatBuild(local.OwnStamp().Build)))
	}
	return nil
}

// problem reads the failure that the daemon answered.
func problem(res *http.Response) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	var p proto.Problem
	if err != nil || kind != "application/problem+json" || json.Unmarshal(raw, &p) != nil {
		return fault.New(fault.InternalError, "the daemon answered %s: %s", res.Status, strings.TrimSpace(string(raw[:min(len(raw), 200)])))
	}
	e := fault.FromWire(&p.Error)
	if res.Header.Get(proto.HeaderDraining) != "" {
		return e.Because(errDraining)
	}
	if res.Header.Get(proto.HeaderAttach) != "" {
		return e.Because(ErrAttach)
	}
	return e
}
