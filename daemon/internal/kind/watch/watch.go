// Package watch tells when something in the directories of a server's files has
// changed.
package watch

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle lets an editor finish, as the configuration's own watch does.
const settle = 100 * time.Millisecond

// Watcher watches the directories of a module's files. Where the system has no
// watches left, changes are seen by the next call, which looks itself.
type Watcher struct {
	fs   *fsnotify.Watcher // nil: there are none
	done sync.WaitGroup

	mu   sync.Mutex // guards dirs
	dirs map[string]bool
}

// New calls touched after changes, from a goroutine of its own.
func New(touched func()) *Watcher {
	w := &Watcher{dirs: map[string]bool{}}
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return w
	}
	w.fs = fs
	w.done.Go(func() {
		timer := time.NewTimer(settle)
		timer.Stop()
		defer timer.Stop()
		for {
			select {
			case e, ok := <-fs.Events:
				if !ok {
					return
				}
				if e.Op != fsnotify.Chmod {
					timer.Reset(settle)
				}
			case _, ok := <-fs.Errors:
				if !ok {
					return
				}
				timer.Reset(settle) // events were lost: look at everything
			case <-timer.C:
				touched()
			}
		}
	})
	return w
}

// Follow watches the directories of these files.
func (w *Watcher) Follow(files []string) {
	if w.fs == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, file := range files {
		dir := filepath.Dir(file)
		if !w.dirs[dir] && w.fs.Add(dir) == nil {
			w.dirs[dir] = true
		}
	}
}

// Close ends the watch, and waits for a call of touched that goes on.
func (w *Watcher) Close() {
	if w.fs == nil {
		return
	}
	_ = w.fs.Close() // nothing is left to lose
	w.done.Wait()
}
