package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
)

// refusal is an error answer of a token endpoint (RFC 6749 section 5.2).
type refusal struct {
	Code        string `json:"error"`
	Description string `json:"error_description"`
	Status      int    `json:"-"`
}

func (r *refusal) Error() string { return r.text() }

func (r *refusal) text() string {
	text := clip(r.Code, 60)
	if text == "" {
		text = fmt.Sprintf("status %d", r.Status)
	}
	if r.Description != "" {
		text += " (" + clip(r.Description, 200) + ")"
	}
	return text
}

// final is whether asking again is of no use.
func (r *refusal) final() bool {
	switch r.Code {
	case "invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_request", "access_denied", "invalid_target":
		return true
	}
	return false
}

func asRefusal(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

func asFault(err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	return nil
}

// tokens is a successful answer (RFC 6749 section 5.1).
type tokens struct {
	Access  string          `json:"access_token"`
	Type    string          `json:"token_type"`
	Refresh string          `json:"refresh_token"`
	Expires json.RawMessage `json:"expires_in"` // some write it in quotes
	Scope   string          `json:"scope"`
}

// maxLife bounds expires_in: beyond it nothing is gained, and time overflows.
const maxLife = 10 * 365 * 24 * time.Hour

// into puts the tokens of an answer into a record. A refresh token that is not
// replaced stays good.
func (t *tokens) into(r *record, asked string, now time.Time) {
	r.Access, r.Issued, r.Expires, r.Ended = t.Access, now.UTC(), time.Time{}, ""
	if t.Refresh != "" {
		r.Refresh = t.Refresh
	}
	if s, err := strconv.ParseFloat(strings.Trim(string(t.Expires), `"`), 64); err == nil && s > 0 {
		life := maxLife
		if s < maxLife.Seconds() {
			life = time.Duration(s * float64(time.Second))
		}
		r.Expires = now.UTC().Add(life)
	}
	r.Scope = first(words(t.Scope), words(asked))
	if len(r.Scope) > maxScope {
		r.Scope = words(asked)
	}
}

// form sends a form to an endpoint that wants to know the client, and reads the
// JSON of a success into out. The error of an answer is a *refusal.
func (w *web) form(ctx context.Context, what, endpoint string, c client, form url.Values, out any) error {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	switch c.Method {
	case "client_secret_basic":
		// RFC 6749 section 2.3.1: form-encoded, then Basic.
		req := http.Request{Header: header}
		req.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	case "client_secret_post":
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret)
	default:
		form.Set("client_id", c.ID)
	}
	status, body, err := w.post(ctx, what, endpoint, header, []byte(form.Encode()))
	if err != nil {
		return err
	}
	if status < 200 || status > 299 {
		r := &refusal{Status: status}
		_ = json.Unmarshal(body, r) // a body of another kind says nothing
		if r.Code == "" && status >= 500 {
			return fault.New(fault.ToolFailure, "%s answered %d", what, status)
		}
		return r
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fault.New(fault.ToolFailure, "%s gave an answer that is no JSON", what)
	}
	return nil
}

// grant asks the token endpoint for tokens.
func (w *web) grant(ctx context.Context, endpoint string, c client, form url.Values) (*tokens, error) {
	var t tokens
	if err := w.form(ctx, "the token endpoint", endpoint, c, form, &t); err != nil {
		return nil, err
	}
	switch {
	case t.Access == "":
		return nil, fmt.Errorf("the token endpoint gave no access token")
	case t.Type != "" && !strings.EqualFold(t.Type, "Bearer"):
		return nil, fmt.Errorf("the token endpoint gave a token of type %s; only Bearer can be sent", clip(t.Type, 40))
	case !sendable(t.Access):
		return nil, fmt.Errorf("the token endpoint gave a token that cannot be sent")
	case len(t.Refresh) > maxSecret:
		return nil, fmt.Errorf("the token endpoint gave a refresh token of more than %d bytes", maxSecret)
	}
	return &t, nil
}

// sendable is whether a token can stand in a header (RFC 6750 section 2.1, but
// for characters that issuers use in spite of it).
func sendable(token string) bool {
	return len(token) <= maxSecret && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// refreshOnce replaces the tokens of r by one request.
func (k *Keeper) refreshOnce(ctx context.Context, r *record) error {
	w, err := k.open(ctx, Target{Server: r.Server, URL: r.URL})
	if err != nil {
		return err
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.Refresh}}
	if r.Resource != "" {
		form.Set("resource", r.Resource)
	}
	t, err := w.grant(ctx, r.Token, r.Client, form)
	if err != nil {
		return err
	}
	t.into(r, r.Scope, time.Now())
	return nil
}

// revoke tells the authorization server that a login is over (RFC 7009).
func (k *Keeper) revoke(ctx context.Context, r *record) error {
	if r.Revoke == "" || r.Refresh == "" && r.Access == "" {
		return nil
	}
	w, err := k.open(ctx, Target{Server: r.Server, URL: r.URL})
	if err != nil {
		return err
	}
	form := url.Values{"token": {first(r.Refresh, r.Access)}}
	return w.form(ctx, "the revocation endpoint", r.Revoke, r.Client, form, nil)
}

// method is how a client with or without a secret proves itself.
func method(secret string, offered []string) string {
	switch {
	case secret == "":
		return "none"
	case len(offered) > 0 && !slices.Contains(offered, "client_secret_basic") && slices.Contains(offered, "client_secret_post"):
		return "client_secret_post"
	}
	return "client_secret_basic"
}
