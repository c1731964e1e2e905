package proto

// Preset is a named combination of the two dials.
type Preset struct {
	Name     string `json:"name"`
	Sandbox  string `json:"sandbox"`
	Approval string `json:"approval"`
	Own      bool   `json:"own"` // of the user's configuration
}

// Presets is GET /v1/presets: the dials in effect, and the names for combinations.
type Presets struct {
	Current  string         `json:"current"` // derived from the dials: a preset, or custom
	Sandbox  string         `json:"sandbox"`
	Approval string         `json:"approval"`
	Waiting  string         `json:"waiting,omitempty"` // the looser one of the file, until it is trusted
	File     string         `json:"file"`              // that a switch edits
	Presets  []Preset       `json:"presets"`
	Switches []PresetSwitch `json:"switches"` // newest first; only for a user
}

// PresetSwitch is one change of the dials.
type PresetSwitch struct {
	Time   string `json:"time"`  // RFC 3339
	Actor  string `json:"actor"` // user, or file for an edit by hand
	Detail string `json:"detail"`
}

// PresetUse is POST /v1/presets: writes a preset's dials into the user's file.
type PresetUse struct {
	Name string `json:"name"`
}

// PresetUsed answers PresetUse.
type PresetUsed struct {
	Changed bool    `json:"changed"`
	Backup  string  `json:"backup,omitempty"` // the file as it was
	Presets Presets `json:"presets"`
}
