package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"tenon/proto"
)

// API speaks to a scene's daemon over its socket as the user. Unlike the
// product's own client it never starts a daemon. Its methods may be called at
// the same time; close it with Close.
type API struct{ client *http.Client }

// NewAPI makes an API for the daemon whose socket is there, now or later.
func (s *Scene) NewAPI() *API {
	socket := s.Get("SOCKET")
	return &API{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}}
}

// Close closes what is kept open.
func (a *API) Close() { a.client.CloseIdleConnections() }

// Text asks a route for the directory dir and gives the body; a status from 400
// on is an error.
func (a *API) Text(ctx context.Context, dir, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://tenon"+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(proto.HeaderProtocol, strconv.Itoa(proto.Protocol))
	req.Header.Set(proto.HeaderDir, dir)
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 400 {
		err = fmt.Errorf("%s: %s: %s", path, resp.Status, Tail(body, 600))
	}
	return body, err
}

// Get asks a route for the directory dir and reads its JSON into out.
func (a *API) Get(ctx context.Context, dir, path string, out any) error {
	body, err := a.Text(ctx, dir, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s: %w: %s", path, err, Tail(body, 300))
	}
	return nil
}
