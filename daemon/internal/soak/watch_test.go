package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/rig"
	"tenon/proto"
)

const (
	// lookEvery is how often the invariants are looked at.
	lookEvery = time.Second
	// settles is how long something may be seen that must not stay: routes are
	// asked one after the other, so what one names another may have ended.
	settles = 30 * time.Second
)

// watch looks at the daemon from outside, all the while.
type watch struct {
	w     *world
	looks int

	mu     sync.Mutex
	since  map[string]time.Time // of what must not stay, by what it is
	told   map[string]bool
	alive  map[string]map[int]bool // processes of a server at the last look
	levels []level
	ended  time.Time // of the load
	atRest level
}

func newWatch(w *world) *watch {
	return &watch{w: w, since: map[string]time.Time{}, told: map[string]bool{}, alive: map[string]map[int]bool{}}
}

func (v *watch) until(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			v.look(ctx)
		}
	}
}

// look checks everything once. What is seen of a daemon that is killed meanwhile
// does not count.
func (v *watch) look(ctx context.Context) {
	kills := v.w.kills.mark()
	ctx, cancel := context.WithTimeout(ctx, settles)
	defer cancel()
	var bad []string
	leases, sessions, err := v.claims(ctx)
	if err == nil {
		bad = append(bad, oneInstanceAKey(leases)...)
		bad = append(bad, withoutHolder(leases, sessions)...)
	}
	v.processes()
	l, levelErr := v.level(ctx)
	if v.w.kills.excuses(kills) || ctx.Err() != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.looks++
	if err = errors.Join(err, levelErr); err != nil {
		bad = append(bad, "the daemon does not answer: "+err.Error())
	} else {
		v.levels = append(v.levels, l)
	}
	for _, z := range v.w.s.Zombies() {
		bad = append(bad, "a zombie: "+z.String())
	}
	v.mustPassLocked(bad)
}

// mustPassLocked fails the soak for what stays.
func (v *watch) mustPassLocked(seen []string) {
	now := time.Now()
	for what := range v.since {
		if !slices.Contains(seen, what) {
			delete(v.since, what)
		}
	}
	for _, what := range seen {
		if _, known := v.since[what]; !known {
			v.since[what] = now
		}
		if now.Sub(v.since[what]) > settles && !v.told[what] {
			v.told[what] = true
			v.w.wrong("for %s now: %s", settles, what)
		}
	}
}

// claims asks for leases, and then for sessions: whoever came in between holds
// nothing that is listed.
func (v *watch) claims(ctx context.Context) (leases []proto.Lease, sessions []proto.Session, err error) {
	if err = v.w.api.Get(ctx, v.w.s.Work, "/v1/leases", &leases); err == nil {
		err = v.w.api.Get(ctx, v.w.s.Work, "/v1/sessions", &sessions)
	}
	return leases, sessions, err
}

// edited is the server whose definition changes. An instance of each edition that
// somebody used lately is right.
const edited = "changing"

// oneInstanceAKey finds keys that have two instances, and instances that serve
// two keys.
func oneInstanceAKey(leases []proto.Lease) (bad []string) {
	instances, keys := map[string]string{}, map[string]string{}
	for _, l := range leases {
		if l.State == "waiting" {
			continue
		}
		key := l.Server + " for " + l.Key
		if other, taken := instances[key]; taken && other != l.Instance && l.Server != edited {
			bad = append(bad, fmt.Sprintf("%s has the instances %s and %s", key, other, l.Instance))
		}
		if other, taken := keys[l.Instance]; taken && other != key {
			bad = append(bad, fmt.Sprintf("instance %s serves %s and %s", l.Instance, other, key))
		}
		instances[key], keys[l.Instance] = l.Instance, key
	}
	return bad
}

