package client

import (
	"context"
	"net/url"
	"strconv"

	"tenon/proto"
)

// offerQuery is a query as a URL has it, with its question mark.
func offerQuery(q proto.OfferQuery) string {
	v := url.Values{}
	if q.Server != "" {
		v.Set("server", q.Server)
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return "?" + v.Encode()
}

// Resources lists resources of one server or of all.
func (c *Client) Resources(ctx context.Context, q proto.OfferQuery) (proto.Resources, error) {
	return get[proto.Resources](ctx, c, "/v1/resources"+offerQuery(q))
}

// Templates lists templates of resources.
func (c *Client) Templates(ctx context.Context, q proto.OfferQuery) (proto.ResourceTemplates, error) {
	return get[proto.ResourceTemplates](ctx, c, "/v1/resources/templates"+offerQuery(q))
}

// Prompts lists prompts.
func (c *Client) Prompts(ctx context.Context, q proto.OfferQuery) (proto.Prompts, error) {
	return get[proto.Prompts](ctx, c, "/v1/prompts"+offerQuery(q))
}

// ReadResource reads a resource; asked is that of Call.
func (c *Client) ReadResource(ctx context.Context, r proto.ResourceRead, asked func(proto.Frame)) (*proto.CallResult, error) {
	return c.call(ctx, "/v1/resources/read", r, asked)
}

// GetPrompt gets a prompt; asked is that of Call.
func (c *Client) GetPrompt(ctx context.Context, r proto.PromptGet, asked func(proto.Frame)) (*proto.CallResult, error) {
	return c.call(ctx, "/v1/prompts/get", r, asked)
}
