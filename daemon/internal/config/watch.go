package config

import (
	"context"
	"path/filepath"
	"sort"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Change says that files changed; views of the directories listed are stale
// and come out new from the next View.
type Change struct {
	Dirs  []string // directories of views, as View.Dir
	Files []string // the files, as far as known
}

// settleTime lets an editor finish: many write a new file and rename it over
// the old one, or truncate and write again.
const settleTime = 100 * time.Millisecond

// maxWatched bounds the kernel watches; beyond it changes are still seen by
// the next View, which looks at the files itself.
const maxWatched = 512

// Watch reports changes of every file that a cached view depends on, until ctx
// ends; then the channel is closed. Folders are watched rather than files, so
// that files which are renamed over or not there yet are seen. Where the
// system has no watches left it stays silent: View notices changes anyway.
func (s *Store) Watch(ctx context.Context) <-chan Change {
	out := make(chan Change)
	w, err := fsnotify.NewWatcher()
	if err != nil {
		s.o.Log.Warn("config files cannot be watched: changes are noticed at the next call", "error", err)
		go func() { <-ctx.Done(); close(out) }()
		return out
	}
	go s.watch(ctx, w, out)
	return out
}

func (s *Store) watch(ctx context.Context, w *fsnotify.Watcher, out chan<- Change) {
	defer close(out)
	defer func() { _ = w.Close() }() // nothing is left to lose
	watched := map[string]bool{}
	s.watchFolders(w, watched)
	settle := time.NewTimer(settleTime)
	settle.Stop()
	defer settle.Stop()
	files := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.touched:
			s.watchFolders(w, watched)
			settle.Reset(settleTime)
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			if e.Op == fsnotify.Chmod {
				continue
			}
			files[e.Name] = true
			settle.Reset(settleTime)
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			s.o.Log.Warn("watching config files", "error", err)
			settle.Reset(settleTime) // an overflow lost events: look at everything
		case <-settle.C:
			s.watchFolders(w, watched) // a folder that was made now
			change := s.stale(files)
			clear(files)
			if len(change.Dirs) == 0 {
				continue
			}
			select {
			case out <- change:
			case <-ctx.Done():
				return
			}
		}
	}
}

// watchFolders watches the folder of every path that a cached view looked at.
func (s *Store) watchFolders(w *fsnotify.Watcher, watched map[string]bool) {
	s.mu.Lock()
	folders := map[string]bool{}
	for _, c := range s.views {
		for _, path := range c.probes.order {
			folders[filepath.Dir(path)] = true
			if c.probes.seen[path].exists && !c.probes.seen[path].dir {
				if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
					folders[filepath.Dir(target)] = true // dotfiles kept elsewhere
				}
			}
		}
	}
	s.mu.Unlock()
	for dir := range watched {
		if !folders[dir] {
			_ = w.Remove(dir) // already gone when the folder is
			delete(watched, dir)
		}
	}
	for dir := range folders {
		if len(watched) >= maxWatched {
			return
		}
		// Adding again is free, and needed where a folder was made anew.
		if err := w.Add(dir); err == nil {
			watched[dir] = true
		} else {
			delete(watched, dir)
		}
	}
}

// stale lists the directories whose views depend on a changed file.
func (s *Store) stale(files map[string]bool) Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	dirs, changed := s.rebuilt, map[string]bool{}
	s.rebuilt = map[string]bool{}
	for key, c := range s.views {
		if c.epoch == s.epoch && c.probes.unchanged() {
			c.told = false
			continue
		}
		// Once is enough: a view that nobody asks for stays as it is, and each
		// event in a folder as busy as the home directory would report it again.
		if c.told {
			continue
		}
		c.told = true
		dirs[key.dir] = true
		for _, path := range c.probes.order {
			if files[path] {
				changed[path] = true
			}
		}
	}
	return Change{Dirs: sorted(dirs), Files: sorted(changed)}
}

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for name := range set {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}
