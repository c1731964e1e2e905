package auth

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
)

// Source gives the tokens of one server. It is safe for concurrent use.
type Source struct {
	k      *Keeper
	target Target
	file   file

	mu      sync.Mutex
	flight  *flight    // guarded by mu; the refresh under way
	asked   *challenge // guarded by mu; what the server said when it refused last
	failed  error      // guarded by mu; of the last refresh, if it got no answer
	failing time.Time  // guarded by mu; when that was
	told    *record    // guarded by mu; whose secrets were told last
	fresh   string     // guarded by mu; the token that the last refresh gave
	freshAt time.Time  // guarded by mu; when
}

// flight is one refresh that all its callers share.
type flight struct {
	stale string
	done  chan struct{}
	token string // set before done is closed
	err   error
}

// Token is the access token to send, empty where nobody has logged in. One that
// is at its end is refreshed first. Errors: Unauthorized when only a login helps,
// ServerUnavailable when the authorization server gives no answer.
func (s *Source) Token(ctx context.Context) (string, error) {
	r, err := s.current()
	if err != nil || r == nil || r.Access == "" {
		return "", err
	}
	now := time.Now()
	if r.Refresh == "" || !r.due(now) {
		return r.Access, nil
	}
	token, err := s.refresh(ctx, r.Access)
	if err != nil && fault.KindOf(err) != fault.Unauthorized && ctx.Err() == nil && !r.over(now) {
		return r.Access, nil // good for a moment still
	}
	return token, err
}

// Refused hears that the server answered 401, or 403, to a request with token
// (empty: none), and gives the token to try once more, empty where the answer is
// no matter of a login. A call that is answered so was never accepted. Errors are
// those of Token.
func (s *Source) Refused(ctx context.Context, token string, status int, header http.Header) (string, error) {
	c := readChallenge(header)
	if status == http.StatusForbidden && c.fault != "insufficient_scope" {
		return "", nil
	}
	s.mu.Lock()
	s.asked = &c
	s.mu.Unlock()
	r, err := s.current()
	switch {
	case err != nil:
		return "", err
	case r == nil || r.Access == "":
		return "", s.missing(r)
	case r.Access != token:
		return r.Access, nil // logged in or refreshed meanwhile
	case status == http.StatusForbidden:
		return "", s.wants(ctx, c.scope)
	case r.Refresh == "":
		return "", s.target.unauthorized("the login to server %s has ended: it refuses the token", s.target.Server)
	case s.justRefreshed(r):
		return "", s.Rejected() // another would fare no better, and the authorization server be asked with every call
	}
	return s.refresh(ctx, token)
}

// Rejected is the error of a request that was refused with the token that
// Refused gave.
func (s *Source) Rejected() error {
	return s.target.unauthorized("server %s refuses the token of its login", s.target.Server)
}

