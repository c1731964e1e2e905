package auth

import (
	"strings"
	"time"
)

// State is how a login stands.
type State string

// The states.
const (
	None    State = "none"    // no login, and the server was not heard asking for one
	Needed  State = "needed"  // only the user can help
	Valid   State = "valid"   // there is a token, or one can be had without the user
	Limited State = "limited" // as Valid, and the server wants more rights than it has
)

// Status is what may be told of a login.
type Status struct {
	State     State
	Issuer    string // of the authorization server
	Client    string // configured, document or registered
	Scopes    []string
	Expires   time.Time // of the access token; zero: not known
	Refreshes bool      // whether it is replaced then without the user
	Detail    string    // why a login is needed
}

// Status tells how the login stands, without asking anybody.
func (s *Source) Status() Status {
	r, err := s.current()
	if err != nil {
		return Status{State: Needed, Detail: err.Error()}
	}
	s.mu.Lock()
	asked := s.asked != nil
	s.mu.Unlock()
	if r == nil || r.Access == "" {
		st := Status{State: None}
		if r != nil && r.Ended != "" {
			st.State, st.Detail = Needed, "the login has ended: "+r.Ended
		} else if asked {
			st.State, st.Detail = Needed, "it wants a login"
		}
		return st
	}
	st := Status{
		State: Valid, Issuer: r.Issuer, Client: r.Client.From, Scopes: strings.Fields(r.Scope),
		Expires: r.Expires, Refreshes: r.Refresh != "",
	}
	switch {
	case r.Refresh == "" && r.over(time.Now()):
		st.State, st.Detail = Needed, "the login has expired"
	case !covers(r.Scope, r.Wants):
		st.State, st.Detail = Limited, "it wants more rights: "+clip(r.Wants, 200)
	}
	return st
}
