package policy

import (
	"slices"

	"tenon/daemon/internal/config"
)

// The values of the approval dial.
const (
	AskApproval = "ask"   // what a rule or the host says ask to is asked
	Never       = "never" // nobody is ever asked by the daemon: its ask is allow
)

// Custom is the name of a combination that no preset has. It is derived, never
// a setting to choose.
const Custom = config.CustomPreset

// builtin are the presets that need no configuration, the default first.
var builtin = config.BuiltinPresets()

// Presets lists the known combinations: the built-in ones, then the user's own.
func Presets(p config.Permissions) []config.Preset { return slices.Concat(builtin, p.Presets) }

// Dials gives the two settings in effect: a dial that is written wins over the
// preset beside it; an unknown preset counts as the default one.
func Dials(p config.Permissions) (sandbox, approval string) {
	base := builtin[0]
	for _, known := range [2][]config.Preset{builtin, p.Presets} { // every call comes by: nothing is allocated
		for i := range known {
			if known[i].Name == p.Preset {
				base = known[i]
			}
		}
	}
	sandbox, approval = base.Sandbox, base.Approval
	if p.Sandbox != "" {
		sandbox = p.Sandbox
	}
	if p.Approval != "" {
		approval = p.Approval
	}
	return sandbox, approval
}

// Derive names the preset whose dials are in effect, or Custom.
func Derive(p config.Permissions) string {
	sandbox, approval := Dials(p)
	return Named(p, sandbox, approval)
}

// Named is the preset that has these dials, a built-in one before one of the
// user's own, or Custom.
func Named(p config.Permissions, sandbox, approval string) string {
	for _, known := range [2][]config.Preset{builtin, p.Presets} {
		for i := range known {
			if known[i].Sandbox == sandbox && known[i].Approval == approval {
				return known[i].Name
			}
		}
	}
	return Custom
}
