package consent

import (
	"time"

	"tenon/daemon/internal/fault"
)

// nobody is the end of a question that nobody could see.
func nobody(q Question) *fault.Error {
	return fault.New(fault.ApprovalRequired, "%s needs approval, and nobody is there to give it (%s)", q.Key, q.Reason).
		At(q.Server, q.Tool).
		WithHint("allow it with a permission rule for %q, or run it where somebody can answer (tenon approvals --watch counts)", q.Key)
}

// late is the end of a question that nobody answered.
func late(q Question, limit time.Duration, human bool) *fault.Error {
	if !human {
		return nobody(q)
	}
	return fault.New(fault.ApprovalRequired, "%s needs approval, and nobody answered within %s (%s)", q.Key, limit, q.Reason).
		At(q.Server, q.Tool).
		WithHint("answer sooner (tenon approvals), raise permissions.askTimeout, or add a permission rule for %q", q.Key)
}

// refused is a no. The host's rules may say it without asking anybody.
func refused(q Question, feedback string, byRule bool) *fault.Error {
	e := fault.New(fault.PermissionDenied, "%s was refused by the user", q.Key).At(q.Server, q.Tool).
		WithHint("do not try the same call again; ask the user what to do instead")
	if byRule {
		e = fault.New(fault.PermissionDenied, "%s is denied by a rule of the host", q.Key).At(q.Server, q.Tool).
			WithHint("the host's permission rules decide this; the user can change them")
	}
	if feedback != "" {
		e.Feedback = feedback
		e.Message += ": " + feedback
	}
	return e
}

func gone(id string) *fault.Error {
	return fault.New(fault.NotFound, "question %s is not pending", id).
		WithHint("it may have been answered, withdrawn or expired; tenon approvals lists what is pending")
}
