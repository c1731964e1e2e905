package client

import (
	"context"
	"encoding/json"
	"io"
	"net/url"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Logins tells how the logins to remote servers stand.
func (c *Client) Logins(ctx context.Context) ([]proto.Login, error) {
	return get[[]proto.Login](ctx, c, "/v1/auth")
}

// Login logs in to a server; told hears what the user has to do. The end of ctx
// hangs up, which ends the login.
func (c *Client) Login(ctx context.Context, server string, r proto.LoginStart, told func(proto.LoginPrompt)) (*proto.Login, error) {
	res, err := c.Open(ctx, "POST", "/v1/servers/"+url.PathEscape(server)+"/auth", r, "application/x-ndjson")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var login *proto.Login
	var failure *proto.Error
	err = lines(res.Body, func(raw []byte) error {
		var f proto.Frame
		if err := json.Unmarshal(raw, &f); err != nil {
			return err
		}
		switch f.Type {
		case "login":
			var p proto.LoginPrompt
			if err := json.Unmarshal(f.Data, &p); err != nil {
				return err
			}
			told(p)
		case "result":
			return json.Unmarshal(f.Data, &login)
		case "error":
			return json.Unmarshal(f.Data, &failure)
		}
		return nil
	})
	switch {
	case failure != nil:
		return nil, fault.FromWire(failure)
	case login != nil:
		return login, nil
	case err == nil:
		err = io.ErrUnexpectedEOF
	}
	return nil, c.broken(ctx, err)
}

// Logout ends the login to a server.
func (c *Client) Logout(ctx context.Context, server string) (proto.LoginEnded, error) {
	var out proto.LoginEnded
	err := c.Do(ctx, "DELETE", "/v1/servers/"+url.PathEscape(server)+"/auth", nil, &out)
	return out, err
}
