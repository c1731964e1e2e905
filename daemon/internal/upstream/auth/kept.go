package auth

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Kept is a login on disk, whoever has a server for it.
type Kept struct {
	ID        string // names it among all
	Server    string // what it was called at the login; empty: the file makes no sense
	Origin    string // scheme and host of its address; the rest of that may hold a secret
	Issuer    string
	Scopes    []string
	Expires   time.Time // of the access token; zero: not known, or there is none
	Refreshes bool
}

// loginFile is what a login's file is called (see Target.id).
var loginFile = regexp.MustCompile(`^([0-9a-f]{24})\.json$`)

// Kept lists the logins on disk but those of targets, by the names of their servers:
// what servers have left that were renamed, moved or removed, and what other projects
// use.
func (k *Keeper) Kept(targets []Target) ([]Kept, error) {
	entries, err := os.ReadDir(k.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, t := range targets {
		known[t.id()] = true
	}
	var out []Kept
	for _, e := range entries {
		if m := loginFile.FindStringSubmatch(e.Name()); m != nil && !known[m[1]] {
			out = append(out, k.kept(m[1]))
		}
	}
	slices.SortFunc(out, func(a, b Kept) int {
		return strings.Compare(a.Server+"\n"+a.Origin+"\n"+a.ID, b.Server+"\n"+b.Origin+"\n"+b.ID)
	})
	return out, nil
}

// kept tells of one file what may be told.
func (k *Keeper) kept(id string) Kept {
	out := Kept{ID: id}
	r, err := k.orphan(id).file.read()
	if err != nil || r == nil {
		return out
	}
	out.Server, out.Issuer, out.Scopes, out.Expires, out.Refreshes = r.Server, r.Issuer, strings.Fields(r.Scope), r.Expires, r.Refresh != ""
	if u, err := url.Parse(r.URL); err == nil {
		out.Origin = (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	}
	return out
}

// orphan is a login by its file. Where a server has it, that one's Source is another,
// which finds the file changed.
func (k *Keeper) orphan(id string) *Source {
	return &Source{k: k, target: Target{Server: id}, file: file{path: filepath.Join(k.o.Dir, id+".json")}}
}

// Forget is what Source.Logout is, for a login that Kept has listed.
func (k *Keeper) Forget(ctx context.Context, login Kept) (bool, error) {
	s := k.orphan(login.ID)
	if login.Server != "" {
		s.target.Server = login.Server
	}
	return s.Logout(ctx)
}
