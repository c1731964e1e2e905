package client

import (
	"context"
	"net/url"
	"strings"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Scripts lists the saved scripts of our directory.
func (c *Client) Scripts(ctx context.Context) ([]proto.Script, error) {
	return get[[]proto.Script](ctx, c, "/v1/scripts")
}

// Script is one saved script with its code, as seen from dir; empty: ours.
func (c *Client) Script(ctx context.Context, name, dir string) (proto.Script, error) {
	parts := strings.Split(strings.TrimPrefix(name, "./"), "/")
	for i := range parts {
		if part := parts[i]; part == "" || part == "." || part == ".." { // no path can be made of it
			return proto.Script{}, fault.New(fault.NotFound, "there is no saved script %q", name).WithHint("tenon scripts lists those there are")
		}
		parts[i] = url.PathEscape(parts[i])
	}
	path := "/v1/scripts/" + strings.Join(parts, "/")
	if dir != "" {
		path += "?" + url.Values{"dir": {dir}}.Encode()
	}
	return get[proto.Script](ctx, c, path)
}

// SaveScript keeps a program under a name.
func (c *Client) SaveScript(ctx context.Context, r proto.ScriptSave) (proto.Script, error) {
	var out proto.Script
	err := c.Do(ctx, "POST", "/v1/scripts", r, &out)
	return out, err
}
