package jsonc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tenon/daemon/internal/local"
)

// BackupSuffix is added to a file's name for the copy that EditFile keeps.
const BackupSuffix = ".tenon-backup"

// EditFile reads a file, lets change edit its bytes and, when they differ,
// writes them back: a copy of the file as it was is kept beside it under
// BackupSuffix (replacing an older one), the new text replaces the old in one
// step, mode kept, links followed. When change fails nothing is touched. A
// file that does not exist is an error that matches fs.ErrNotExist.
func EditFile(path string, change func(doc []byte) ([]byte, error)) (changed bool, err error) {
	return EditFileAgain(path, func([]byte) bool { return false }, change)
}

// EditFileAgain is EditFile for one of several edits that are undone together:
// where again says of the file as it is that it holds an edit of ours already, a
// copy that exists stays, since it is the file as it was before the first.
//
// A temporary file that a killed edit of the same file left behind is removed, once
// it is old enough to be nobody's.
func EditFileAgain(path string, again func(doc []byte) bool, change func(doc []byte) ([]byte, error)) (changed bool, err error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a regular file", path)
	}
	old, err := os.ReadFile(target)
	if err != nil {
		return false, err
	}
	edited, err := change(old)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(old, edited) {
		return false, nil
	}
	local.Sweep(target)
	local.Sweep(target + BackupSuffix)
	if _, err := os.Lstat(target + BackupSuffix); err != nil || !again(old) {
		if err := replaceFile(target+BackupSuffix, old, info.Mode().Perm()); err != nil {
			return false, fmt.Errorf("backup of %s: %w", path, err)
		}
	}
	if err := replaceFile(target, edited, info.Mode().Perm()); err != nil {
		return false, err
	}
	return true, nil
}

// replaceFile writes a file in one step: temporary file, sync, rename.
func replaceFile(path string, doc []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), local.TempPrefix(path)+"*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(doc)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error is the one to tell
	}
	return err
}
