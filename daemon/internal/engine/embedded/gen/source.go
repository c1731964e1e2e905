package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// download returns the bytes of quickjs.wasm from the pinned npm package. npm
// checks the package against the integrity sum of the lock file; the file's own
// sum is checked here as well.
func download(gen string) ([]byte, error) {
	path := filepath.Join(gen, "node_modules", "quickjs-wasi", "quickjs.wasm")
	if wasm, err := os.ReadFile(path); err == nil && sum(wasm) == wasmSHA256 {
		return wasm, nil
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
	cmd.Dir = gen
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("npm ci in %s: %w", gen, err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if got := sum(wasm); got != wasmSHA256 {
		return nil, fmt.Errorf("%s has sha256 %s, want %s", path, got, wasmSHA256)
	}
	return wasm, nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

const stampName = ".stamp"

// inputs names every file that decides the output, with its sum.
func inputs(gen string) (string, error) {
	entries, err := os.ReadDir(gen)
	if err != nil {
		return "", err
	}
	return sums(gen, entries, func(name string) bool {
		switch {
		case strings.HasSuffix(name, "_test.go"):
			return false
		case strings.HasSuffix(name, ".go"):
			return true
		}
		return name == "package-lock.json" || name == "wasm2go.mod" || name == "wasm2go.sum"
	})
}

// fresh reports whether out is what these inputs made, untouched since.
func fresh(out, inputs string) bool {
	stamp, err := os.ReadFile(filepath.Join(out, stampName))
	if err != nil {
		return false
	}
	outputs, err := outputs(out)
	return err == nil && string(stamp) == inputs+outputs
}

func writeStamp(out, inputs string) error {
	outputs, err := outputs(out)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, stampName), []byte(inputs+outputs), 0o644)
}

func outputs(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	return sums(dir, entries, func(name string) bool { return name != stampName })
}

func sums(dir string, entries []os.DirEntry, keep func(name string) bool) (string, error) {
	var lines []string
	for _, e := range entries {
		if e.IsDir() || !keep(e.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		lines = append(lines, sum(b)+"  "+e.Name()+"\n")
	}
	sort.Strings(lines)
	return strings.Join(lines, ""), nil
}
