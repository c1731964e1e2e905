package history

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// Mask stands where a secret stood.
const Mask = "[redacted]"

// shortestSecret is the length below which a value is not masked by itself:
// masking "1" or "on" would damage ordinary text and hide nothing.
const shortestSecret = 6

// Redactor masks secrets: known values exactly (as they are, escaped in JSON, in
// an address, in base64), then what looks like a token. The zero value knows no
// secrets. It is safe for concurrent use.
type Redactor struct {
	mu    sync.Mutex
	known map[string]bool
	exact atomic.Pointer[strings.Replacer]
}

// Add tells of secret values; adding one twice is harmless.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	for _, s := range secrets {
		if len(s) >= shortestSecret && !r.known[s] {
			if r.known == nil {
				r.known = map[string]bool{}
			}
			r.known[s], changed = true, true
		}
	}
	if !changed {
		return
	}
	forms := map[string]bool{}
	for s := range r.known {
		forms[s] = true
		forms[url.QueryEscape(s)] = true
		forms[url.PathEscape(s)] = true
		forms[base64.StdEncoding.EncodeToString([]byte(s))] = true
		if text, err := json.Marshal(s); err == nil {
			forms[string(text[1:len(text)-1])] = true
		}
	}
	list := make([]string, 0, len(forms))
	for f := range forms {
		list = append(list, f)
	}
	// The longest first: one secret may begin with another.
	sort.Slice(list, func(i, j int) bool {
		return len(list[i]) > len(list[j]) || len(list[i]) == len(list[j]) && list[i] < list[j]
	})
	pairs := make([]string, 0, 2*len(list))
	for _, f := range list {
		pairs = append(pairs, f, Mask)
	}
	r.exact.Store(strings.NewReplacer(pairs...))
}

// Text masks secrets in s.
func (r *Redactor) Text(s string) string {
	s = r.Known(s)
	if !suspicious(s) {
		return s
	}
	s = tokens().ReplaceAllString(s, Mask)
	return bearer().ReplaceAllStringFunc(s, func(found string) string {
		word, secret, _ := strings.Cut(found, " ")
		if !strings.ContainsAny(secret, "0123456789") { // "basic understanding" is no secret
			return found
		}
		return word + " " + Mask
	})
}

// JSON masks secrets in a JSON text and keeps it valid: a secret that stands as
// a bare number or word becomes a string.
func (r *Redactor) JSON(text []byte) string {
	masked := r.Text(string(text))
	if masked == string(text) || json.Valid([]byte(masked)) {
		return masked
	}
	var v any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return masked
	}
	out, err := json.Marshal(r.walk(v))
	if err != nil { // what was decoded can be encoded
		return `""`
	}
	return string(out)
}

func (r *Redactor) walk(v any) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case json.Number:
		if masked := r.Text(v.String()); masked != v.String() {
			return masked
		}
		return v
	case []any:
		for i := range v {
			v[i] = r.walk(v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[r.Text(name)] = r.walk(value)
		}
		return out
	default:
		return v
	}
}

// Known masks only values that are known to be secret.
func (r *Redactor) Known(s string) string {
	if exact := r.exact.Load(); exact != nil && s != "" {
		return exact.Replace(s)
	}
	return s
}

// suspicious is a cheap test that spares ordinary text the expressions.
func suspicious(s string) bool {
	for _, mark := range []string{
		"eyJ", "sk-", "gh", "github_pat_", "xox", "AKIA", "ASIA", "AIza", "glpat-", "PRIVATE KEY", "npm_", "earer ", "asic ", "EARER ",
	} {
		if strings.Contains(s, mark) {
			return true
		}
	}
	return false
}

// tokens matches what has the form of a well-known kind of token. Each form has
// a fixed beginning and a minimum length, so that words and hashes stay.
var tokens = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, // JSON web tokens
		`\bsk-[A-Za-z0-9_-]{16,}`,
		`\bgh[pousr]_[A-Za-z0-9]{20,}`,
		`\bgithub_pat_[A-Za-z0-9_]{20,}`,
		`\bglpat-[A-Za-z0-9_-]{16,}`,
		`\bnpm_[A-Za-z0-9]{30,}`,
		`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`,
		`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
		`\bAIza[A-Za-z0-9_-]{30,}`,
		`-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`,
	}, "|"))
})

// bearer matches the credentials of an Authorization header.
var bearer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:bearer|basic) [A-Za-z0-9._~+/=-]{12,}`)
})
