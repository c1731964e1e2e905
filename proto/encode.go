package proto

import (
	"bytes"
	"encoding/json"
)

// Marshal is v as JSON on one line, without the escapes that encoding/json adds
// for web pages ("<" as \u003c): values, signatures and messages are shown to
// people and models as they stand in it.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// The schemas promise arrays and objects where Go may hold nil, which
// encoding/json writes as null. The methods below keep that promise at the one
// place every message passes, so that no producer has to remember it.

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// MarshalJSON writes absent lists as empty arrays.
func (r RunResult) MarshalJSON() ([]byte, error) {
	type plain RunResult
	r.Logs, r.Emits, r.Warnings = list(r.Logs), list(r.Emits), list(r.Warnings)
	r.Calls, r.Artifacts = list(r.Calls), list(r.Artifacts)
	return Marshal(plain(r))
}

// MarshalJSON writes absent lists as empty arrays.
func (r CallResult) MarshalJSON() ([]byte, error) {
	type plain CallResult
	r.Artifacts, r.Warnings = list(r.Artifacts), list(r.Warnings)
	return Marshal(plain(r))
}

// MarshalJSON writes absent lists as empty arrays.
func (s Server) MarshalJSON() ([]byte, error) {
	type plain Server
	s.Instances = list(s.Instances)
	return Marshal(plain(s))
}

// MarshalJSON writes absent lists as empty arrays.
func (r SearchResult) MarshalJSON() ([]byte, error) {
	type plain SearchResult
	r.Items = list(r.Items)
	return Marshal(plain(r))
}

// MarshalJSON writes absent lists as empty arrays.
func (s SessionStatus) MarshalJSON() ([]byte, error) {
	type plain SessionStatus
	s.Leases, s.Runs, s.Approvals = list(s.Leases), list(s.Runs), list(s.Approvals)
	return Marshal(plain(s))
}

// MarshalJSON writes absent lists as empty arrays.
func (s Status) MarshalJSON() ([]byte, error) {
	type plain Status
	s.Config, s.Problems = list(s.Config), list(s.Problems)
	s.Bridges, s.Engines = list(s.Bridges), list(s.Engines)
	return Marshal(plain(s))
}

// MarshalJSON writes absent lists as empty arrays.
func (s Sandbox) MarshalJSON() ([]byte, error) {
	type plain Sandbox
	s.Modes = list(s.Modes)
	return Marshal(plain(s))
}

// MarshalJSON writes absent lists as empty arrays.
func (r RuleList) MarshalJSON() ([]byte, error) {
	type plain RuleList
	r.Rules = list(r.Rules)
	return Marshal(plain(r))
}

// MarshalJSON writes an absent list as an empty array.
func (r HelloResult) MarshalJSON() ([]byte, error) {
	type plain HelloResult
	r.Wants = list(r.Wants)
	return Marshal(plain(r))
}

// MarshalJSON writes an absent environment as an empty object.
func (h Hello) MarshalJSON() ([]byte, error) {
	type plain Hello
	if h.Env == nil {
		h.Env = map[string]string{}
	}
	return Marshal(plain(h))
}

// MarshalJSON writes an absent list as an empty array.
func (c CallerInfo) MarshalJSON() ([]byte, error) {
	type plain CallerInfo
	c.May = list(c.May)
	return Marshal(plain(c))
}

// MarshalJSON writes absent lists as empty arrays.
func (p Presets) MarshalJSON() ([]byte, error) {
	type plain Presets
	p.Presets, p.Switches = list(p.Presets), list(p.Switches)
	return Marshal(plain(p))
}

// MarshalJSON writes absent lists as empty arrays.
func (r TrustResult) MarshalJSON() ([]byte, error) {
	type plain TrustResult
	r.Files, r.Servers = list(r.Files), list(r.Servers)
	return Marshal(plain(r))
}
