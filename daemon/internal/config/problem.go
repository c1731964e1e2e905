package config

import (
	"errors"
	"fmt"

	"tenon/daemon/internal/fault"
)

// placed is a mistake at a position of the file being read; the reader of the
// file adds its name.
type placed struct {
	at      place
	message string
	hint    string
}

func (p *placed) Error() string { return p.message }

func badAt(n *node, format string, args ...any) *placed {
	return &placed{at: n.at, message: fmt.Sprintf(format, args...)}
}

// BadFile is a config file that cannot be used, with the place of the mistake.
// It is the private cause of the ConfigError that View returns and the source
// of the note in a view that keeps the last good configuration.
type BadFile struct {
	File         string // absolute path
	Line, Column int    // from 1; 0: the file as a whole
	Message      string
	Hint         string
}

func (b *BadFile) Error() string {
	if b.Line == 0 {
		return fmt.Sprintf("%s: %s", b.File, b.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", b.File, b.Line, b.Column, b.Message)
}

// fault is the error as every edge shows it.
func (b *BadFile) fault() *fault.Error {
	e := fault.New(fault.ConfigError, "%s", b.Error()).Because(b)
	if b.Hint != "" {
		e = e.WithHint("%s", b.Hint)
	}
	return e
}

func badFile(file string, err error) *BadFile {
	var bad *BadFile
	if errors.As(err, &bad) {
		return bad
	}
	var p *placed
	if errors.As(err, &p) {
		return &BadFile{File: file, Line: p.at.line, Column: p.at.column, Message: visible(p.message), Hint: visible(p.hint)}
	}
	return &BadFile{File: file, Message: visible(err.Error())}
}
