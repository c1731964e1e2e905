package peer

import "tenon/daemon/internal/fault"

// Action is something not every caller may do.
type Action string

// The actions that are checked.
const (
	Approve Action = "approve"        // approve and deny asks
	Trust   Action = "trust"          // trust a project or a changed config
	Auth    Action = "auth"           // log in to a server
	Install Action = "install"        // change configurations, tenon's own or a host's
	Presets Action = "presets"        // change presets
	Stop    Action = "stop"           // stop or restart the daemon
	Restart Action = "restart-server" // restart a server that others may use
	Hello   Action = "hello"          // open a bridge
	Release Action = "release-lease"  // end a lease
	EndRun  Action = "cancel-run"     // cancel a run
	ReadRun Action = "read-run"       // see a run's program and what it gave
	// SaveScript is to add, replace and keep saved scripts anywhere; what a session
	// may do of it hangs on its configuration.
	SaveScript Action = "save-script"
	EndSess    Action = "end-session" // end a session
)

// actions says of each action how it is called in messages, and whether a
// session may do it to what is its own.
var actions = map[Action]struct {
	text string
	own  bool
}{
	Approve:    {"answer permission questions", false},
	Trust:      {"trust a configuration", false},
	Auth:       {"log in to servers", false},
	Install:    {"change configurations", false},
	Presets:    {"change presets", false},
	Stop:       {"stop or restart the daemon", false},
	Restart:    {"restart servers", false},
	Hello:      {"open a bridge", false},
	Release:    {"release leases", true},
	EndRun:     {"cancel runs", true},
	ReadRun:    {"read runs", true},
	SaveScript: {"save scripts", false},
	EndSess:    {"end sessions", true},
}

// May reports nil, or PermissionDenied with what to do instead. Only a user
// may do any of the actions; a process that holds a bridge may open more.
func (c *Caller) May(a Action) error {
	act, known := actions[a]
	switch {
	case known && c.Class == User:
		return nil
	case a == Hello && c.Host:
		return nil
	}
	text := act.text
	if !known {
		text = string(a)
	}
	e := fault.OnlyTheUser(c.Class == Agent, text)
	if c.Class != Agent && c.Why != "" {
		e.Message += ": " + c.Why
	}
	return e
}

// MayTouch is May for a lease, run or session that belongs to a session: a
// session may touch what is its own or its children's. An id that belongs to
// nobody in particular (a lease shared by all) is given as "".
func (c *Caller) MayTouch(a Action, sessionID string) error {
	if c.Class == Agent && actions[a].own && sessionID != "" && c.Session != nil && c.Session.Contains(sessionID) {
		return nil
	}
	err := c.May(a)
	if err != nil && c.Class == Agent && actions[a].own {
		return fault.OnlyTheUser(true, actions[a].text+" of others")
	}
	return err
}