// justRefreshed is whether the token comes from a refresh a moment ago, and cannot
// have ended since.
func (s *Source) justRefreshed(r *record) bool {
	moment := again
	if !r.Expires.IsZero() {
		moment = min(again, r.Expires.Sub(r.Issued)/4)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.Access == s.fresh && time.Since(s.freshAt) < moment
}

// missing says that there is no token, and why.
func (s *Source) missing(r *record) error {
	if r != nil && r.Ended != "" {
		return s.target.unauthorized("the login to server %s has ended: %s", s.target.Server, r.Ended)
	}
	return s.target.unauthorized("server %s wants a login", s.target.Server)
}

// wants notes scopes for the next login, which asks for them too.
func (s *Source) wants(ctx context.Context, scope string) error {
	err := s.change(ctx, func(r *record) bool {
		wants := union(r.Wants, scope)
		if len(union(r.Scope, wants)) > maxScope { // who names other ones with each refusal gets the last
			wants = words(scope)
		}
		if wants == r.Wants || len(union(r.Scope, wants)) > maxScope {
			return false
		}
		r.Wants = wants
		return true
	})
	if err != nil {
		s.k.o.Log.Warn("what a server wants of its login was not kept", "server", s.target.Server, "error", err)
	}
	if scope == "" {
		return s.target.unauthorized("server %s wants more rights than its login has", s.target.Server)
	}
	return s.target.unauthorized("server %s wants more rights than its login has: %s", s.target.Server, clip(scope, 200))
}

// Mask replaces the tokens in a text.
func (s *Source) Mask(text string) string {
	s.mu.Lock()
	r := s.told
	s.mu.Unlock()
	if r == nil {
		return text
	}
	return r.hide(text)
}

// current is the record of the file, if its client is the one configured.
func (s *Source) current() (*record, error) {
	r, err := s.file.read()
	if err != nil {
		return nil, s.target.unavailable("server %s: %w", s.target.Server, err)
	}
	if r != nil && !s.ours(r) {
		r = nil
	}
	s.tell(r)
	return r, nil
}

// ours is whether a record is of the client that the entry names now.
func (s *Source) ours(r *record) bool {
	if s.target.ClientID != "" {
		return r.Client.From == configured && r.Client.ID == s.target.ClientID
	}
	return r.Client.From != configured
}

// tell makes the secrets of a record known to whoever masks them.
func (s *Source) tell(r *record) {
	s.mu.Lock()
	news := r != nil && r != s.told
	if news {
		s.told = r
	}
	s.mu.Unlock()
	if news {
		s.k.o.Secrets(s.target.id(), r.secrets()...)
	}
}

// refresh replaces the token stale, once for all who ask meanwhile.
func (s *Source) refresh(ctx context.Context, stale string) (string, error) {
	s.mu.Lock()
	f := s.flight
	if f == nil {
		if s.failed != nil && time.Since(s.failing) < again {
			err := s.failed
			s.mu.Unlock()
			return "", err
		}
		f = &flight{stale: stale, done: make(chan struct{})}
		if !s.k.begin(func() { s.fly(f) }) {
			s.mu.Unlock()
			return "", s.target.unavailable("the daemon is ending")
		}
		s.flight = f
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.token, f.err
	case <-ctx.Done():
		return "", fault.From(context.Cause(ctx))
	}
}

func (s *Source) fly(f *flight) {
	ctx, cancel := context.WithTimeout(context.Background(), refreshWithin)
	defer cancel()
	f.token, f.err = s.renew(ctx, f.stale)
	s.mu.Lock()
	s.flight, s.failed = nil, nil
	if f.err != nil && fault.KindOf(f.err) != fault.Unauthorized {
		s.failed, s.failing = f.err, time.Now()
	}
	s.mu.Unlock()
	close(f.done)
}

// renew is one refresh, alone among all processes. Whoever comes second finds
// the token of the first.
func (s *Source) renew(ctx context.Context, stale string) (string, error) {
	lock, err := s.lock(ctx)
	if err != nil {
		return "", s.notLocked(err)
	}
	defer func() { _ = lock.Release() }()
	r, err := s.current()
	switch {
	case err != nil:
		return "", err
	case r == nil || r.Access == "" || r.Refresh == "" && r.Access == stale:
		return "", s.missing(r)
	case r.Access != stale:
		return r.Access, nil
	}
	next := *r
	err = s.k.refreshOnce(ctx, &next)
	if refused := asRefusal(err); refused != nil && refused.final() {
		next = *r
		next.end("the refresh was refused: " + refused.text())
		if refused.Code == "invalid_client" && next.Client.From == registered {
			next.Client = client{} // forgotten there: the next login registers anew
		}
		s.keep(&next)
		s.k.o.Log.Warn("refresh refused", "server", s.target.Server, "code", refused.Code)
		return "", s.missing(&next)
	}
	if err != nil {
		return "", s.target.unavailable("the token of server %s cannot be refreshed: %s", s.target.Server, r.hide(err.Error())).Because(err)
	}
	// Known as secrets before anybody can see them.
	s.k.o.Secrets(s.target.id(), next.secrets()...)
	s.keep(&next)
	s.mu.Lock()
	s.fresh, s.freshAt = next.Access, time.Now()
	s.mu.Unlock()
	s.k.o.Log.Info("token refreshed", "server", s.target.Server, "expires", next.Expires)
	return next.Access, nil
}

// keep writes the record. A disk that takes nothing does not make the token
// worthless: it serves until the daemon ends.
func (s *Source) keep(r *record) {
	if err := s.file.write(r); err != nil {
		s.k.o.Log.Error("login was not kept", "server", s.target.Server, "error", err)
		s.file.hold(r)
	}
	s.tell(r)
}

// lock is the right to replace the file.
func (s *Source) lock(ctx context.Context) (*local.Lock, error) {
	if err := local.KeepPrivate(filepath.Dir(s.file.path)); err != nil {
		return nil, err
	}
	return local.LockFile(ctx, strings.TrimSuffix(s.file.path, ".json")+".lock")
}

// notLocked is the error of a lock that was not had.
func (s *Source) notLocked(err error) error {
	if fault.KindOf(err) == fault.ConfigError {
		return err // of the folder
	}
	return s.target.unavailable("the login to server %s is held by another process", s.target.Server).Because(err)
}

// change edits the record under the lock; f reports whether it did.
func (s *Source) change(ctx context.Context, f func(*record) bool) error {
	lock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	r, err := s.current()
	if err != nil || r == nil {
		return err
	}
	next := *r
	if !f(&next) {
		return nil
	}
	return s.file.write(&next)
}
