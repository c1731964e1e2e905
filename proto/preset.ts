/**
 * The two permission settings and the names for combinations of them.
 * Twin of preset.go; both are held against schema/preset.json by their tests.
 */

/** Preset is a named combination of the two dials. */
export interface Preset {
  name: string
  sandbox: string
  approval: string
  /** of the user's configuration */
  own: boolean
}

/** Presets is GET /v1/presets: the dials in effect, and the names for combinations. */
export interface Presets {
  /** derived from the dials: a preset, or custom */
  current: string
  sandbox: string
  approval: string
  /** the looser one of the file, until it is trusted */
  waiting?: string
  /** that a switch edits */
  file: string
  presets: Preset[]
  /** newest first; only for a user */
  switches: PresetSwitch[]
}

/** PresetSwitch is one change of the dials. */
export interface PresetSwitch {
  /** RFC 3339 */
  time: string
  /** user, or file for an edit by hand */
  actor: string
  detail: string
}

/** PresetUse is POST /v1/presets: writes a preset's dials into the user's file. */
export interface PresetUse {
  name: string
}

/** PresetUsed answers PresetUse. */
export interface PresetUsed {
  changed: boolean
  /** the file as it was */
  backup?: string
  presets: Presets
}
