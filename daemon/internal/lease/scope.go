package lease

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
)

// ScopeKey makes the key of a scope and the directory that belongs to it:
//
//   - shared: one key for all, no directory.
//   - session: the given session (the root, or the leaf for a server with
//     inherit off), and cwd.
//   - repo: the git top level of cwd with links resolved. A worktree is a
//     repository of its own; outside of any repository it is cwd itself.
//   - directory: cwd with links resolved.
//
// UsageError when the scope needs a directory and cwd is empty, ConfigError
// for a scope that does not exist.
func ScopeKey(scope config.Scope, session, cwd string) (key, dir string, err error) {
	switch scope {
	case config.Shared, "":
		return string(config.Shared), "", nil
	case config.Session:
		if session == "" {
			return "", "", fault.New(fault.InternalError, "a lease of scope session needs a session")
		}
		return string(config.Session) + ":" + session, cwd, nil
	case config.Repo, config.Directory:
		if cwd == "" {
			return "", "", fault.New(fault.UsageError, "scope %q needs a directory, and this session has none", scope).
				WithHint("give one (--cwd DIR), or use scope session or shared for this server")
		}
		dir, err = places.resolve(scope, cwd)
		if err != nil {
			return "", "", fault.New(fault.UsageError, "directory %q cannot be used: %v", cwd, err).Because(err)
		}
		return string(scope) + ":" + dir, dir, nil
	default:
		return "", "", fault.New(fault.ConfigError, "there is no scope %q", scope).
			WithHint("use shared, session, repo or directory")
	}
}

const (
	// placesFor is how long a resolved directory is believed: every call makes
	// its key, and resolving costs several system calls.
	placesFor = 2 * time.Second
	maxPlaces = 256
)

// places caches resolved directories.
var places placeCache

type placeCache struct {
	mu    sync.Mutex
	known map[placeKey]place // guarded by mu
}

type placeKey struct {
	scope config.Scope
	cwd   string
}

type place struct {
	dir  string
	till time.Time
}

func (c *placeCache) resolve(scope config.Scope, cwd string) (string, error) {
	key := placeKey{scope, cwd}
	now := time.Now()
	c.mu.Lock()
	p, ok := c.known[key]
	c.mu.Unlock()
	if ok && now.Before(p.till) {
		return p.dir, nil
	}
	dir, err := filepath.Abs(cwd)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	if scope == config.Repo {
		dir = gitTop(dir)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxPlaces {
		c.known = map[placeKey]place{}
	}
	c.known[key] = place{dir, now.Add(placesFor)}
	return dir, nil
}

// gitTop is the nearest directory at or above dir that has a .git entry: a
// folder in a main worktree, a file in a linked one or a submodule.
func gitTop(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}
