package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tenon/daemon/internal/config/jsonc"
	"tenon/daemon/internal/fault"
)

// Dials are the two settings that a file asks for.
type Dials struct{ Sandbox, Approval string }

// Switch is what UsePreset did.
type Switch struct {
	File    string
	Changed bool
	Backup  string // the file as it was; empty where there was none
	From    Dials  // as the file had them
	To      Preset
}

// UsePreset writes both dials of a preset into the user's file, or into file
// when that is not empty: comments, order and every other byte stay, and a copy
// of the file as it was is kept beside it. permissions.preset is taken out,
// since the dials say the same. A file that asks for these dials already is left
// alone. Whether the caller may is the business of the edge (only a user may);
// what becomes looser while sessions are attached waits for TrustConfig.
//
// An unknown name is a NotFound, custom a UsageError, and a file that is not
// JSON or cannot be edited a ConfigError with what to write by hand.
func (s *Store) UsePreset(name, file string) (*Switch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == CustomPreset {
		return nil, fault.New(fault.UsageError, "%s is no preset: it is what other combinations are called", CustomPreset).
			WithHint("set permissions.sandbox and permissions.approval themselves, or name them under permissions.presets")
	}
	file, l, err := s.written(file)
	if err != nil {
		return nil, err
	}
	now := permissionsOf(l).complete()
	to, known := presetNamed(name, now.Presets)
	if !known {
		e := fault.New(fault.NotFound, "there is no preset %q", name)
		if near := nearest(name, presetNames(now.Presets)); near != "" {
			return nil, e.WithHint("did you mean %q? tenon preset lists them", near)
		}
		return nil, e.WithHint("tenon preset lists them; your own are written under permissions.presets")
	}
	out := &Switch{File: file, From: Dials{now.Sandbox, now.Approval}, To: to}
	if out.From == (Dials{to.Sandbox, to.Approval}) {
		return out, nil
	}
	if ext := filepath.Ext(file); ext != ".json" && ext != ".jsonc" {
		return nil, fault.New(fault.ConfigError, "%s is not edited: only JSON files are", file).
			WithHint("set by hand: permissions.sandbox to %s, permissions.approval to %s", to.Sandbox, to.Approval)
	}
	if out.Backup, err = writeDials(file, to); err != nil {
		return nil, err
	}
	out.Changed = true
	s.outdate()
	return out, nil
}

// WrittenDials are the dials that the user's file, or the given one, asks for,
// whether or not they are in effect.
func (s *Store) WrittenDials(file string) (from string, d Dials, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, l, err := s.written(file)
	now := permissionsOf(l).complete()
	return from, Dials{now.Sandbox, now.Approval}, err
}

// written is the user's file, or the given one, as it is now; without a file the
// path is where one is made. Called with s.mu held.
func (s *Store) written(file string) (string, *layer, error) {
	p := newProbes()
	if file == "" {
		var clash error
		if file, clash = s.findUserFile(p); clash != nil {
			return file, nil, badFile(file, clash).fault()
		}
	}
	if file == "" {
		return filepath.Join(ConfigDir(s.o.Environ, s.o.Home), "config.jsonc"), nil, nil
	}
	l, err := readFile(source{file: resolveFile(file), format: FormatTenon})
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil, nil
	}
	if err != nil {
		return file, nil, badFile(file, err).fault()
	}
	return file, l, nil
}

func writeDials(file string, to Preset) (backup string, err error) {
	set := func(doc []byte) ([]byte, error) {
		doc, err := jsonc.Set(doc, []string{"permissions", "sandbox"}, to.Sandbox)
		if err == nil {
			doc, err = jsonc.Set(doc, []string{"permissions", "approval"}, to.Approval)
		}
		if err == nil {
			doc, err = jsonc.Remove(doc, []string{"permissions", "preset"})
		}
		return doc, err
	}
	_, err = jsonc.EditFile(file, set)
	if errors.Is(err, fs.ErrNotExist) {
		doc, err := set([]byte("{\n}\n"))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(file), 0o700)
		}
		if err == nil {
			err = writeAtomic(file, doc)
		}
		if err != nil {
			return "", fault.New(fault.ConfigError, "%s cannot be written: %w", file, err)
		}
		return "", nil
	}
	if err != nil {
		return "", fault.New(fault.ConfigError, "%s is left alone: %w", file, err).
			WithHint("set by hand: permissions.sandbox to %s, permissions.approval to %s", to.Sandbox, to.Approval)
	}
	return file + jsonc.BackupSuffix, nil
}

// String is how the dials are written in messages.
func (d Dials) String() string {
	return "sandbox " + d.Sandbox + ", approval " + d.Approval
}
