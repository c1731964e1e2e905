package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// assemble makes a module with the import host_interrupt and one function for
// each body: no locals, then the instructions.
func assemble(bodies ...[]byte) []byte {
	section := func(id byte, content []byte) []byte {
		return append(putUint([]byte{id}, uint64(len(content))), content...)
	}
	imports := append([]byte{1, 3}, "env"...)
	imports = append(append(imports, 14), "host_interrupt"...)
	imports = append(imports, 0, 0)
	code := putUint(nil, uint64(len(bodies)))
	for _, b := range bodies {
		b = append(append([]byte{0}, b...), opEnd)
		code = append(putUint(code, uint64(len(b))), b...)
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = append(out, section(importSection, imports)...)
	out = append(out, section(globalSection, []byte{1, typeI32, mutable, opI32Const, 0, opEnd})...)
	return append(out, section(codeSection, code)...)
}

func TestEveryLoopIsPolledAndEveryBlindRecursionGuarded(t *testing.T) {
	loop := []byte{opLoop, noResult, opLoop, noResult, opEnd, opEnd}
	callSelf := func(i byte) []byte { return []byte{opCall, i} }
	movesStack := append([]byte{opI32Const, 0, opGlobalSet, 0}, callSelf(3)...)
	out, c, err := instrument(assemble(loop, callSelf(2), movesStack, []byte{opCall, 5}, []byte{opCall, 4}), 10, 20)
	if err != nil {
		t.Fatal(err)
	}
	// Function 0 is the import: 1 loops, 2 calls itself, 3 calls itself but moves
	// the stack pointer, 4 and 5 call each other.
	if want := (counts{Imports: 1, Functions: 5, Loops: 2, Guarded: 3, Cycles: 2}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	m := read(out)
	if m.globals != 3 || len(m.bodies) != 5 {
		t.Errorf("%d globals, %d bodies", m.globals, len(m.bodies))
	}
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	for name, in := range map[string][]byte{
		"no module":      []byte("hello there"),
		"empty":          nil,
		"unknown opcode": assemble([]byte{0xfd, 0x01}),
		"cut off":        assemble([]byte{opCall, 1})[:len(assemble([]byte{opCall, 1}))-3],
	} {
		if _, _, err := instrument(in, 1, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := adapt("package qjs\n\treturn m\n"); err == nil || !strings.Contains(err.Error(), "matches") {
		t.Errorf("foreign source: %v", err)
	}
}

func TestOutputIsFreshOnlyUntouched(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "qjs.go")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("package qjs")
	if fresh(dir, "inputs") {
		t.Error("fresh without a stamp")
	}
	if err := writeStamp(dir, "inputs"); err != nil {
		t.Fatal(err)
	}
	if !fresh(dir, "inputs") || fresh(dir, "other inputs") {
		t.Error("the inputs do not decide")
	}
	write("package qjs // edited")
	if fresh(dir, "inputs") {
		t.Error("fresh although edited")
	}
}

func TestNumbersRoundTrip(t *testing.T) {
	for _, v := range []uint64{0, 1, 127, 128, 16384, 1 << 40} {
		if got, n := readUint(putUint(nil, v), 0); got != v || n != len(putUint(nil, v)) {
			t.Errorf("%d: %d, %d bytes", v, got, n)
		}
	}
	for v, want := range map[int64]string{0: "\x00", -1: "\x7f", 63: "\x3f", 64: "\xc0\x00", -64: "\x40", 100000: "\xa0\x8d\x06"} {
		if got := string(putInt(nil, v)); got != want {
			t.Errorf("%d: %x, want %x", v, got, want)
		}
	}
}
