// Command gen makes the package qjs beside it: QuickJS-NG as Go source.
//
//	npm package quickjs-wasi → quickjs.wasm
//	→ instrument: a poll at every loop, a guard on blind recursions
//	→ wasm2go: Go source
//	→ adapt: memory owned by the caller, a hard cap, Reset
//
// The output is never committed. A stamp of all inputs makes a second run free;
// run it through go generate. It fails when any number of expected differs, so
// that a new version of an input is read before it is trusted.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func main() {
	dir := flag.String("dir", ".", "the directory of package embedded")
	force := flag.Bool("force", false, "generate even when the output is up to date")
	flag.Parse()
	if err := generate(*dir, *force); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate brings dir/qjs up to date. The new package replaces the old one only
// when it is complete.
func generate(dir string, force bool) error {
	want, err := inputs(filepath.Join(dir, "gen"))
	if err != nil {
		return err
	}
	out := filepath.Join(dir, "qjs")
	if !force && fresh(out, want) {
		return nil
	}
	start := time.Now()
	wasm, err := download(filepath.Join(dir, "gen"))
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, ".qjs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := translate(dir, wasm, tmp); err != nil {
		return err
	}
	if err := writeStamp(tmp, want); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.Rename(tmp, out); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "gen: made %s in %v\n", out, time.Since(start).Round(100*time.Millisecond))
	return nil
}

// translate writes the Go package made of wasm into the directory to.
func translate(dir string, wasm []byte, to string) error {
	polled, c, err := instrument(wasm, fuel, depth)
	if err != nil {
		return err
	}
	if c != expected {
		return fmt.Errorf("quickjs.wasm is not the module that was reviewed:\n got %+v\nwant %+v", c, expected)
	}
	in := filepath.Join(to, "in.wasm")
	if err := os.WriteFile(in, polled, 0o644); err != nil {
		return err
	}
	file := filepath.Join(to, "qjs.go")
	// -unsafe is for speed (2 to 3.5 times); the bounds checks stay.
	cmd := exec.Command("go", "tool", "-modfile="+filepath.Join("gen", "wasm2go.mod"), "wasm2go", "-unsafe", "-embed", "-pkg", "qjs", "-o", absolute(file), absolute(in))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOOS=", "GOARCH=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("wasm2go: %w", err)
	}
	if err := os.Remove(in); err != nil {
		return err
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	adapted, err := adapt(string(src))
	if err != nil {
		return err
	}
	return os.WriteFile(file, adapted, 0o644)
}

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}
