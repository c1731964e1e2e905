// Package house holds no code of its own: its tests police the repository, so
// that what docs/architecture.md says of the rooms stays true.
package house
