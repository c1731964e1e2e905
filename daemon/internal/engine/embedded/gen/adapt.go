package main

import (
	"fmt"
	"go/format"
	"regexp"
	"strings"
)

var (
	initLine   = regexp.MustCompile(`(?m)^\tmemory_init\(m\.memory, .*\n`)
	makeLine   = regexp.MustCompile(`(?m)^\tm\.memory = make\(\[\]byte, 0x[0-9a-f]+\)\n`)
	globalLine = regexp.MustCompile(`(?m)^\tm\.g\d+ = i32\(.*\)$`)
)

// adapt changes wasm2go's output in three places:
//
//   - New leaves the memory to the caller: InitMemory writes the data segments
//     once, Reset gives the module a memory and its globals their first values;
//   - memory.grow is capped by the capacity of the caller's slice, so that it
//     never reallocates and a realm can never have more than it was given.
func adapt(src string) ([]byte, error) {
	var init string
	var err error
	if src, init, err = cut(src, initLine); err != nil {
		return nil, err
	}
	if src, _, err = cut(src, makeLine); err != nil {
		return nil, err
	}
	constructor, _, ok := strings.Cut(src, "\treturn m\n")
	if !ok {
		return nil, fmt.Errorf("adapt: no constructor found")
	}
	globals := globalLine.FindAllString(constructor, -1)
	if len(globals) != globalCount {
		return nil, fmt.Errorf("adapt: %d globals, want %d: %q", len(globals), globalCount, globals)
	}
	const grow, capped = ", maxMem))", ", int64(cap(m.memory)>>16)))"
	if n := strings.Count(src, grow); n != growSites {
		return nil, fmt.Errorf("adapt: %d memory.grow sites, want %d", n, growSites)
	}
	src = strings.ReplaceAll(src, grow, capped)
	src += "\n// InitMemory writes the data segments.\nfunc (m *Module) InitMemory() {\n" + init + "}\n" +
		"\n// Reset makes mem the memory and gives the globals their first values.\n" +
		"func (m *Module) Reset(mem []byte) {\n\tm.memory = mem\n" + strings.Join(globals, "\n") + "\n}\n"
	src = strings.Replace(src, "\npackage qjs\n", "\n// Package qjs is QuickJS-NG, compiled to WebAssembly and translated to Go.\npackage qjs\n", 1)
	return format.Source([]byte(src))
}

// cut removes the one match of re from s.
func cut(s string, re *regexp.Regexp) (rest, match string, err error) {
	at := re.FindAllStringIndex(s, -1)
	if len(at) != 1 {
		return "", "", fmt.Errorf("adapt: %d matches of %v, want 1", len(at), re)
	}
	return s[:at[0][0]] + s[at[0][1]:], s[at[0][0]:at[0][1]], nil
}
