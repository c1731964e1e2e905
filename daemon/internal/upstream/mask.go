package upstream

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	maskText  = "[secret]"
	minSecret = 4 // shorter values occur in ordinary text

	stderrLine  = 4 << 10 // bytes kept of one line
	stderrLines = 50      // lines kept
	noiseSample = 200     // bytes shown of a line that is no message
	noiseEvery  = time.Second
	noiseBurst  = 5
)

// mask replaces secrets in texts.
type mask struct {
	fixed *strings.Replacer
	login Login // whose tokens change; nil: there is none
}

// Replace is s without secrets.
func (m mask) Replace(s string) string {
	s = m.fixed.Replace(s)
	if m.login != nil {
		s = m.login.Mask(s)
	}
	return s
}

// newMask makes a replacer of secret values; the longest first, so that a
// secret that begins with another is masked whole.
func newMask(secrets []string) *strings.Replacer {
	kept := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(kept, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(kept))
	for _, s := range kept {
		pairs = append(pairs, s, maskText)
	}
	return strings.NewReplacer(pairs...)
}

// clip cuts s to n bytes, at a whole character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// tail keeps the last lines of stderr. It is a lineSink.
type tail struct {
	mask *strings.Replacer
	hear func(line string) // may be nil

	mu    sync.Mutex
	lines []string
}

func (t *tail) line(b []byte, _ bool) {
	s := t.mask.Replace(strings.TrimRight(string(b), "\r"))
	t.keep(clip(s, stderrLine))
}

func (t *tail) tooLong(head, _ []byte, _ int64) {
	t.keep(clip(t.mask.Replace(string(head)), stderrLine))
}

func (t *tail) keep(s string) {
	t.mu.Lock()
	if len(t.lines) == stderrLines {
		t.lines = append(t.lines[:0], t.lines[1:]...)
	}
	t.lines = append(t.lines, s)
	t.mu.Unlock()
	if t.hear != nil {
		t.hear(s)
	}
}

// last returns at most the n last lines.
func (t *tail) last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines[max(0, len(t.lines)-n):], "\n")
}

// limiter lets a burst through and then one an interval.
type limiter struct {
	mu    sync.Mutex
	left  int
	since time.Time
}

func (l *limiter) allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.left, l.since = noiseBurst, now
	}
	if grown := int(now.Sub(l.since) / noiseEvery); grown > 0 {
		l.left = min(noiseBurst, l.left+grown)
		l.since = now
	}
	if l.left == 0 {
		return false
	}
	l.left--
	return true
}
