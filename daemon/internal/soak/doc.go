// Package soak keeps the product under load for minutes, with faults, and checks
// all the while that nothing is lost, made twice, mixed up or left behind: "make
// soak". Everything here is test code. docs/reliability.md has what was measured.
package soak
