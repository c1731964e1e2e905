package serve

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/policy"
	"tenon/daemon/internal/run"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/shelf"
	"tenon/proto"
)

// openShelf makes the room of saved scripts.
func (d *daemon) openShelf() {
	d.shelf = shelf.New(filepath.Join(config.ConfigDir(config.EnvFrom(d.o.Environ), d.o.Paths.Home), "scripts"))
}

// shelved are the saved scripts that a program of the request may run.
func (d *daemon) shelved(_ context.Context, r call.Request) []catalog.Script {
	dir := r.Cwd
	if dir == "" && r.Caller != nil {
		dir = r.Caller.Dir
	}
	if dir == "" && r.Session != nil {
		dir = r.Session.Dir()
	}
	var out []catalog.Script
	for _, s := range d.shelf.List(dir) {
		if s.Shadowed == "" {
			out = append(out, catalog.Script{
				Name: s.Name, Signature: s.Signature(), Description: s.Description, Params: s.Words(),
				Declaration: s.Declaration(), Member: s.Member(),
			})
		}
	}
	return out
}

// scripts serves the routes about saved scripts.
type scripts struct{ d *daemon }

// dir is where the scripts of a caller are looked for: what its session is bound
// to, else its own directory.
func (s scripts) dir(c *peer.Caller) string {
	if c.Session != nil && c.Session.Dir() != "" && c.Class != peer.User {
		return c.Session.Dir()
	}
	if c.Dir == "" && c.Session != nil {
		return c.Session.Dir()
	}
	return c.Dir
}

func (s scripts) List(_ context.Context, c *peer.Caller) ([]proto.Script, error) {
	var out []proto.Script
	for _, x := range s.d.shelf.List(s.dir(c)) {
		out = append(out, x.Proto())
	}
	return out, nil
}

func (s scripts) Get(_ context.Context, c *peer.Caller, name string) (*proto.Script, error) {
	x, err := s.d.shelf.Load(s.dir(c), name)
	if err != nil {
		return nil, err
	}
	out := x.Proto()
	out.Code = x.Text
	return &out, nil
}

// Save keeps a script. A session may add to the scripts of its project where the
// configuration and its sandbox let it; it replaces and shadows none and adds none
// of the user's. A stranger adds none.
func (s scripts) Save(ctx context.Context, c *peer.Caller, r proto.ScriptSave) (*proto.Script, error) {
	where := r.Where
	if where == "" {
		where = shelf.Project
	}
	if err := s.maySave(c, where, r.Force); err != nil {
		return nil, err
	}
	if err := s.shadows(c, r.Name); err != nil {
		return nil, err
	}
	code := r.Code
	if r.Run != "" {
		var err error
		if code, err = s.promoted(ctx, c, r); err != nil {
			return nil, err
		}
	}
	x, err := s.d.shelf.Save(shelf.Saving{Dir: s.dir(c), Name: r.Name, Code: code, Where: where, Force: r.Force})
	if err != nil {
		return nil, err
	}
	actor := string(c.Class)
	if c.Session != nil {
		actor = c.Session.ID
	}
	s.d.history.Audit(actor, "script save "+x.Name, x.File)
	out := x.Proto()
	return &out, nil
}

// maySave decides who may save what.
func (s scripts) maySave(c *peer.Caller, where string, force bool) error {
	err := c.May(peer.SaveScript)
	if err == nil || c.Class != peer.Agent {
		return err
	}
	view, failed := s.d.view(c, "")
	if failed != nil {
		return failed
	}
	switch {
	case view.Scripts.HostOnly:
		return fault.New(fault.PermissionDenied, "a session may save no scripts: scripts.hostOnly is set").
			WithHint("the user saves it: tenon scripts save NAME --run ID")
	case where != shelf.Project:
		return fault.New(fault.PermissionDenied, "a session may not save scripts of the user's").
			WithHint("it may save into its project: leave --user away")
	case force:
		return fault.New(fault.PermissionDenied, "a session may not replace a script").
			WithHint("save it under another name, or let the user do it")
	}
	dial, _ := policy.Dials(view.Permissions)
	mode, failed := sandbox.ParseMode(dial)
	if failed != nil || sandbox.WorkspaceWrite.Wider(mode) {
		return fault.New(fault.PermissionDenied, "a session may write no script: its sandbox mode is %s", dial).
			WithHint("the user saves it: tenon scripts save NAME --run ID")
	}
	return nil
}

