package auth

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
)

// LoginWithin bounds a login, the user's part included.
const LoginWithin = 10 * time.Minute

// Flow is how the user is sent to the authorization server.
type Flow string

// The flows.
const (
	Browser Flow = "browser" // a page of this machine's browser, which comes back to a loopback address
	Device  Flow = "device"  // a page anywhere, into which a code is typed (RFC 8628)
	Any     Flow = "any"     // Device where the authorization server offers it, else Browser
)

// Prompt is what the user has to do.
type Prompt struct {
	Flow     Flow
	URL      string // http or https; with Device, where the code is typed
	Code     string // Device
	Complete string // Device: an address that holds the code, or empty
	Expires  time.Time
}

// Login logs in and keeps what comes of it, in place of a login before. tell
// hears what the user has to do; it must not block. Errors: Unauthorized for what
// the server, the authorization server or the user refuse, ServerUnavailable
// where one of them is not there, ConfigError for an entry that cannot be logged
// in to, TimeoutExceeded after LoginWithin (10 min), Cancelled.
func (s *Source) Login(ctx context.Context, flow Flow, tell func(Prompt)) (Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, LoginWithin,
		fault.New(fault.TimeoutExceeded, "the login to server %s was not finished within %s", s.target.Server, LoginWithin).At(s.target.Server, ""))
	defer cancel()
	r, err := s.login(ctx, flow, tell)
	if err != nil {
		if ctx.Err() != nil {
			return Status{}, fault.From(context.Cause(ctx))
		}
		return Status{}, s.target.failed(err)
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return Status{}, s.target.unavailable("the login to server %s cannot be kept: %w", s.target.Server, err)
	}
	defer func() { _ = lock.Release() }()
	s.k.o.Secrets(s.target.id(), r.secrets()...)
	if err := s.file.write(r); err != nil {
		return Status{}, fault.New(fault.InternalError, "server %s: %w", s.target.Server, err).
			WithHint("make room in the state directory and allow writing to it, then log in again")
	}
	s.mu.Lock()
	s.asked, s.failed = nil, nil
	s.mu.Unlock()
	s.k.o.Log.Info("logged in", "server", s.target.Server, "issuer", r.Issuer, "client", r.Client.From)
	return s.Status(), nil
}

func (s *Source) login(ctx context.Context, flow Flow, tell func(Prompt)) (*record, error) {
	w, err := s.k.open(ctx, s.target)
	if err != nil {
		return nil, err
	}
	c, err := s.challenge(ctx, w)
	if err != nil {
		return nil, err
	}
	p, err := w.discover(ctx, s.target, c)
	if err != nil {
		return nil, err
	}
	before, err := s.file.read()
	if err != nil { // what comes of this login takes its place
		s.k.o.Log.Warn("the login before is not used", "server", s.target.Server, "error", err)
	}
	if before != nil && before.Issuer != p.meta.Issuer {
		before = nil
	}
	scope := s.scope(p, c, before)
	if len(scope) > maxScope {
		return nil, fmt.Errorf("the server names more scopes than can be asked for (%d bytes of %d): write those that you need into oauth.scope of its entry", len(scope), maxScope)
	}
	if flow == Device && p.meta.Device == "" {
		return nil, fmt.Errorf("%s offers no device flow", clip(p.meta.Issuer, 200))
	}
	r := &record{
		Version: recordVersion, Server: s.target.Server, URL: s.target.URL, Resource: p.resource,
		Issuer: p.meta.Issuer, Token: p.meta.Token, Revoke: p.meta.Revoke,
	}
	if flow == Device || flow == Any && p.meta.Device != "" || p.meta.Authorize == "" {
		err = s.byDevice(ctx, w, p, before, scope, r, tell)
	} else {
		err = s.byBrowser(ctx, w, p, before, scope, r, tell)
	}
	return r, err
}

// challenge is what the server said when it refused last, else what it says when
// it is asked.
func (s *Source) challenge(ctx context.Context, w *web) (challenge, error) {
	s.mu.Lock()
	asked := s.asked
	s.mu.Unlock()
	if asked != nil {
		return *asked, nil
	}
	c, _, err := w.probe(ctx, s.target)
	return c, err
}

