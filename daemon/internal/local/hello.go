package local

import (
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Mismatch is the failure of a handshake between two protocol numbers: it
// names both sides, says which is older and what to do about it. mine is the
// side that speaks.
func Mismatch(mine int, build proto.Build, theirs int, their proto.Build) *fault.Error {
	e := fault.New(fault.ProtocolMismatch, "protocol %d (%s) cannot speak to protocol %d (%s)",
		mine, FormatBuild(build), theirs, FormatBuild(their))
	if mine < theirs {
		e.Message += ": this side is older"
		return e.WithHint("update this tenon to the other side's build, %s, or bring the other side down to this one: tenon daemon restart", FormatBuild(their))
	}
	e.Message += ": the other side is older"
	return e.WithHint("bring the other side up to this build: tenon daemon restart")
}