// shadows refuses a session a name under which it finds a script already, in
// whatever folder: a project's comes before the user's and a nearer one before
// another, so that adding it would replace what the user or a program runs.
func (s scripts) shadows(c *peer.Caller, name string) error {
	if c.Class != peer.Agent {
		return nil
	}
	have, err := s.d.shelf.Find(s.dir(c), name)
	if err != nil {
		return nil // there is none
	}
	return fault.New(fault.UsageError, "there is a script %s already: %s", have.Name, have.File).
		WithHint("a session replaces none, nor comes before one: save it under another name")
}

// promoted is the program of a run as a script: with a header that says where it
// comes from and how it was called, unless it has one of its own.
func (s scripts) promoted(ctx context.Context, c *peer.Caller, r proto.ScriptSave) (string, error) {
	if err := runs(s).mayRead(ctx, c, r.Run); err != nil {
		return "", err
	}
	if _, live := s.d.runs.Get(r.Run); live {
		return "", fault.New(fault.UsageError, "run %s has not ended", r.Run).WithHint("save it once it has: tenon runs show %s", r.Run)
	}
	if err := s.d.history.Flush(ctx); err != nil {
		return "", err
	}
	row, err := s.d.history.Show(ctx, r.Run)
	switch {
	case err != nil:
		return "", err
	case row.Engine == "call":
		return "", fault.New(fault.UsageError, "run %s is a single call, not a program", r.Run).
			WithHint("save a program that makes it: tenon scripts save %s FILE", r.Name)
	case row.Status != "ok" && !r.Force:
		return "", fault.New(fault.UsageError, "run %s did not succeed: %s", r.Run, strings.TrimSpace(row.Status+" "+row.Kind)).
			WithHint("mend it and run it again; --force saves it all the same")
	case len(row.Code) >= history.MaxCode:
		return "", fault.New(fault.UsageError, "the program of run %s is longer than history keeps", r.Run).
			WithHint("save its file: tenon scripts save %s FILE", r.Name)
	case strings.Contains(row.Code, history.Mask):
		return "", fault.New(fault.UsageError, "history has masked a secret in the program of run %s", r.Run).
			WithHint("save its file, without the secret: tenon scripts save %s FILE", r.Name)
	}
	return withHeader(row, r.Name), nil
}

// withHeader puts a header before the program of a run that has none.
func withHeader(row *proto.Run, name string) string {
	h := shelf.ParseHeader(row.Code)
	if h.Description != "" || len(h.Params) > 0 || len(h.Examples) > 0 {
		return row.Code
	}
	var b strings.Builder
	day, _, _ := strings.Cut(row.Started, "T")
	fmt.Fprintf(&b, "/**\n * Saved from %s of %s.\n", row.ID, day)
	if row.Engine != run.DefaultEngine && h.Engine == "" {
		fmt.Fprintf(&b, " * @engine %s\n", row.Engine)
	}
	fmt.Fprintf(&b, " * @example tenon run %s%s\n */\n", name, exampleOf(row))
	return b.String() + row.Code
}

// exampleOf is how a run was called, as arguments of a command line.
func exampleOf(row *proto.Run) string {
	if row.Options == nil {
		return ""
	}
	out := ""
	if row.Options.Export != "" {
		out += " --export " + row.Options.Export
	}
	if in := string(row.Options.Input); in != "" && !strings.Contains(in, history.Mask) {
		out += " --input " + quoted(in)
	}
	if len(row.Options.Args) > 0 {
		out += " --"
		for _, word := range row.Options.Args {
			out += " " + quoted(word)
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(out, "*/", "* /"), "\n", " ")
}

// quoted is a word for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
