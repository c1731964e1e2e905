package config

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"tenon/daemon/internal/fault"
)

// kindPlaces is what of the surroundings a server of a kind needs to know.
type kindPlaces struct {
	executable string   // our own
	hidden     []string // what no strict mode may reach
	dir        string   // see KindSpec.Dir
}

// serve makes d the definition of our own binary, serving what s says: the spec
// goes in by a variable of its environment.
func (v *View) serve(s *Server, d *Definition, x *expander) error {
	k, err := x.kind(s)
	if err != nil {
		return err
	}
	d.Command[0] = v.places.executable
	k.Hidden, k.Dir = v.places.hidden, v.places.dir
	switch {
	case s.Origin.Project, s.Cwd != "", s.Scope == Repo, s.Scope == Directory:
		k.Workspace = d.Cwd
	default:
		// The user's own entry stands in the home directory, which holds much that
		// a confined process has no business with.
	}
	if k.Module != nil {
		k.Module.Runtime = v.Script.Runtimes[k.Module.Engine]
	}
	text, err := json.Marshal(k)
	if err != nil {
		return fault.New(fault.ConfigError, "server %s: %w", s.Name, err).At(s.Name, "")
	}
	if len(text) > maxKindSpec {
		return fault.New(fault.ConfigError, "server %s: its entry has %d bytes, more than %d", s.Name, len(text), maxKindSpec).
			WithHint("split it into two servers").At(s.Name, "")
	}
	if d.Env == nil {
		d.Env = map[string]string{}
	}
	d.Env[KindVariable] = string(text)
	return nil
}

// kind is s.Served with every placeholder replaced. What auth says is secret,
// however it is written.
func (x *expander) kind(s *Server) (*KindSpec, error) {
	k := *s.Served
	var failed error
	text := func(field, value string) string {
		out, err := x.field(s, field, value, false)
		if err != nil && failed == nil {
			failed = err
		}
		return out
	}
	secret := func(field, value string) string {
		out, err := x.field(s, field, value, true)
		if err != nil && failed == nil {
			failed = err
		}
		x.secret(out)
		return out
	}
	switch {
	case k.Module != nil:
		m := *k.Module
		m.File = absolute(text("module", m.File), x.home, s.Origin.Base)
		k.Module = &m
	case k.OpenAPI != nil:
		o := *k.OpenAPI
		if o.Document = text("document", o.Document); !IsAddress(o.Document) {
			o.Document = absolute(o.Document, x.home, s.Origin.Base)
		}
		o.BaseURL = text("baseUrl", o.BaseURL)
		o.Bearer, o.Password = secret("auth.bearer", o.Bearer), secret("auth.basic.password", o.Password)
		o.User = text("auth.basic.username", o.User)
		o.Header, o.Query = secrets("auth.header", o.Header, secret), secrets("auth.query", o.Query, secret)
		k.OpenAPI = &o
	case k.Command != nil:
		c := CommandSpec{Tools: slices.Clone(k.Command.Tools)}
		for i := range c.Tools {
			if err := x.tool(s, &c.Tools[i]); err != nil {
				return nil, err
			}
		}
		k.Command = &c
	}
	return &k, failed
}

func secrets(field string, in map[string]string, secret func(field, value string) string) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]string, len(in))
	for name, value := range in {
		out[name] = secret(field+"."+name, value)
	}
	return out
}

func (x *expander) tool(s *Server, t *CommandTool) (err error) {
	field := "tools." + t.Name + ".command"
	t.Command = slices.Clone(t.Command)
	for i, word := range t.Command {
		if i > 0 {
			t.Command[i], err = x.word(s, field, word)
		} else if t.Command[0], err = x.field(s, field, word, false); err == nil && filepath.Base(t.Command[0]) != t.Command[0] {
			t.Command[0] = absolute(t.Command[0], x.home, s.Origin.Base)
		}
		if err != nil {
			return err
		}
	}
	if t.Stdin, err = x.word(s, "tools."+t.Name+".stdin", t.Stdin); err != nil {
		return err
	}
	if t.Cwd, err = x.field(s, "tools."+t.Name+".cwd", t.Cwd, false); err != nil || t.Cwd == "" {
		return err
	}
	t.Cwd = absolute(t.Cwd, x.home, s.Origin.Base)
	return nil
}

// hiddenPlaces are the directories that hold tenon's own: no strict mode may
// reach them.
func (s *Store) hiddenPlaces() []string {
	hidden := []string{s.o.StateDir, ConfigDir(s.o.Environ, s.o.Home)}
	if s.o.Socket != "" {
		hidden = append(hidden, filepath.Dir(s.o.Socket))
	}
	if s.o.RuntimeDir != "" {
		hidden = append(hidden, s.o.RuntimeDir)
	}
	return hidden
}
