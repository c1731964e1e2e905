package cli

import (
	"strings"

	"tenon/proto"
)

// sandboxes says what deno, bun and node can be held to on this machine.
func (d *doctor) sandboxes(s *proto.Sandbox) {
	if s == nil { // an older daemon
		return
	}
	if s.Reason != "" {
		d.say("note", "sandbox", "embedded is always confined; --sandbox full confines nothing",
			"deno, bun and node run in %s only: %s", strings.Join(s.Modes, ", "), s.Reason)
	} else {
		d.say("ok", "sandbox", "", "deno, bun and node can be held to %s (Landlock version %d)", strings.Join(s.Modes, ", "), s.Landlock)
	}
	for _, gap := range s.Gaps {
		d.say("note", "sandbox", "", "not held back on this kernel: %s", gap)
	}
}