// scope is what is asked for: what the entry says; else what the server's
// refusal names, with what was granted and what was wanted before, so that a
// login for more does not lose what there was; else what the server's metadata
// lists; else nothing, and the authorization server decides.
func (s *Source) scope(p *place, c challenge, before *record) string {
	scope := words(s.target.Scope)
	if scope == "" {
		scope = words(c.scope)
		if before != nil {
			if before.Wants != "" || c.fault == "insufficient_scope" {
				scope = union(union(before.Scope, before.Wants), scope)
			}
		}
		if scope == "" {
			scope = union("", strings.Join(p.scopes, " "))
		}
	}
	// Without it an OpenID provider gives no refresh token.
	if slices.Contains(p.meta.Scopes, "offline_access") && scope != "" && s.target.Scope == "" {
		scope = union(scope, "offline_access")
	}
	return scope
}

// byBrowser is the authorization code flow with a loopback address (RFC 8252).
func (s *Source) byBrowser(ctx context.Context, w *web, p *place, before *record, scope string, r *record, tell func(Prompt)) error {
	l, err := listen(s.target.Redirect, before)
	if err != nil {
		return err
	}
	defer l.close()
	if r.Client, err = w.identify(ctx, s.target, p, before, l.redirect, scope, false); err != nil {
		return err
	}
	state, verifier := secret(), secret()
	query := url.Values{
		"response_type": {"code"}, "client_id": {r.Client.ID}, "redirect_uri": {l.redirect}, "state": {state},
		"code_challenge": {s256(verifier)}, "code_challenge_method": {"S256"}, "resource": {p.resource},
	}
	withScope(query, scope)
	u, err := w.address("authorization_endpoint", p.meta.Authorize)
	if err != nil {
		return err
	}
	if have := u.Query(); len(have) > 0 { // kept, as RFC 6749 section 3.1 wants
		for name, values := range query {
			have[name] = values
		}
		query = have
	}
	u.RawQuery, u.Fragment = query.Encode(), ""
	deadline, _ := ctx.Deadline()
	l.expect(state, &p.meta)
	tell(Prompt{Flow: Browser, URL: u.String(), Expires: deadline})
	code, err := l.wait(ctx)
	if err != nil {
		return err
	}
	form := url.Values{
		"grant_type": {grantCode}, "code": {code}, "redirect_uri": {l.redirect}, "code_verifier": {verifier}, "resource": {p.resource},
	}
	t, err := w.grant(ctx, p.meta.Token, r.Client, form)
	if err != nil {
		return err
	}
	t.into(r, scope, time.Now())
	return nil
}

// withScope asks for scopes. OpenID Connect gives a refresh token only after the
// user has consented to it.
func withScope(query url.Values, scope string) {
	if scope == "" {
		return
	}
	query.Set("scope", scope)
	if slices.Contains(strings.Fields(scope), "offline_access") {
		query.Set("prompt", "consent")
	}
}

// Logout ends the login: tokens and client are forgotten here, and the
// authorization server is told where it offers that. It reports whether there
// was one.
func (s *Source) Logout(ctx context.Context) (bool, error) {
	lock, err := s.lock(ctx)
	if err != nil {
		return false, s.notLocked(err)
	}
	r, err := s.file.read()
	if err != nil {
		s.k.o.Log.Warn("a login is removed unread", "server", s.target.Server, "error", err)
	}
	if r != nil {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		if err := s.k.revoke(ctx, r); err != nil {
			s.k.o.Log.Warn("the authorization server was not told of a logout", "server", s.target.Server, "error", r.hide(err.Error()))
		}
	}
	removed, err := s.file.remove()
	if info, _ := os.Lstat(s.file.path); err != nil && info != nil && info.IsDir() {
		return false, releasing(lock, fault.New(fault.UsageError, "the login to server %s cannot be removed: %s is a folder that is not empty", s.target.Server, s.file.path).
			WithHint("what is in it is none of tenon's: look, and remove it by hand").Because(err))
	}
	if err != nil {
		return false, releasing(lock, fault.New(fault.InternalError, "the login to server %s cannot be removed: %w", s.target.Server, err))
	}
	s.mu.Lock()
	s.asked, s.failed = nil, nil
	s.mu.Unlock()
	return removed || r != nil, lock.Remove()
}

func releasing(lock *local.Lock, err error) error {
	_ = lock.Release()
	return err
}
