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
		return e.WithHint("use the newer tenon: the other side is build %s", FormatBuild(their))
	}
	e.Message += ": the other side is older"
	return e.WithHint("end the older daemon with its own program or with: tenon daemon stop; the next command starts this build")
}
