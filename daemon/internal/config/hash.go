package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// digest is the SHA-256 of the JSON of v, shortened to 128 bits. Maps are
// written in order of their keys, so equal values give equal digests.
func digest(v any) string {
	doc, err := json.Marshal(v)
	if err != nil { // only plain data comes here
		panic("config: cannot digest: " + err.Error())
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:16])
}

// hashOf is the identity of a view: everything that decides what runs, without
// notes and line numbers, so that a comment changes nothing.
func hashOf(v *View) string {
	servers := make(map[string]Server, len(v.Servers))
	for name, s := range v.Servers {
		c := *s
		c.Notes, c.Origin.Line = nil, 0
		servers[name] = c
	}
	perms := v.Permissions
	perms.Rules = make([]Rule, len(v.Permissions.Rules))
	for i, r := range v.Permissions.Rules {
		r.Origin.Line = 0
		perms.Rules[i] = r
	}
	hooks := v.Hooks
	for _, list := range []*[]Hook{&hooks.Before, &hooks.OnSuccess, &hooks.OnError, &hooks.After} {
		own := make([]Hook, len(*list))
		for i, h := range *list {
			h.Origin.Line = 0
			own[i] = h
		}
		*list = own
	}
	return digest(struct {
		Dir, Workspace string
		Trusted        bool
		Servers        map[string]Server
		Permissions    Permissions
		Script         Script
		Scripts        Scripts
		Hooks          Hooks
		Daemon         Daemon
	}{v.Dir, v.Workspace, v.Trusted, servers, perms, v.Script, v.Scripts, hooks, v.Daemon})
}
