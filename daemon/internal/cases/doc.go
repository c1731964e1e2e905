// Package cases runs the text archives of daemon/testdata/cases against the
// real binary, built with the race detector: one archive per public bug report
// that tenon must survive. Everything here is test code; the manual of the
// archives' commands is daemon/testdata/cases/README.md.
package cases
