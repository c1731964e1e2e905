package config

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"tenon/daemon/internal/fault"
)

// Define expands one server for a caller. env is the caller's environment; the
// daemon's own is only the fallback for placeholders and for a missing PATH.
//
// Relative commands and working directories are meant from Origin.Base. A bare
// command name is looked up in the caller's PATH. The working directory, when
// not given, is the project's directory for project files; for the user's
// files it is the home directory, and the caller's workspace or directory for
// the scopes repo and directory. The caller's directory is p.Workspace, or the
// view's when that is empty; ${workspace} is the top of its repository, which
// in a git worktree is the worktree's own top, or the directory outside of one.
//
// It fails with NotFound for an unknown name and with ConfigError, naming the
// server, the field and the variable (never a value), when the server is
// disabled, untrusted, or cannot be expanded.
func (v *View) Define(name string, env Env, p Placeholders) (*Definition, error) {
	s, err := v.usable(name)
	if err != nil {
		return nil, err
	}
	dir, workspace := v.Dir, v.Workspace
	if p.Workspace != "" && p.Workspace != dir {
		dir = resolveDir(p.Workspace)
		workspace = Workspace(dir)
	}
	x := &expander{
		env: env, fallback: v.fallback, home: v.homeOf(env), dir: filepath.Dir(s.Origin.File),
		workspace: workspace, sessionDir: p.SessionDir,
	}
	d := &Definition{Server: s, Template: templateOf(s), BaseEnv: v.baseFor(env)}
	if err := x.fields(s, d); err != nil {
		return nil, err
	}
	if err := settlePlace(s, d, x, dir); err != nil {
		return nil, err
	}
	if s.Served != nil {
		if err := v.serve(s, d, x); err != nil {
			return nil, err
		}
	}
	id := []any{s.Kind, d.Command, d.Env, d.Cwd, d.URL, d.Headers}
	if s.Kind == "http" || s.Kind == "sse" { // whose login it uses, and how that is made
		id = append(id, s.Name, d.OAuth)
	}
	d.ID = digest(id)
	if len(d.Command) > 0 {
		if d.Command[0], err = LookPath(d.Command[0], d.BaseEnv["PATH"], s.Origin.Base); err != nil {
			f := fault.From(err)
			hint := f.Hint
			if words := strings.Fields(s.Command[0]); len(words) > 1 {
				list, _ := json.Marshal(words) // texts always marshal
				hint = "a program with arguments is a list: \"command\": " + string(list)
			}
			return nil, fault.New(fault.ConfigError, "server %s: command: %s", name, f.Message).WithHint("%s", hint).At(name, "")
		}
	}
	d.Personal = x.personal
	d.Secrets = x.secretsOf(d)
	return d, nil
}

// baseFor is the allow-listed part of the caller's environment. A caller that
// sent none, and one without PATH or HOME, gets the daemon's: without them
// hardly any server starts.
func (v *View) baseFor(env Env) Env {
	if len(env) == 0 {
		return BaseOf(v.fallback)
	}
	out := BaseOf(env)
	for _, name := range []string{"PATH", "HOME"} {
		if value, ok := v.fallback[name]; ok && out[name] == "" {
			out[name] = value
		}
	}
	return out
}

// usable returns the server, or why it may not be used.
func (v *View) usable(name string) (*Server, error) {
	s := v.Servers[name]
	switch {
	case s == nil:
		e := fault.New(fault.NotFound, "no server is named %q", name)
		if near := nearest(name, v.Names()); near != "" {
			return nil, e.WithHint("did you mean %q? tenon ls shows all", near)
		}
		return nil, e.WithHint("tenon ls shows the configured servers")
	case s.Untrusted:
		return nil, fault.New(fault.ConfigError, "server %s: %s is not trusted, so nothing of it is started", name, s.Origin.File).
			WithHint("read its command with tenon ls, then run tenon trust").At(name, "")
	case !s.Enabled:
		return nil, fault.New(fault.ConfigError, "server %s is disabled in %s", name, s.Origin.File).
			WithHint(`set "enabled": true there`).At(name, "")
	case s.Problem != "":
		return nil, fault.New(fault.ConfigError, "server %s: %s (%s:%d)", name, s.Problem, s.Origin.File, s.Origin.Line).At(name, "")
	}
	return s, nil
}

func (v *View) homeOf(env Env) string {
	if home := env["HOME"]; filepath.IsAbs(home) {
		return home
	}
	return v.home
}