// withoutHolder finds leases of scope session, and waiters, whose session is not
// there.
func withoutHolder(leases []proto.Lease, sessions []proto.Session) (bad []string) {
	live := map[string]bool{}
	for _, s := range sessions {
		live[s.ID] = true
	}
	for _, l := range leases {
		if (l.Scope == "session" || l.State == "waiting") && !live[l.Session] {
			bad = append(bad, fmt.Sprintf("lease %s of %s is held by session %s, which is not there", l.ID, l.Server, l.Session))
		}
	}
	return bad
}

// serverName finds the name of a fake server in its command line.
var serverName = regexp.MustCompile(`fake-server --name (\w+)|/fake --name (\w+)`)

// processes holds the process table against maxInstances. Processes that are in
// two looks one after the other were all alive in between, together.
func (v *watch) processes() {
	kills := v.w.kills.mark()
	now := map[string]map[int]bool{}
	for _, p := range v.w.s.Processes() {
		m := serverName.FindStringSubmatch(p.Command)
		if m == nil {
			continue
		}
		name := m[1] + m[2]
		if now[name] == nil {
			now[name] = map[int]bool{}
		}
		now[name][p.PID] = true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for name, pids := range now {
		both := 0
		for pid := range pids {
			if v.alive[name][pid] {
				both++
			}
		}
		if limit, limited := limits[name]; limited && both > limit && !v.w.kills.excuses(kills) {
			v.w.wrong("server %s has %d processes at once, maxInstances allows %d", name, both, limit)
		}
	}
	v.alive = now
	if v.w.kills.excuses(kills) {
		v.alive = map[string]map[int]bool{}
	}
}

// level asks the daemon for its numbers, and the system for what it says of it.
func (v *watch) level(ctx context.Context) (level, error) {
	text, err := v.w.api.Text(ctx, v.w.s.Work, "/metrics")
	if err != nil {
		return level{}, err
	}
	pid, err := v.w.s.DaemonPID()
	if err != nil {
		return level{}, err
	}
	l := level{at: time.Now(), pid: pid}
	for name, to := range map[string]*float64{"go_goroutines": &l.goroutines, "tenon_history_queue": &l.queue} {
		if *to, err = metric(string(text), name); err != nil {
			return level{}, err
		}
	}
	var status proto.Status
	if err := v.w.api.Get(ctx, v.w.s.Work, "/v1/status", &status); err != nil {
		return level{}, err
	}
	l.instances = float64(status.Instances)
	rss, err := rig.Memory(pid, "VmRSS")
	if err != nil {
		return level{}, err
	}
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		return level{}, err
	}
	l.rss, l.files = float64(rss), float64(len(files))
	return l, nil
}

// metric reads a number without labels from the text format of Prometheus.
func metric(text, name string) (float64, error) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(rest), 64)
		}
	}
	return 0, fmt.Errorf("/metrics has no %s", name)
}

// now is what the progress line says.
func (v *watch) now() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	said := []string{fmt.Sprintf("%d done", v.w.book.total()), fmt.Sprintf("%d looks", v.looks)}
	if n := len(v.levels); n > 0 {
		l := v.levels[n-1]
		said = append(said, fmt.Sprintf("%.0f goroutines", l.goroutines), fmt.Sprintf("%.0f files", l.files), fmt.Sprintf("%.0f MiB", l.rss/(1<<20)))
	}
	return said
}

// loadEnded notes when the load was over: levels are judged under load, and at
// rest.
func (v *watch) loadEnded() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = time.Now()
}

// untilRest waits until sessions and what they held are gone, bounded, and keeps
// what the daemon needs then.
func (v *watch) untilRest() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		leases, sessions, err := v.claims(ctx)
		busy := 0
		for _, l := range leases {
			if l.Scope == "session" || l.State != "held" {
				busy++
			}
		}
		if err == nil && len(sessions) == 0 && busy == 0 {
			break
		}
		if ctx.Err() != nil {
			v.w.wrong("no rest after 2 min: %d sessions, %d leases of theirs, %v", len(sessions), busy, err)
			return
		}
		rig.Pause()
	}
	l, err := v.level(ctx)
	if err != nil {
		v.w.wrong("at rest: %v", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.atRest = l
}
