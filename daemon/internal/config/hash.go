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
	return digest(struct {
		Dir, Workspace string
		Trusted        bool
		Servers        map[string]Server
		Permissions    Permissions
		Script         Script
		Daemon         Daemon
	}{v.Dir, v.Workspace, v.Trusted, servers, perms, v.Script, v.Daemon})
}
