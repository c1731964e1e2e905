package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/outbound"
)

const (
	maxBody      = 1 << 20 // bytes of metadata, of a registration, of an answer with tokens
	maxURL       = 8 << 10
	maxRedirects = 3 // of metadata; nothing else is redirected
	askWithin    = 15 * time.Second
)

// web makes the requests of one login. They go where a server that stands that
// near may point, and nowhere else.
type web struct {
	o    *Options
	near outbound.Near
}

// open finds out how near the server stands.
func (k *Keeper) open(ctx context.Context, t Target) (*web, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, fault.New(fault.ConfigError, "server %s: the url cannot be read", t.Server).At(t.Server, "")
	}
	near, err := k.o.Network.Locate(ctx, u)
	if err != nil {
		return nil, t.unavailable("server %s: %s", t.Server, fault.From(err).Message).Because(err)
	}
	// The token goes there with every request.
	if u.Scheme == "http" && near != outbound.Machine {
		return nil, fault.New(fault.ConfigError, "server %s: its url is plain http, over which no token may be sent", t.Server).
			At(t.Server, "").WithHint("write https:// in its url")
	}
	return &web{o: &k.o, near: near}, nil
}

// address reads an address that somebody else gave, and holds it to the rule.
func (w *web) address(what, text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("%s has more than %d bytes", what, maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || !u.IsAbs() {
		return nil, fmt.Errorf("%s is no address", what)
	}
	if err := outbound.MayReach(u, w.near); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return u, nil
}

// get reads a JSON document. A status of 4xx is no error: there is none.
func (w *web) get(ctx context.Context, what, address string, into any) (found bool, err error) {
	u, err := w.address(what, address)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return false, fmt.Errorf("%s: %w", what, err)
	}
	req.Header.Set("Accept", "application/json")
	// The newest version that this side speaks: some servers answer by it.
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	status, body, err := w.do(req, maxRedirects)
	switch {
	case err != nil:
		return false, fmt.Errorf("%s: %w", what, err)
	case status >= 400 && status < 500:
		return false, nil
	case status != http.StatusOK:
		return false, fmt.Errorf("%s: %s answered %d", what, u.Host, status)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return false, fmt.Errorf("%s at %s is no JSON document of that kind", what, u.Host)
	}
	return true, nil
}

// post sends a body and gives status and body of the answer. Nothing is
// redirected: a secret may be in it.
func (w *web) post(ctx context.Context, what, address string, header http.Header, body []byte) (int, []byte, error) {
	u, err := w.address(what, address)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", what, err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	status, answer, err := w.do(req, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", what, err)
	}
	return status, answer, nil
}

// do makes one request and reads the whole answer, up to its bound.
func (w *web) do(req *http.Request, redirects int) (int, []byte, error) {
	req.Header.Set("User-Agent", "tenon")
	c := http.Client{
		Transport: w.o.Network.Beside(w.near),
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > redirects {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, plain(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return 0, nil, plain(err)
	}
	if len(body) > maxBody {
		return 0, nil, fmt.Errorf("the answer of %s is larger than %d bytes", req.URL.Host, maxBody)
	}
	return res.StatusCode, body, nil
}

// plain is a failure of the network without its URL, whose query may hold what
// nobody should see.
func plain(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("there is no answer within %s", askWithin)
	}
	return err
}
