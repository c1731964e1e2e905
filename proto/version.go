// Package proto holds the messages that cross a process boundary: bridge,
// REST, event frames, results and problem documents. The JSON Schemas in
// proto/schema/ are the one source; the Go types here and the TypeScript types
// beside them are checked against the schemas and against proto/fixtures/.
package proto

// Protocol is the number both sides of a handshake compare. It changes when a
// message changes in a way that an older peer would misread.
const Protocol = 1

// Build says which program is speaking.
type Build struct {
	Version string `json:"version"` // semantic version, or "devel"
	Commit  string `json:"commit"`  // revision of the source, or empty
	Go      string `json:"go,omitempty"`
	ID      string `json:"id,omitempty"` // digest of the executable, to tell two builds of one version apart
}
