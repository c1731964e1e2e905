package policy

import "tenon/daemon/internal/config"

// The values of the approval dial.
const (
	AskApproval = "ask"   // what a rule or the host says ask to is asked
	Never       = "never" // nobody is ever asked by the daemon: its ask is allow
)

// Custom is the name of a combination that no preset has. It is derived, never
// a setting to choose.
const Custom = "custom"

// DefaultPreset is in effect where nothing is set.
const DefaultPreset = "request"

// Preset is a named combination of the two dials.
type Preset struct {
	Name     string
	Sandbox  string
	Approval string
}

// presets is the table of docs/permissions.md.
var presets = []Preset{
	{Name: "request", Sandbox: "workspace-write", Approval: AskApproval},
	{Name: "yolo", Sandbox: "full", Approval: Never},
}

// Presets lists the known combinations.
func Presets() []Preset { return append([]Preset(nil), presets...) }

// Dials gives the two settings in effect: a dial that is written wins over the
// preset beside it; an unknown preset counts as the default one.
func Dials(p config.Permissions) (sandbox, approval string) {
	base := presets[0]
	for _, known := range presets {
		if known.Name == p.Preset {
			base = known
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
	for _, known := range presets {
		if known.Sandbox == sandbox && known.Approval == approval {
			return known.Name
		}
	}
	return Custom
}
