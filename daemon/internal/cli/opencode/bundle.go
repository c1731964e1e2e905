// Package opencode installs tenon's plugin into opencode's configuration and
// takes it out again, leaving every other byte of the files as it is.
package opencode

import (
	"embed"

	"tenon/daemon/internal/fault"
)

//go:embed all:bundle
var bundle embed.FS

// Bundle is the plugin's one file. A binary that was built without the plugin
// (go build instead of make build) has none, which is an EngineUnavailable.
func Bundle() ([]byte, error) {
	raw, err := bundle.ReadFile("bundle/opencode-v1.js")
	if err != nil {
		return nil, fault.New(fault.EngineUnavailable, "this tenon was built without the opencode plugin").
			WithHint("build it with: make build")
	}
	return raw, nil
}
