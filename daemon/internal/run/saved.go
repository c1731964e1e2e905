package run

import "tenon/daemon/internal/script"

// source is the program as the compiler takes it.
func (r *Run) source() script.Source {
	return script.Source{Text: r.spec.Exec.Code, Export: r.spec.Exec.Export}
}
