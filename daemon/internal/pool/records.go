package pool

import (
	"sync"

	"tenon/daemon/internal/upstream"
)

const (
	keptStderr = 40  // last lines
	keptLogs   = 20  // last messages
	keptNoise  = 5   // first samples
	keptLine   = 512 // bytes of each
)

// Records is what `tenon doctor` shows of an instance.
type Records struct {
	Stderr []string // the last lines
	Noise  []string // first samples of lines on stdout that are not MCP
	Logs   []string // the last log messages over MCP, "level: text"
}

// recorder keeps bounded samples; it is the upstream.Observer of an instance.
type recorder struct {
	changed func()                // tools/list_changed
	noticed func(upstream.Notice) // other news

	mu sync.Mutex
	r  Records // guarded by mu
}

func (r *recorder) ToolsChanged() { r.changed() }

func (r *recorder) Noticed(n upstream.Notice) { r.noticed(n) }

func (r *recorder) Noise(sample string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.r.Noise) < keptNoise {
		r.r.Noise = append(r.r.Noise, cut(sample))
	}
}

func (r *recorder) Stderr(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.r.Stderr = keepLast(r.r.Stderr, cut(line), keptStderr)
}

func (r *recorder) ServerLog(level, msg string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.r.Logs = keepLast(r.r.Logs, cut(level+": "+msg), keptLogs)
}

func (r *recorder) records() Records {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Records{
		Stderr: append([]string(nil), r.r.Stderr...),
		Noise:  append([]string(nil), r.r.Noise...),
		Logs:   append([]string(nil), r.r.Logs...),
	}
}

func (r *recorder) noise() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.r.Noise) == 0 {
		return ""
	}
	return r.r.Noise[0]
}

// keepLast appends and drops from the front, reusing the array.
func keepLast(lines []string, line string, n int) []string {
	if len(lines) >= n {
		copy(lines, lines[1:])
		lines = lines[:n-1]
	}
	return append(lines, line)
}

func cut(s string) string {
	if len(s) <= keptLine {
		return s
	}
	return s[:keptLine] + "…"
}
