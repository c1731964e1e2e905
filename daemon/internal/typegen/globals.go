package typegen

import _ "embed"

//go:embed globals.d.ts
var globals string

// Globals declares what tenon gives every program besides tools and what the
// language environment has (timers, console, URL …): search, emit, session and
// their like. Declare with Checker needs it.
func Globals() string { return globals }
