package attached

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"tenon/daemon/internal/local"
	"tenon/daemon/internal/proctree"
)

// folder is below the runtime directory: a directory for each command that
// executes a program beside itself.
const folder = "attached"

// Place is what such a command has on disk while it lives: the record of its
// process groups, and a directory for the run. The lock on it goes with the
// command, so that the daemon can tell what a killed one left behind.
type Place struct {
	Record *proctree.Record
	Dir    string

	dir  string
	lock *local.Lock
}

// NewPlace makes the place of this process below the runtime directory, which
// must exist. Close pairs with it.
func NewPlace(runtime string) (p *Place, err error) {
	parent := filepath.Join(runtime, folder)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	for range 5 { // a sweep may take a place for a dead one before it is locked
		if p, err = newPlace(parent); err == nil {
			return p, nil
		}
	}
	return nil, err
}

func newPlace(parent string) (p *Place, err error) {
	p = &Place{}
	if p.dir, err = os.MkdirTemp(parent, "run-"); err != nil { // mode 0700
		return nil, err
	}
	p.Dir = filepath.Join(p.dir, "runs")
	if p.lock, err = (local.Paths{Runtime: p.dir}).TryLock(); err != nil {
		_ = os.RemoveAll(p.dir) // the first error is the one to tell
		return nil, err
	}
	if p.Record, err = proctree.OpenRecord(filepath.Join(p.dir, "groups")); err != nil {
		return nil, errors.Join(err, p.lock.Release(), os.RemoveAll(p.dir))
	}
	return p, nil
}

// Close removes the place; every process of it must have ended.
func (p *Place) Close() error {
	return errors.Join(p.Record.Close(), os.RemoveAll(p.dir), p.lock.Release())
}

// Sweep ends what commands that were killed left running, and removes their
// places. Those of commands that live are left alone; left is how many places
// there still are.
func Sweep(ctx context.Context, runtime string, log *slog.Logger) (left int) {
	places, err := os.ReadDir(filepath.Join(runtime, folder))
	if err != nil {
		return 0 // there never was one
	}
	for _, entry := range places {
		dir := filepath.Join(runtime, folder, entry.Name())
		lock, err := (local.Paths{Runtime: dir}).TryLock()
		if err != nil {
			left++ // its command lives, or it is gone meanwhile
			continue
		}
		err = sweep(ctx, dir, log)
		if err := errors.Join(err, lock.Release()); err != nil {
			left++
			log.Warn("what a killed command left behind is not all gone", "place", dir, "error", err)
		}
	}
	return left
}

// sweep ends the groups of one place and removes it. One whose processes could
// not all be ended stays, for the next sweep.
func sweep(ctx context.Context, dir string, log *slog.Logger) error {
	record, err := proctree.OpenRecord(filepath.Join(dir, "groups"))
	if err != nil {
		return err
	}
	_, err = record.Sweep(ctx, log)
	if err = errors.Join(err, record.Close()); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
