// Package embedded is the engine that needs nothing installed: QuickJS-NG inside
// the daemon's process, confined in a byte slice, a fresh realm for every run.
package embedded

//go:generate go run ./gen
