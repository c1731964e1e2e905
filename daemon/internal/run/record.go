package run

import "tenon/daemon/internal/history"

// start is the run as history keeps it from its begin.
func (r *Run) start() history.Run {
	return history.Run{
		ID: r.ID, Session: r.spec.Session.ID, Root: r.spec.Session.Root(), Surface: r.spec.Surface, Engine: r.engine,
		Cwd: r.cwd(), Code: r.spec.Exec.Code, Options: r.options(), Started: r.began,
	}
}