// fields expands every field of s into d.
func (x *expander) fields(s *Server, d *Definition) error {
	for i, arg := range s.Command {
		field := "command"
		if i > 0 {
			field = "args"
		}
		value, err := x.field(s, field, arg, false)
		if err != nil {
			return err
		}
		d.Command = append(d.Command, value)
	}
	var err error
	if d.Env, err = x.fieldMap(s, "env", s.Env); err != nil {
		return err
	}
	if d.Headers, err = x.fieldMap(s, "headers", s.Headers); err != nil {
		return err
	}
	if d.Cwd, err = x.field(s, "cwd", s.Cwd, false); err != nil {
		return err
	}
	if d.OAuth, err = x.oauth(s); err != nil {
		return err
	}
	d.URL, err = x.field(s, "url", s.URL, false)
	return err
}

func (x *expander) fieldMap(s *Server, field string, in map[string]string) (map[string]string, error) {
	if len(in) == 0 {
		return nil, nil
	}
	names := make([]string, 0, len(in))
	for name := range in {
		names = append(names, name)
	}
	sort.Strings(names) // the first error is always the same one
	out := make(map[string]string, len(in))
	for _, name := range names {
		if neverPassed(name) {
			continue
		}
		value, err := x.field(s, field+"."+name, in[name], true)
		if err != nil {
			return nil, err
		}
		if looksSecret(name) || field == "headers" && value != in[name] {
			x.secret(value)
			if _, credentials, ok := strings.Cut(value, " "); ok && field == "headers" {
				x.secret(credentials) // "Bearer TOKEN"
			}
		}
		out[name] = value
	}
	return out, nil
}

func (x *expander) field(s *Server, field, value string, sensitive bool) (string, error) {
	out, err := x.expand(value, sensitive)
	if err == nil {
		if strings.ContainsRune(out, 0) {
			err = &missing{what: "the value holds a NUL character"}
		} else {
			return out, nil
		}
	}
	var m *missing
	if errors.As(err, &m) {
		return "", fault.New(fault.ConfigError, "server %s: %s: %s", s.Name, field, m.what).WithHint("%s", m.hint).At(s.Name, "")
	}
	f := fault.From(err)
	return "", fault.New(fault.ConfigError, "server %s: %s: %s", s.Name, field, f.Message).WithHint("%s", f.Hint).Because(err).At(s.Name, "")
}

// settlePlace settles the paths: what is relative is meant from the entry's base.
func settlePlace(s *Server, d *Definition, x *expander, dir string) error {
	if d.URL != "" {
		u, err := url.Parse(d.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fault.New(fault.ConfigError, "server %s: url: not an address that starts with http:// or https://", s.Name).At(s.Name, "")
		}
		if password, ok := u.User.Password(); ok {
			x.secret(password)
		}
		d.Cwd = ""
		return nil
	}
	if d.Command[0] == "" {
		return fault.New(fault.ConfigError, "server %s: command: is empty after expansion", s.Name).At(s.Name, "")
	}
	d.Command[0] = expandHome(d.Command[0], x.home)
	if strings.ContainsRune(d.Command[0], os.PathSeparator) && !filepath.IsAbs(d.Command[0]) {
		d.Command[0] = filepath.Join(s.Origin.Base, d.Command[0])
	}
	switch {
	case d.Cwd != "":
		if d.Cwd = expandHome(d.Cwd, x.home); !filepath.IsAbs(d.Cwd) {
			d.Cwd = filepath.Join(s.Origin.Base, d.Cwd)
		}
	case s.Scope == Repo:
		d.Cwd, x.personal = x.workspace, true
	case s.Scope == Directory:
		d.Cwd, x.personal = dir, true
	case s.Origin.Project:
		d.Cwd = s.Origin.Base
	default:
		d.Cwd = x.home
	}
	return nil
}

// templateOf identifies a server as it is written.
func templateOf(s *Server) string {
	parts := []any{s.Name, s.Kind, s.Command, s.Env, s.Cwd, s.URL, s.Headers}
	if s.Served != nil {
		parts = append(parts, s.Served)
	}
	if s.OAuth != nil {
		parts = append(parts, s.OAuth)
	}
	return digest(parts)
}

// secretsOf lists the values to mask, longest first, so that a value within
// another never leaves a readable rest.
func (x *expander) secretsOf(d *Definition) []string {
	if u, err := url.Parse(d.URL); err == nil && d.URL != "" {
		for name, values := range u.Query() {
			if looksSecret(name) {
				for _, value := range values {
					x.secret(value)
				}
			}
		}
	}
	out := make([]string, 0, len(x.secrets))
	for value := range x.secrets {
		out = append(out, value)
	}
	sort.Slice(out, func(i, j int) bool {
		if len(out[i]) != len(out[j]) {
			return len(out[i]) > len(out[j])
		}
		return out[i] < out[j]
	})
	return out
}

// expandToken expands listen.token, the one setting that takes placeholders.
func (b *builder) expandToken(token string) (string, error) {
	x := &expander{env: b.store.o.Environ, home: b.home, dir: filepath.Dir(b.store.userFile(b.probes))}
	return x.expand(token, true)
}
