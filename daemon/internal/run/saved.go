package run

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/policy"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/script"
	"tenon/daemon/internal/shelf"
)

// source is the program as the compiler takes it.
func (r *Run) source() script.Source {
	s := script.Source{Text: r.spec.Exec.Code, Export: r.spec.Exec.Export}
	if c := r.spec.saved; c != nil && c.Modules != nil {
		s.Path, s.Modules = c.Modules.Path, c.Modules.Files
	}
	return s
}

// prepare reads the saved script that a request names, if it names one, and
// fills in what its header says and the request does not. The error is a
// UsageError, or NotFound for a script that is not there.
func (m *Manager) prepare(spec *Spec) error {
	x := &spec.Exec
	switch {
	case spec.saved != nil:
		return nil
	case x.Script == "":
		if len(x.Params) > 0 {
			return fault.New(fault.UsageError, "params are those of a saved script").WithHint("give a program its input as input")
		}
		if len(x.Input) == 0 && x.Stdin != nil {
			x.Input = piped(*x.Stdin)
		}
		return nil
	case x.Code != "":
		return fault.New(fault.UsageError, "code and script exclude each other")
	case m.o.Shelf == nil:
		return fault.New(fault.NotFound, "there is no saved script %q", clip(x.Script, maxName))
	}
	c, err := m.o.Shelf.Load(dirOf(spec), x.Script)
	if err != nil {
		return err
	}
	if x.Input, err = inputOf(c, spec); err != nil {
		return err
	}
	spec.saved = c
	x.Script, x.Code, x.Name = c.Name, c.Text, filepath.Base(c.File)
	if x.Engine == "" {
		x.Engine = c.Engine
	}
	if limit := spec.View.Script.Timeout; x.TimeoutMS == nil && c.Timeout > 0 && (limit == 0 || c.Timeout < limit) {
		ms := c.Timeout.Milliseconds()
		x.TimeoutMS = &ms
	}
	if x.Sandbox == "" {
		x.Sandbox = narrower(c.Sandbox, spec.View, "")
	}
	return nil
}

// narrower is the sandbox mode of a header where it is within what is allowed and
// within the mode of the program that runs the script, empty for none; else none:
// a script never widens anything.
func narrower(asked string, view *config.View, within string) string {
	dial, _ := policy.Dials(view.Permissions)
	widest, err := sandbox.ParseMode(dial)
	mode, bad := sandbox.ParseMode(asked)
	if asked == "" || err != nil || bad != nil || mode.Wider(widest) {
		return ""
	}
	if own, err := sandbox.ParseMode(within); within != "" && (err != nil || mode.Wider(own)) {
		return ""
	}
	return asked
}

// inputOf makes the input of a saved script. What was piped in is its input
// where none was given, but not for a script with parameters unless it is an
// object: it reads stdin then.
func inputOf(c *shelf.Code, spec *Spec) (json.RawMessage, error) {
	x := spec.Exec
	input := x.Input
	if len(input) == 0 && x.Stdin != nil {
		input = piped(*x.Stdin)
		if len(c.Params) > 0 && !strings.HasPrefix(strings.TrimSpace(string(input)), "{") {
			input = nil
		}
	}
	return c.Input(x.Params, input)
}

// piped is a text as an input: as JSON when it is JSON, else as a string.
func piped(text string) json.RawMessage {
	switch raw := json.RawMessage(text); {
	case text == "":
		return nil
	case json.Valid(raw):
		return raw
	}
	return quoted(text)
}

// dirOf is where a run acts; see Run.cwd.
func dirOf(spec *Spec) string {
	switch {
	case spec.Exec.Cwd != "":
		return spec.Exec.Cwd
	case spec.Caller != nil && spec.Caller.Dir != "":
		return spec.Caller.Dir
	case spec.Session != nil:
		return spec.Session.Dir()
	}
	return ""
}

// maxNested is how deep scripts may run each other; docs/scripts.md prints it.
const maxNested = 8

const deepWords = "scripts run each other more than "

// tooDeep is the failure of a script beyond that.
func tooDeep(chain []string) *fault.Error {
	e := fault.New(fault.ScriptError, deepWords+"%d deep: %s", maxNested, strings.Join(chain, " > "))
	last := chain[len(chain)-1]
	if slices.Index(chain, last) < len(chain)-1 {
		return e.WithHint("%s runs itself again: give it a condition under which it does not", last)
	}
	return e.WithHint("import functions of other scripts in place of running them: import { f } from \"./lib\"")
}
