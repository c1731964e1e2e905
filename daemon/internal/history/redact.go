package history

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// Mask stands where a secret stood.
const Mask = "[redacted]"

// shortestSecret is the length in bytes below which a value is not masked by
// itself: masking "1", "warning" or "staging" would damage ordinary text and hide
// little.
const shortestSecret = 8

// cutMark ends what was cut for its length, by whoever cut it.
const cutMark = "…"

// Redactor masks secrets: known values exactly in each form that formsOf names,
// then what looks like a token. The zero value knows no secrets. It is safe for
// concurrent use.
type Redactor struct {
	mu    sync.Mutex
	known map[string]bool
	owned map[string][2][]string // by owner: the present ones, and those before
	exact atomic.Pointer[exactly]
}

// exactly is what is known, made anew when something is added.
type exactly struct {
	replace *strings.Replacer
	forms   []string // the longest first
}

// Add tells of secret values; adding one twice is harmless. Values of fewer than
// 8 bytes are not taken in.
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
	if changed {
		r.build()
	}
}

// Put tells of the secrets that an owner has now, such as tokens that are replaced
// every hour. Those told for it the time before are masked still, since they may
// be in what is being written; older ones are forgotten.
func (r *Redactor) Put(owner string, secrets ...string) {
	kept := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < shortestSecret })
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.owned[owner]
	if slices.Equal(have[0], kept) {
		return
	}
	if r.owned == nil {
		r.owned = map[string][2][]string{}
	}
	r.owned[owner] = [2][]string{kept, have[0]}
	r.build()
}

// build makes the replacer anew; r.mu is held.
func (r *Redactor) build() {
	forms := map[string]bool{}
	add := func(s string) {
		for _, f := range formsOf(s) {
			forms[f] = true
		}
	}
	for s := range r.known {
		add(s)
	}
	for _, generations := range r.owned {
		for _, s := range slices.Concat(generations[0], generations[1]) {
			add(s)
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
	if len(list) == 0 {
		r.exact.Store(nil)
		return
	}
	r.exact.Store(&exactly{strings.NewReplacer(pairs...), list})
}

// Text masks secrets in s.
func (r *Redactor) Text(s string) string { return masked(r.Known(s)) }

// Head masks secrets in the first n bytes of s and cuts it there, between
// characters. It masks before it cuts: of a secret that the cut goes through
// nothing is left.
func (r *Redactor) Head(s string, n int) string {
	if len(s) <= n {
		return head(r.Text(s), n)
	}
	// Of more than n bytes some may come within n when what is before them
	// becomes shorter; the last of them may be a part of a secret only.
	reach := r.longest()
	near := head(s, n+2*reach)
	out := r.Text(near)
	if len(near) < len(s) {
		out = head(out, max(0, len(out)-reach))
	}
	return head(out, n)
}

// longest is the most bytes that a secret has: of those that are known, and of
// tokens but for private keys, which are masked also when their end is missing.
func (r *Redactor) longest() int {
	const ofTokens = 4 << 10
	if exact := r.exact.Load(); exact != nil && len(exact.forms[0]) > ofTokens {
		return len(exact.forms[0])
	}
	return ofTokens
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

// Known masks only values that are known to be secret, and what a cut left of
// one: a result is cut for its caller before a copy of it is kept.
func (r *Redactor) Known(s string) string {
	exact := r.exact.Load()
	if exact == nil || s == "" {
		return s
	}
	s = exact.replace.Replace(s)
	if !strings.Contains(s, cutMark) {
		return s
	}
	parts := strings.Split(s, cutMark)
	for i := range len(parts) - 1 {
		parts[i] = exact.dropPart(parts[i])
	}
	return strings.Join(parts, cutMark)
}

// dropPart masks the beginning of a secret at the end of s.
func (e *exactly) dropPart(s string) string {
	longest := 0
	for _, form := range e.forms {
		for n := min(len(form)-1, len(s)); n > longest && n >= shortestSecret/2; n-- {
			if strings.HasSuffix(s, form[:n]) {
				longest = n
				break
			}
		}
	}
	if longest == 0 {
		return s
	}
	return s[:len(s)-longest] + Mask
}
