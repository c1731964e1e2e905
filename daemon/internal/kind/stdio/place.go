package stdio

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"tenon/daemon/internal/local"
	"tenon/daemon/internal/proctree"
)

// Place is what a server that starts processes has on disk while it lives: the
// record of their groups, and room for what they need. The lock on it goes with
// the server, so that others can tell what a killed one left behind: a process
// that ran for it has a marker of its own, by which nobody else finds it.
type Place struct {
	Record *proctree.Record
	Dir    string // mode 0700

	lock *local.Lock
}

// NewPlace makes the place of this process below parent, which is made when it is
// missing; empty: the system's temporary directory. Before that it ends what
// killed servers left running in theirs. Close pairs with it.
func NewPlace(parent string) (p *Place, err error) {
	if parent != "" {
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return nil, err
		}
		Sweep(context.Background(), parent, slog.New(slog.DiscardHandler))
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
	if p.Dir, err = os.MkdirTemp(parent, "tenon-server-"); err != nil { // mode 0700
		return nil, err
	}
	if p.lock, err = (local.Paths{Runtime: p.Dir}).TryLock(); err != nil {
		_ = os.RemoveAll(p.Dir) // the first error is the one to tell
		return nil, err
	}
	if p.Record, err = proctree.OpenRecord(filepath.Join(p.Dir, groups)); err != nil {
		return nil, errors.Join(err, p.lock.Release(), os.RemoveAll(p.Dir))
	}
	return p, nil
}

const groups = "groups"

// Close removes the place; every process of it must have ended.
func (p *Place) Close() error {
	return errors.Join(p.Record.Close(), os.RemoveAll(p.Dir), p.lock.Release())
}

// Sweep ends what killed servers left running, and removes their places below
// parent. Those of servers that live are left alone.
func Sweep(ctx context.Context, parent string, log *slog.Logger) {
	places, err := os.ReadDir(parent)
	if err != nil {
		return // there never was one
	}
	for _, entry := range places {
		dir := filepath.Join(parent, entry.Name())
		lock, err := (local.Paths{Runtime: dir}).TryLock()
		if err != nil {
			continue // its server lives, or it is gone meanwhile
		}
		if err := errors.Join(sweep(ctx, dir, log), lock.Release()); err != nil {
			log.Warn("what a killed server left behind is not all gone", "place", dir, "error", err)
		}
	}
}

// sweep ends the groups of one place and removes it. One whose processes could
// not all be ended stays, for the next sweep.
func sweep(ctx context.Context, dir string, log *slog.Logger) error {
	record, err := proctree.OpenRecord(filepath.Join(dir, groups))
	if err != nil {
		return err
	}
	_, err = record.Sweep(ctx, log)
	if err = errors.Join(err, record.Close()); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
