package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tenon/daemon/internal/fault"
)

// Options say where a Store reads and writes.
type Options struct {
	UserFile string // the user's file; empty: config.* in ConfigDir
	StateDir string // trust.json is kept here; required
	Home     string // empty: the process's home directory
	Environ  Env    // the daemon's own environment, the fallback for placeholders; nil: the process's
	Socket   string // our own address, to recognise entries that lead back to us
	// Executable is this program's own binary, which servers of a kind are; empty:
	// the process's. RuntimeDir is tenon's, which their processes may not reach.
	Executable string
	RuntimeDir string
	Attached   func() bool // whether a session is attached: looser permissions then wait for TrustConfig; nil: none is
	Log        *slog.Logger
}

// Store reads config files, once for each change, and hands out views.
type Store struct {
	o       Options
	trust   *trustFile
	touched chan struct{} // capacity 1: a view was built, the watcher looks again

	mu       sync.Mutex // guards the fields below; taken before trust.mu
	files    map[source]*fileState
	views    map[viewKey]*cachedView
	accepted *Permissions    // of the user's file, as last accepted
	epoch    int             // grows with every change of trust
	rebuilt  map[string]bool // directories whose view came out new since the watcher last looked
}

type viewKey struct {
	dir, file, home, xdg string
	owner                bool
}

type cachedView struct {
	view   *View
	probes *probes
	epoch  int
	held   bool // looser permissions are held back
	told   bool // it was reported as stale, and nobody has asked for it since
}

// fileState is what is known of one file: its last good content and, when the
// present content is bad, why.
type fileState struct {
	stamp stamp
	good  *layer
	bad   *BadFile
}

// maxViews bounds the cache; views are cheap to build again.
const maxViews = 256

// maxFiles bounds what is kept of files.
const maxFiles = 4 * maxViews

// Open makes a Store. It reads the trust file and nothing else.
func Open(o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Environ == nil {
		o.Environ = EnvFrom(os.Environ())
	}
	if o.Home == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fault.New(fault.ConfigError, "no home directory is known: %w", err).WithHint("set HOME")
		}
		o.Home = home
	}
	if o.StateDir == "" {
		return nil, fault.New(fault.ConfigError, "no state directory is given")
	}
	if o.Executable == "" {
		o.Executable, _ = os.Executable() // without one only servers of a kind do not start, and say so
	}
	if o.UserFile != "" {
		o.UserFile = resolveFile(o.UserFile)
	}
	trust, err := openTrust(filepath.Join(o.StateDir, "trust.json"))
	if err != nil {
		// Fail closed: without the file nothing is trusted.
		o.Log.Warn("trust file is unreadable: no project is trusted", "error", err)
	}
	return &Store{
		o: o, trust: trust, touched: make(chan struct{}, 1),
		files: map[source]*fileState{}, views: map[viewKey]*cachedView{}, rebuilt: map[string]bool{},
	}, nil
}

// View returns the configuration of a directory. dir is the caller's
// directory; file, when not empty, stands in for the user's file (--config)
// and may then only tighten permissions; env is the caller's, read for where
// the hosts keep their files. Views are cached until one of their files
// changes. A file that turns bad keeps its last good content, with a note; a
// user's file (or --config) that is bad from the start is a ConfigError, a
// project's or a host's is skipped with a note.
func (s *Store) View(dir, file string, env Env) (*View, error) {
	return s.view(dir, file, env, false)
}

// OwnerView is View for a caller who is the user in person (caller class user,
// never an agent): file then sets permissions and net as the user's file does,
// instead of only tightening them. Without a file the two are the same.
func (s *Store) OwnerView(dir, file string, env Env) (*View, error) {
	return s.view(dir, file, env, file != "")
}

func (s *Store) view(dir, file string, env Env, owner bool) (*View, error) {
	if dir == "" {
		return nil, fault.New(fault.UsageError, "no directory is given")
	}
	key := viewKey{dir: resolveDir(dir), home: s.homeOf(env), xdg: env["XDG_CONFIG_HOME"], owner: owner}
	if file != "" {
		key.file = resolveFile(file)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.views[key]; c != nil && c.epoch == s.epoch && c.probes.unchanged() && (!c.held || s.attached()) {
		c.told = false
		return c.view, nil
	}
	b := &builder{store: s, probes: newProbes(), env: env, home: key.home, owner: owner}
	v, err := b.build(key.dir, key.file)
	if err != nil {
		return nil, err
	}
	switch old := s.views[key]; {
	case old == nil:
	case old.view.Hash == v.Hash && slices.Equal(old.view.Notes, v.Notes):
		if samePlaces(old.view, v) {
			v = old.view // the same configuration: keep one copy
		}
	default:
		s.rebuilt[key.dir] = true
	}
	if len(s.views) >= maxViews {
		clear(s.views)
	}
	if len(s.files) >= maxFiles {
		clear(s.files) // with the last good contents; all are read again
	}
	s.views[key] = &cachedView{view: v, probes: b.probes, epoch: s.epoch, held: b.held}
	s.nudge()
	return v, nil
}

// nudge makes the watcher look at the views again.
func (s *Store) nudge() {
	select {
	case s.touched <- struct{}{}:
	default:
	}
}

func (s *Store) attached() bool { return s.o.Attached != nil && s.o.Attached() }

func (s *Store) homeOf(env Env) string {
	if home := env["HOME"]; filepath.IsAbs(home) {
		return home
	}
	return s.o.Home
}

// resolveFile makes a path absolute; links of its directory are resolved.
func resolveFile(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	return filepath.Join(resolveDir(filepath.Dir(file)), filepath.Base(file))
}

// load returns the layer of a source: fresh, cached, or the last good one
// together with what is wrong with the present content. Called with s.mu held.
func (s *Store) load(src source, st stamp) (*layer, *BadFile) {
	f := s.files[src]
	if f == nil {
		f = &fileState{}
		s.files[src] = f
	}
	if !st.named() {
		delete(s.files, src)
		return nil, nil
	}
	if f.stamp == st && !st.fresh {
		return f.good, f.bad
	}
	l, err := readFile(src)
	if errors.Is(err, fs.ErrNotExist) {
		delete(s.files, src)
		return nil, nil
	}
	f.stamp, f.bad = st, nil
	if err != nil {
		f.bad = badFile(src.file, err)
		return f.good, f.bad
	}
	f.good = l
	return l, nil
}

func readFile(src source) (*layer, error) {
	doc, err := readCapped(src.file, maxFileBytes)
	if err != nil {
		return nil, err
	}
	return readLayer(src, doc)
}

// readCapped reads a regular file of at most limit bytes.
func readCapped(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", file, info.Size(), limit)
	}
	return os.ReadFile(file)
}

// samePlaces is whether two views of one Hash come from the same files, and
// each server from the same line: that much is shown, and says nothing of what
// is configured.
func samePlaces(a, b *View) bool {
	return slices.Equal(a.Files, b.Files) && maps.EqualFunc(a.Servers, b.Servers, func(x, y *Server) bool {
		return x.Origin == y.Origin
	}) && slices.EqualFunc(a.Permissions.Rules, b.Permissions.Rules, func(x, y Rule) bool { return x.Origin == y.Origin })
}

// EnvFrom turns KEY=value lines into an Env; the last of a name wins.
func EnvFrom(environ []string) Env {
	env := make(Env, len(environ))
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok && name != "" {
			env[name] = value
		}
	}
	return env
}
