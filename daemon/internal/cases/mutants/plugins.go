package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// carriedBy are the files of the built plugins that the program carries, and
// where: the same list as CARRIED in the Makefile.
var carriedBy = []string{
	"opencode-v1/dist/tenon.js", "opencode-v1/dist/tui.js",
	"opencode-v2/dist/server.js", "opencode-v2/dist/tui.js", "opencode-v2/dist/rpc.js", "opencode-v2/dist/package.json",
}

const bundle = "daemon/internal/cli/opencode/bundle/"

// plugins builds the broken plugins in a copy of their workspace, and gives its
// directory and the files that the program carries of them.
func (l *lab) plugins(ctx context.Context, space string, changed map[string][]byte) (dir string, carried map[string][]byte, err error) {
	for _, part := range []string{"plugins", "proto"} {
		if err := os.CopyFS(filepath.Join(space, part), withoutModules{os.DirFS(filepath.Join(l.top, part))}); err != nil {
			return "", nil, err
		}
	}
	for _, file := range []string{"package.json", "tsconfig.base.json"} {
		data, err := os.ReadFile(filepath.Join(l.top, file))
		if err != nil {
			return "", nil, err
		}
		if err := os.WriteFile(filepath.Join(space, file), data, 0o600); err != nil {
			return "", nil, err
		}
	}
	for name, data := range changed {
		if strings.HasPrefix(name, "plugins/") {
			if err := os.WriteFile(filepath.Join(space, filepath.FromSlash(name)), data, 0o600); err != nil {
				return "", nil, err
			}
		}
	}
	if err := linkModules(filepath.Join(l.top, "node_modules"), filepath.Join(space, "node_modules")); err != nil {
		return "", nil, err
	}
	if out, err := l.command(ctx, space, nil, "npm", "run", "--silent", "build"); err != nil {
		return "", nil, fmt.Errorf("npm run build: %w\n%s", err, out)
	}
	dir = filepath.Join(space, "plugins")
	carried = map[string][]byte{}
	for _, file := range carriedBy {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			return "", nil, err
		}
		carried[bundle+strings.Replace(file, "dist/", "", 1)] = data
	}
	return dir, carried, nil
}

// linkModules makes a folder of modules whose packages are those of another
// one. Links to packages of the workspace stay what they are, so that they lead
// into the copy.
func linkModules(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("the plugins' packages are not installed (make build): %w", err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		source, link := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(source)
			if err != nil {
				return err
			}
			if err := os.Symlink(target, link); err != nil {
				return err
			}
		case e.IsDir() && strings.HasPrefix(e.Name(), "@"):
			if err := linkModules(source, link); err != nil {
				return err
			}
		default:
			if err := os.Symlink(source, link); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutModules hides the packages below a folder.
type withoutModules struct{ fs.FS }

// ReadDir lists a folder without its node_modules.
func (w withoutModules) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(w.FS, name)
	kept := entries[:0]
	for _, e := range entries {
		if e.Name() != "node_modules" {
			kept = append(kept, e)
		}
	}
	return kept, err
}
