package main

const (
	// fuel is how many loop iterations pass between two polls of the host:
	// 0.2 to 1 ms of work, at a cost of 3 to 10 percent.
	fuel = 100_000
	// depth is how many calls may be open inside recursions that QuickJS's own
	// stack check cannot see. In Go they would reach the 1 GB limit, which ends
	// the process; 100,000 of them stay below 25 MB.
	depth = 100_000
)

// counts are what instrument found in a module.
type counts struct {
	Imports   int // ways in and out; a new one must be reviewed
	Functions int
	Loops     int // that got a poll
	Guarded   int // calls that got a depth guard
	Cycles    int // blind recursions they belong to
}

// expected are the counts of quickjs-wasi 3.7.0, whose wasm was reviewed. Two
// more numbers are fixed in adapt: memory.grow sites and globals.
var expected = counts{Imports: 12, Functions: 1704, Loops: 1278, Guarded: 23, Cycles: 12}

const (
	wasmSHA256  = "c0bd8f296e18cf074969f6401b9ecb72609a1323818ec2b9bf7a8f8d740d1363"
	growSites   = 2
	globalCount = 3 // stack pointer, fuel, depth
)
