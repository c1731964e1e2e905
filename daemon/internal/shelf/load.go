package shelf

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/script"
)

// Bounds of what a script imports.
const (
	maxModules = 200
	maxSource  = 1 << 20 // bytes, with the script itself; the compiler's bound
)

// Code is a script ready to be compiled.
type Code struct {
	Script
	Text    string
	Modules *engine.Modules // nil: it imports nothing of its folder
}

// Load finds a script and reads it, with every file of its folder that it
// imports. A link that leads out of the folder is not followed.
func (s *Shelf) Load(dir, name string) (*Code, error) {
	found, err := s.Find(dir, name)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(found.root)
	if err != nil {
		return nil, unreadable(found.Name, err)
	}
	defer root.Close()
	text, err := read(root, found.rel)
	if err != nil {
		return nil, unreadable(found.Name, err)
	}
	c := &Code{Script: *found, Text: text}
	modules, err := imported(root, found.rel, text)
	if err != nil {
		return nil, err
	}
	if len(modules) > 0 {
		c.Modules = &engine.Modules{Path: found.rel, Files: modules}
	}
	return c, nil
}

func unreadable(name string, err error) error {
	return fault.New(fault.UsageError, "the script %s cannot be read: %w", name, err)
}

// read reads one regular file of a folder, within bounds.
func read(root *os.Root, rel string) (string, error) {
	at := filepath.FromSlash(rel)
	st, err := root.Stat(at)
	switch {
	case err != nil:
		return "", err
	case !st.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a file", rel)
	case st.Size() > maxFile:
		return "", fmt.Errorf("%s has more than %d bytes", rel, maxFile)
	}
	text, err := root.ReadFile(at)
	return string(text), err
}

// written finds the paths of imports as they are written. What only looks like
// one costs a look for a file and nothing else: the compiler decides.
var written = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:from|import|require)\s*\(?\s*["']([^"'\n]+)["']`)
})

// imported reads the files that a script imports, and those that they import.
func imported(root *os.Root, rel, text string) (map[string]string, error) {
	out := map[string]string{}
	total := len(text)
	type file struct{ rel, text string }
	for todo := []file{{rel, text}}; len(todo) > 0; todo = todo[1:] {
		for _, m := range written().FindAllStringSubmatch(todo[0].text, -1) {
			for _, at := range script.Imports(todo[0].rel, m[1]) {
				if _, known := out[at]; known || at == rel {
					break
				}
				text, err := read(root, at)
				if err != nil {
					continue // another ending, or none: the compiler says so
				}
				if total += len(text); total > maxSource || len(out) >= maxModules {
					return nil, fault.New(fault.UsageError, "the script %s imports more than %d files or %d bytes", rel, maxModules, maxSource)
				}
				out[at] = text
				todo = append(todo, file{at, text})
				break
			}
		}
	}
	return out, nil
}
