package module

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle lets an editor finish, as the configuration's own watch does.
const settle = 100 * time.Millisecond

// watcher watches the directories of a module's files. Where the system has no
// watches left, changes are seen by the next call, which looks itself.
type watcher struct {
	fs   *fsnotify.Watcher // nil: there are none
	done sync.WaitGroup

	mu      sync.Mutex // guards watched
	watched map[string]bool
}

// newWatcher calls touched after changes, from a goroutine of its own.
func newWatcher(touched func()) *watcher {
	w := &watcher{watched: map[string]bool{}}
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

// follow watches the directories of these files.
func (w *watcher) follow(files map[string]string) {
	if w.fs == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for file := range files {
		dir := filepath.Dir(file)
		if !w.watched[dir] && w.fs.Add(dir) == nil {
			w.watched[dir] = true
		}
	}
}

func (w *watcher) close() {
	if w.fs == nil {
		return
	}
	_ = w.fs.Close() // nothing is left to lose
	w.done.Wait()
}
