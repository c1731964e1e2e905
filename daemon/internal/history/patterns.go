package history

import (
	"regexp"
	"strings"
	"sync"
)

// marks are beginnings, one of which is in every text that patterns find
// something in: a cheap test that spares ordinary text the expressions.
var marks = []string{
	"eyJ", "sk-", "sk_", "rk_", "gh", "github_pat_", "xox", "xapp-", "AKIA", "ASIA", "AIza", "ya29.", "glpat-", "hf_", "SG.",
	"dop_v1_", "shp", "pypi-", "npm_", "PRIVATE KEY", "earer ", "asic ", "EARER ", "ASIC ", "://",
}

func suspicious(s string) bool {
	for _, mark := range marks {
		if strings.Contains(s, mark) {
			return true
		}
	}
	return false
}

// pattern is one kind of secret: what it looks like, and what else must hold so
// that words, hashes and pictures stay.
type pattern struct {
	form  *regexp.Regexp
	holds func(found string) bool
	mask  func(found string) string
}

// patterns are the well-known kinds of tokens. Each has a fixed beginning and a
// minimum length.
var patterns = sync.OnceValue(func() []pattern {
	whole := func(string) string { return Mask }
	always := func(string) bool { return true }
	return []pattern{
		{regexp.MustCompile(strings.Join([]string{
			`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, // JSON web tokens
			`\bgh[pousr]_[A-Za-z0-9]{20,}`,
			`\bgithub_pat_[A-Za-z0-9_]{20,}`,
			`\bglpat-[A-Za-z0-9_-]{16,}`,
			`\bnpm_[A-Za-z0-9]{30,}`,
			`\bpypi-[A-Za-z0-9_-]{50,}`,
			`\bhf_[A-Za-z0-9]{30,}`,
			`\bdop_v1_[a-f0-9]{40,}`,
			`\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32,}`,
			`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`,
			`\bya29\.[A-Za-z0-9_-]{20,}`,
			`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
			`\bAIza[A-Za-z0-9_-]{30,}`,
			`-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----[A-Za-z0-9+/=\s\\:,.-]*?(?:-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|$)`,
		}, "|")), always, whole},
		// Their beginnings are those of words as well (sk-learn-style-names).
		{regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}|\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{20,}`),
			func(found string) bool { return digits(found) >= 2 }, whole},
		// "basic understanding" is no secret.
		{regexp.MustCompile(`(?i)\b(?:bearer|basic) [A-Za-z0-9._~+/=-]{12,}`),
			func(found string) bool { return digits(found) >= 1 },
			func(found string) string {
				word, _, _ := strings.Cut(found, " ")
				return word + " " + Mask
			}},
		// The password in an address: https://user:password@host.
		{regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'<>\\]*:[^\s/@"'<>\\]+@`), always,
			func(found string) string {
				scheme := strings.Index(found, "://") + 3
				user, _, _ := strings.Cut(found[scheme:], ":")
				return found[:scheme] + user + ":" + Mask + "@"
			}},
	}
})

// masked replaces what looks like a secret.
func masked(s string) string {
	if !suspicious(s) {
		return s
	}
	for _, p := range patterns() {
		s = p.form.ReplaceAllStringFunc(s, func(found string) string {
			if !p.holds(found) {
				return found
			}
			return p.mask(found)
		})
	}
	return s
}

func digits(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			n++
		}
	}
	return n
}
