package main

import "fmt"

// The identifiers of the sections that instrument reads or rewrites.
const (
	importSection = 2
	globalSection = 6
	codeSection   = 10
)

// The instructions that instrument looks at or writes.
const (
	opUnreachable = 0x00
	opLoop        = 0x03
	opIf          = 0x04
	opEnd         = 0x0b
	opCall        = 0x10
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opI32Const    = 0x41
	opI32Eqz      = 0x45
	opI32GtS      = 0x4a
	opI32Add      = 0x6a
	opI32Sub      = 0x6b
	opI32And      = 0x71
	noResult      = 0x40 // block type
	typeI32       = 0x7f
	mutable       = 0x01
)

// sections calls f for every section of a module.
func sections(module []byte, f func(id byte, body []byte)) {
	for p := 8; p < len(module); {
		size, start := readUint(module, p+1)
		f(module[p], module[start:start+int(size)])
		p = start + int(size)
	}
}

// instruction is one instruction of a function body: its extent, and its first
// immediate operand where that is an index.
type instruction struct {
	op       byte
	from, to int
	index    uint64
}

// instructions calls f for each instruction of a function body. It panics on an
// opcode it does not know, since it could not tell its length.
func instructions(body []byte, f func(instruction)) {
	n, p := readUint(body, 0)
	for range n { // local declarations: count, type
		_, p = readUint(body, p)
		p++
	}
	skip := func(k int) {
		for range k {
			_, p = readUint(body, p)
		}
	}
	for p < len(body) {
		op, from := body[p], p
		var imm uint64
		p++
		switch {
		case op >= 0x02 && op <= 0x04, op == 0xd0, op == 0x41, op == 0x42: // block types and signed constants skip like unsigned ones
			skip(1)
		case op == 0x0c, op == 0x0d, op == opCall, op >= 0x20 && op <= 0x26, op == 0xd2: // branches, variables, tables
			imm, p = readUint(body, p)
		case op == 0x0e: // br_table
			imm, p = readUint(body, p)
			skip(int(imm) + 1)
		case op == 0x11, op >= 0x28 && op <= 0x3e: // call_indirect, loads and stores
			skip(2)
		case op == 0x1c: // select with types
			imm, p = readUint(body, p)
			p += int(imm)
		case op == 0x3f, op == 0x40: // memory.size, memory.grow
			p++
		case op == 0x43:
			p += 4
		case op == 0x44:
			p += 8
		case op == 0xfc:
			imm, p = readUint(body, p)
			switch {
			case imm <= 7:
			case imm == 9, imm == 11, imm == 13, imm >= 15 && imm <= 17:
				skip(1)
			case imm <= 14:
				skip(2)
			default:
				panic(fmt.Sprintf("opcode 0xfc %d", imm))
			}
		case op <= 0x01, op == 0x05, op == opEnd, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4, op == 0xd1:
		default:
			panic(fmt.Sprintf("opcode %#x", op))
		}
		f(instruction{op: op, from: from, to: p, index: imm})
	}
}

// readUint reads an unsigned LEB128 number at p and returns what follows it.
func readUint(b []byte, p int) (v uint64, next int) {
	for shift := uint(0); ; shift += 7 {
		c := b[p]
		p++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, p
		}
	}
}

// putUint appends v as unsigned LEB128.
func putUint(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// putInt appends v as signed LEB128.
func putInt(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
