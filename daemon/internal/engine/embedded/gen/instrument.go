package main

import (
	"errors"
	"fmt"
	"slices"
)

// module is what instrument reads of a WebAssembly module.
type module struct {
	imports   int
	interrupt int // index of the import env.host_interrupt, or -1
	globals   uint64
	bodies    [][]byte
}

// instrument rewrites the code section of a module:
//
//   - at every loop header stands a countdown; at zero it calls host_interrupt
//     and traps when bit 1 of the answer is set. So every loop of the engine,
//     also in its C built-ins, can be stopped.
//   - around every direct call inside a recursion whose functions never move
//     the shadow stack pointer (global 0) stands a depth count with a trap:
//     QuickJS's own stack check compares that pointer and so cannot see them.
//
// Function indices, types and data are unchanged; two globals are added.
func instrument(wasm []byte, fuel, depth int64) (out []byte, c counts, err error) {
	defer func() {
		if r := recover(); r != nil { // an index beyond the input, or an unknown opcode
			err = fmt.Errorf("instrument: %v", r)
		}
	}()
	if len(wasm) < 8 || string(wasm[:4]) != "\x00asm" {
		return nil, c, errors.New("instrument: not a WebAssembly module")
	}
	wasm = slices.Clip(wasm) // so that an index beyond its end is found
	m := read(wasm)
	if m.interrupt < 0 {
		return nil, c, errors.New("instrument: no import host_interrupt")
	}
	c.Imports, c.Functions = m.imports, len(m.bodies)
	r := rewriter{module: m, cycle: blindRecursions(m.bodies, m.imports), counts: &c}
	r.makeSnippets(fuel, depth)

	out = append(out, wasm[:8]...)
	sections(wasm, func(id byte, body []byte) {
		switch id {
		case globalSection:
			n, rest := readUint(body, 0)
			body = slices.Concat(putUint(nil, n+2), body[rest:],
				[]byte{typeI32, mutable, opI32Const}, putInt(nil, fuel), []byte{opEnd},
				[]byte{typeI32, mutable, opI32Const, 0, opEnd})
		case codeSection:
			body = putUint(nil, uint64(len(m.bodies)))
			for i := range m.bodies {
				f := r.function(i)
				body = append(putUint(body, uint64(len(f))), f...)
			}
		}
		out = append(putUint(append(out, id), uint64(len(body))), body...)
	})
	return out, c, nil
}

func read(wasm []byte) module {
	m := module{interrupt: -1}
	sections(wasm, func(id byte, b []byte) {
		switch id {
		case importSection:
			n, p := readUint(b, 0)
			for range n {
				var size uint64
				size, p = readUint(b, p) // module name
				p += int(size)
				size, p = readUint(b, p) // field name
				name := string(b[p : p+int(size)])
				p += int(size)
				if b[p] != 0 {
					panic("an import that is not a function")
				}
				_, p = readUint(b, p+1)
				if name == "host_interrupt" {
					m.interrupt = m.imports
				}
				m.imports++
			}
		case globalSection:
			m.globals, _ = readUint(b, 0)
		case codeSection:
			n, p := readUint(b, 0)
			for range n {
				size, start := readUint(b, p)
				p = start + int(size)
				m.bodies = append(m.bodies, b[start:p])
			}
		}
	})
	return m
}

// rewriter holds what is put into function bodies.
type rewriter struct {
	module
	cycle              []int
	counts             *counts
	cycles             map[int]bool
	poll, enter, leave []byte
}

func (r *rewriter) makeSnippets(fuel, depth int64) {
	fuelVar, depthVar := putUint(nil, r.globals), putUint(nil, r.globals+1)
	step := func(global []byte, op byte) []byte { // global = global op 1
		return slices.Concat([]byte{opGlobalGet}, global, []byte{opI32Const, 1, op, opGlobalSet}, global)
	}
	trapIf := []byte{opIf, noResult, opUnreachable, opEnd}
	r.poll = slices.Concat(step(fuelVar, opI32Sub),
		[]byte{opGlobalGet}, fuelVar, []byte{opI32Eqz, opIf, noResult, opCall}, putUint(nil, uint64(r.interrupt)),
		[]byte{opI32Const, 2, opI32And}, trapIf,
		[]byte{opI32Const}, putInt(nil, fuel), []byte{opGlobalSet}, fuelVar, []byte{opEnd})
	r.enter = slices.Concat(step(depthVar, opI32Add),
		[]byte{opGlobalGet}, depthVar, []byte{opI32Const}, putInt(nil, depth), []byte{opI32GtS}, trapIf)
	r.leave = step(depthVar, opI32Sub)
	r.cycles = map[int]bool{}
}

// function returns the body of function i with polls and guards.
func (r *rewriter) function(i int) []byte {
	body := r.bodies[i]
	var out []byte
	last := 0
	instructions(body, func(in instruction) {
		switch {
		case in.op == opLoop:
			out = append(append(out, body[last:in.to]...), r.poll...)
			r.counts.Loops++
		case in.op == opCall && r.blind(i, in.index):
			out = append(append(out, body[last:in.from]...), r.enter...)
			out = append(append(out, body[in.from:in.to]...), r.leave...)
			r.counts.Guarded++
			if !r.cycles[r.cycle[i]] {
				r.cycles[r.cycle[i]] = true
				r.counts.Cycles++
			}
		default:
			return
		}
		last = in.to
	})
	return append(out, body[last:]...)
}

// blind reports whether a call from function i stays inside its blind recursion.
func (r *rewriter) blind(i int, callee uint64) bool {
	t := int(callee) - r.imports
	return r.cycle[i] > 0 && t >= 0 && r.cycle[t] == r.cycle[i]
}
