package shelf

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
)

// Saving is a script to keep.
type Saving struct {
	Dir   string // of the caller, absolute
	Name  string
	Code  string
	Where string // Project or User
	Force bool   // replace a script of that name in the same folder
}

// Save writes a script into the nearest folder of the project, which is made at
// the repository's top when there is none, or into the user's. The file is whole
// or not there. UsageError for a name that cannot be or that is taken.
func (s *Shelf) Save(w Saving) (*Script, error) {
	if err := CheckName(w.Name); err != nil {
		return nil, err
	}
	if ext := path.Ext(w.Name); slices.Contains(extensions, ext) { // "a.ts" is the file of a script "a"
		return nil, fault.New(fault.UsageError, "%q would be the file of a script, not its name", w.Name).
			WithHint("without the extension: %s", strings.TrimSuffix(w.Name, ext))
	}
	if len(w.Code) > maxFile {
		return nil, fault.New(fault.UsageError, "the script has %d bytes, more than %d", len(w.Code), maxFile)
	}
	if strings.TrimSpace(w.Code) == "" {
		return nil, fault.New(fault.UsageError, "the script %s would be empty", w.Name)
	}
	top, under, mode, err := s.target(w)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(top, mode); err != nil {
		return nil, fault.New(fault.UsageError, "no folder for the script: %w", err)
	}
	base, err := os.OpenRoot(top) // nothing below leads out of it
	if err != nil {
		return nil, fault.New(fault.UsageError, "no folder for the script: %w", err)
	}
	defer base.Close()
	root := base
	if under != "" {
		if err := base.MkdirAll(filepath.FromSlash(under), mode); err != nil {
			return nil, fault.New(fault.UsageError, "no folder for the script: %w", err)
		}
		if root, err = base.OpenRoot(filepath.FromSlash(under)); err != nil {
			return nil, fault.New(fault.UsageError, "no folder for the script: %w", err)
		}
		defer root.Close()
	}
	rel, err := write(root, w, mode)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(top, filepath.FromSlash(under))
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return &Script{Name: w.Name, File: filepath.Join(dir, filepath.FromSlash(rel)), Where: w.Where, Header: ParseHeader(w.Code), root: dir, rel: rel}, nil
}

// target is where a script goes: a folder, and one below it that may have to be
// made, with the mode of what is made.
func (s *Shelf) target(w Saving) (top, under string, mode fs.FileMode, err error) {
	if w.Where == User {
		return s.user, "", 0o700, nil
	}
	if w.Dir == "" {
		return "", "", 0, fault.New(fault.UsageError, "there is no directory, and so no project, to keep the script %s in", w.Name).WithHint("keep it among the user's: --user")
	}
	for _, p := range s.places(w.Dir) {
		if p.where == Project {
			return p.dir, "", 0o755, nil
		}
	}
	return config.Workspace(w.Dir), Folder, 0o755, nil
}

// write puts the file in its place: written beside it, then linked or renamed.
func write(root *os.Root, w Saving, mode fs.FileMode) (rel string, err error) {
	rel = w.Name + extensions[0]
	taken := false
	for _, ext := range extensions {
		if _, err := root.Lstat(filepath.FromSlash(w.Name + ext)); err == nil {
			rel, taken = w.Name+ext, true
			break
		}
	}
	if taken && !w.Force {
		return "", exists(w.Name, rel)
	}
	at := filepath.FromSlash(rel)
	if dir := filepath.Dir(at); dir != "." {
		if err := root.MkdirAll(dir, mode); err != nil {
			return "", fault.New(fault.UsageError, "no folder for the script %s: %w", w.Name, err)
		}
	}
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails
	beside := filepath.Join(filepath.Dir(at), ".saving-"+hex.EncodeToString(id[:]))
	f, err := root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode&0o666)
	if err != nil {
		return "", fault.New(fault.UsageError, "the script %s cannot be written: %w", w.Name, err)
	}
	_, err = f.WriteString(w.Code)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	switch {
	case err != nil:
	case w.Force:
		err = root.Rename(beside, at)
	default:
		err = root.Link(beside, at) // unlike a rename it replaces nothing
		_ = root.Remove(beside)
	}
	if errors.Is(err, fs.ErrExist) {
		return "", exists(w.Name, rel)
	}
	if err != nil {
		_ = root.Remove(beside) // the first error is the one to tell
		return "", fault.New(fault.UsageError, "the script %s cannot be written: %w", w.Name, err)
	}
	return rel, nil
}

func exists(name, rel string) error {
	return fault.New(fault.UsageError, "there is a script %s already: %s", name, rel).
		WithHint("another name, or --force to replace it")
}
