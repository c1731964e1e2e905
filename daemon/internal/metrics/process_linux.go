package metrics

import (
	"bytes"
	"os"
	"strconv"
)

// OpenFiles counts the file descriptors of this process; ok is whether the
// system tells. The one that looks is not counted.
func OpenFiles() (n int, ok bool) { return entries("/proc/self/fd") }

// residentBytes is the memory of this process that is in RAM.
func residentBytes() (int64, bool) { return pages(1) }

// virtualBytes is the address space of this process.
func virtualBytes() (int64, bool) { return pages(0) }

// pages reads a field of /proc/self/statm, in bytes.
func pages(field int) (int64, bool) {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(raw)
	if len(fields) <= field {
		return 0, false
	}
	n, err := strconv.ParseInt(string(fields[field]), 10, 64)
	return n * int64(os.Getpagesize()), err == nil
}
