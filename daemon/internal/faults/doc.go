// Package faults holds the tests that break things around the real binary: every
// kind of process killed at every step of a call, disks that are full, files that
// are damaged, limits that are reached, peers that are slow or silent. After each,
// the same is asked: nothing hangs past its bound, nothing is left, every result
// that somebody was given is in history exactly once, and a bystander noticed
// nothing. Everything here is test code; docs/reliability.md has the numbers.
package faults
