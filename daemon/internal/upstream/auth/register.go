package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"tenon/daemon/internal/fault"
)

const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
	grantDevice  = "urn:ietf:params:oauth:grant-type:device_code"
)

// identify comes by a client: the one that the entry names, the document that
// it names, one registered before at the same place, or a new one.
func (w *web) identify(ctx context.Context, t Target, p *place, before *record, redirect, scope string, device bool) (client, error) {
	m := &p.meta
	switch {
	case t.ClientID != "":
		return client{ID: t.ClientID, Secret: t.ClientSecret, Method: method(t.ClientSecret, m.Methods), From: configured, Redirect: redirect}, nil
	case t.Document != "" && m.Documents:
		return client{ID: t.Document, Method: "none", From: document, Redirect: redirect}, nil
	case before != nil && before.Client.again(m.Issuer == before.Issuer, redirect, scope, device):
		return before.Client, nil
	case m.Register == "":
		return client{}, t.unregistered(m)
	}
	return w.register(ctx, m, redirect, scope, device)
}

// again is whether a client that was registered before does for a login.
func (c client) again(same bool, redirect, scope string, device bool) bool {
	switch {
	case !same, !covers(c.Scope, scope), c.From != registered, c.ID == "", !c.Expires.IsZero() && time.Now().After(c.Expires):
		return false
	case device:
		return c.Device
	}
	return c.Redirect == redirect
}

// unregistered says what the user can do where nobody can register.
func (t Target) unregistered(m *serverMeta) error {
	e := fault.New(fault.Unauthorized, "login to server %s: %s lets no client register itself", t.Server, clip(m.Issuer, 200)).At(t.Server, "")
	if m.Documents {
		return e.WithHint("register a client there and write its id into oauth.clientId of the server's entry, or the address of a client id metadata document into oauth.clientMetadataUrl")
	}
	return e.WithHint("register a client there and write its id into oauth.clientId of the server's entry")
}

// registration is a request to register a client (RFC 7591).
type registration struct {
	Name      string   `json:"client_name"`
	Redirects []string `json:"redirect_uris"`
	Grants    []string `json:"grant_types"`
	Responses []string `json:"response_types"`
	Method    string   `json:"token_endpoint_auth_method"`
	Type      string   `json:"application_type"`
	Scope     string   `json:"scope,omitempty"`
}

// register makes a client of our own.
func (w *web) register(ctx context.Context, m *serverMeta, redirect, scope string, device bool) (client, error) {
	ask := registration{
		Name: "tenon", Redirects: []string{redirect}, Grants: []string{grantCode, grantRefresh}, Responses: []string{"code"},
		Method: "none", Type: "native", Scope: scope,
	}
	if !slices.Contains(m.Methods, "none") && len(m.Methods) > 0 {
		ask.Method = method("secret", m.Methods)
	}
	if device {
		ask.Grants = append(ask.Grants, grantDevice)
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return client{}, err
	}
	status, answer, err := w.post(ctx, "the registration endpoint", m.Register, http.Header{"Content-Type": {"application/json"}}, body)
	if err != nil {
		return client{}, err
	}
	if status != http.StatusCreated && status != http.StatusOK {
		r := &refusal{Status: status}
		_ = json.Unmarshal(answer, r) // a body of another kind says nothing
		return client{}, fmt.Errorf("registration at %s was refused: %w", clip(m.Issuer, 200), r)
	}
	var got struct {
		ID      string `json:"client_id"`
		Secret  string `json:"client_secret"`
		Expires int64  `json:"client_secret_expires_at"`
		Method  string `json:"token_endpoint_auth_method"`
	}
	if json.Unmarshal(answer, &got) != nil || got.ID == "" {
		return client{}, fmt.Errorf("registration at %s gave no client id", clip(m.Issuer, 200))
	}
	if len(got.ID) > maxSecret || len(got.Secret) > maxSecret {
		return client{}, fmt.Errorf("registration at %s gave a client id or secret of more than %d bytes", clip(m.Issuer, 200), maxSecret)
	}
	c := client{ID: got.ID, Secret: got.Secret, Method: got.Method, From: registered, Redirect: redirect, Scope: scope, Device: device}
	switch c.Method {
	case "none", "client_secret_basic", "client_secret_post":
	case "":
		c.Method = method(got.Secret, m.Methods)
	default:
		return client{}, fmt.Errorf("registration at %s gave a client that proves itself by %s, which tenon cannot", clip(m.Issuer, 200), clip(c.Method, 60))
	}
	if got.Expires > 0 {
		c.Expires = time.Unix(got.Expires, 0).UTC()
	}
	return c, nil
}
