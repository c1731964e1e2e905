package consent

import "tenon/daemon/internal/fault"

// What came of a question.
const (
	Approved   = "approved"
	Always     = "always"     // approved, and remembered
	Refused    = "refused"    // by a human, or by the host's own rules
	Unanswered = "unanswered" // nobody was there, or nobody answered in time
	Withdrawn  = "withdrawn"  // the call or its session ended meanwhile
)

// outcome is what came of a question that is settled.
func (p *asked) outcome() string {
	switch kind := fault.KindOf(p.err); {
	case p.err == nil && p.answer.Always:
		return Always
	case p.err == nil:
		return Approved
	case kind == fault.PermissionDenied:
		return Refused
	case kind == fault.ApprovalRequired:
		return Unanswered
	}
	return Withdrawn
}
