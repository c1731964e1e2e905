package fault

// OnlyTheUser refuses what an agent may not do, in the same words wherever it is
// asked for: PermissionDenied with who may. session says that the caller acts in a
// session; else it is inside an agent's shell and has proven none. action follows
// "may not".
func OnlyTheUser(session bool, action string) *Error {
	who := "a caller inside an agent's shell"
	if session {
		who = "a session"
	}
	return New(PermissionDenied, "%s may not %s", who, action).
		WithHint("only the user can, from a terminal outside of the agent")
}
