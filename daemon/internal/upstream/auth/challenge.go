package auth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// challenge is what a refusal says about the login that is wanted (RFC 6750,
// RFC 9728 section 5.1).
type challenge struct {
	metadata string // address of the resource's metadata
	scope    string
	fault    string // invalid_token, insufficient_scope, …
}

// readChallenge reads WWW-Authenticate. What cannot be read says nothing: the
// metadata is looked for at its well-known places then.
func readChallenge(h http.Header) challenge {
	var c challenge
	for _, value := range h.Values("WWW-Authenticate") {
		list, err := oauthex.ParseWWWAuthenticate([]string{value})
		if err != nil {
			continue
		}
		for _, one := range list {
			if one.Scheme != "bearer" && one.Scheme != "dpop" {
				continue
			}
			c.metadata = first(c.metadata, one.Params["resource_metadata"])
			c.scope = first(c.scope, words(one.Params["scope"]))
			c.fault = first(c.fault, one.Params["error"])
		}
	}
	return c
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// words is a list of scopes with single blanks.
func words(scope string) string { return strings.Join(strings.Fields(scope), " ") }

// union is every scope of a and b, once, in order.
func union(a, b string) string {
	var out []string
	for _, s := range append(strings.Fields(a), strings.Fields(b)...) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// covers is whether every scope of b is in a.
func covers(a, b string) bool { return union(a, b) == words(a) }

// clip is at most n bytes of s on one line, cut between characters.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
