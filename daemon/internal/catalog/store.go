package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"tenon/daemon/internal/local"
	"tenon/daemon/internal/upstream"
)

// stored is one file of the folder of base lists.
type stored struct {
	Format int             `json:"format"`
	Tools  []upstream.Tool `json:"tools"`
	// Fingerprints are those of tools in whose words a secret was masked, by name:
	// an approval rests on what the server said, not on what is kept of it.
	Fingerprints map[string]string `json:"fingerprints,omitempty"`
	Fingerprint  string            `json:"fingerprint,omitempty"` // the list's, where there are such tools
}

// storedFormat changes when an older daemon would misread a file; a file of
// another format is ignored and written anew.
const storedFormat = 1

// plainID reports whether a definition id may be part of a file name.
func plainID(id string) bool {
	for _, r := range id {
		if r >= 0x80 || !strings.ContainsRune("_.:-", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return id != "" && len(id) <= 128 && id[0] != '.'
}

func (c *Catalog) file(definition string) (string, bool) {
	if c.dir == "" || !plainID(definition) {
		return "", false
	}
	return filepath.Join(c.dir, definition+".json"), true
}

// read finds a persisted base; nil when there is none that can be used.
func (c *Catalog) read(definition string) *List {
	path, ok := c.file(definition)
	if !ok {
		return nil
	}
	data, err := local.ReadRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var s stored
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil || s.Format != storedFormat {
		c.log.Warn("persisted tool list ignored", "file", path, "error", err)
		return nil
	}
	l, problem := build(s.Tools)
	if problem != "" {
		c.log.Warn("persisted tool list ignored", "file", path, "reason", problem)
		return nil
	}
	for name, print := range s.Fingerprints {
		if t := l.byName[name]; t != nil {
			t.Fingerprint = print
		}
	}
	if s.Fingerprint != "" {
		l.Fingerprint, l.masked = s.Fingerprint, true
	}
	return l
}

// write persists a base; a failure costs only the memory of it.
func (c *Catalog) write(definition string, l *List) {
	path, ok := c.file(definition)
	if !ok {
		return
	}
	s := stored{Format: storedFormat, Tools: make([]upstream.Tool, len(l.Tools))}
	for i, t := range l.Tools {
		kept, masked, err := maskedTool(t.Tool, c.mask)
		if err != nil {
			c.log.Warn("tool list not persisted", "file", path, "error", err)
			return
		}
		if s.Tools[i] = kept; masked {
			if s.Fingerprints == nil {
				s.Fingerprints, s.Fingerprint = map[string]string{}, l.Fingerprint
			}
			s.Fingerprints[kept.Name] = t.Fingerprint
		}
	}
	for _, why := range l.unusable {
		s.Tools = append(s.Tools, upstream.Tool{Unusable: c.plain(why)})
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = replace(path, data)
	}
	if err != nil {
		c.log.Warn("tool list not persisted", "file", path, "error", err)
	}
}

// plain is a text without known secrets.
func (c *Catalog) plain(text string) string {
	if c.mask == nil {
		return text
	}
	return c.mask(text)
}

// maskedTool is a tool without the secrets that mask knows, and whether it had
// any. A name stays: it is what the tool is called by. The error is that of JSON
// which masking has broken.
func maskedTool(t upstream.Tool, mask func(string) string) (upstream.Tool, bool, error) {
	if mask == nil {
		return t, false, nil
	}
	before, err := json.Marshal(t)
	if err != nil {
		return t, false, err
	}
	after := mask(string(before))
	if after == string(before) {
		return t, false, nil
	}
	kept := upstream.Tool{}
	if err := json.Unmarshal([]byte(after), &kept); err != nil {
		return t, true, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	kept.Name = t.Name
	return kept, true, nil
}

// replace writes a file of mode 0600 atomically, making its folder (0700).
func replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	_, err = tmp.Write(data)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}
