package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// finding is one thing that doctor has to say.
type finding struct {
	Topic string `json:"topic"`
	Level string `json:"level"` // ok, note, problem
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
}

// doctor collects findings.
type doctor struct {
	app  *app
	list []finding
}

func (d *doctor) say(level, topic, hint, format string, args ...any) {
	d.list = append(d.list, finding{Topic: topic, Level: level, Text: fmt.Sprintf(format, args...), Hint: hint})
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Explain what is configured, running, waiting or wrong",
		Args:  args(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return doctorRun(cmd.Context(), a) },
	}
}

// doctorRun exits with 1 when there is a problem.
func doctorRun(ctx context.Context, a *app) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	d := &doctor{app: a}
	d.places(c)
	if status, ok := d.daemon(ctx, c); ok {
		if c.Paths.Runtime != "" {
			d.resources(status.Health.PID)
		}
		d.past(ctx, c)
		if again, err := c.Status(ctx); err == nil { // history, which is opened when it is asked for, has had its say
			status = again
		}
		d.config(status)
		d.servers(ctx, c, status)
		d.logins(ctx, c)
		d.holders(ctx, c)
		d.engines(status)
		d.plugins(status)
	}
	if c.Paths.Runtime != "" {
		d.aside(c.Paths)
	}
	installed := d.opencode()
	d.nesting(installed)
	d.surroundings()
	return d.print()
}

func (d *doctor) print() error {
	problems := 0
	for _, f := range d.list {
		if f.Level == "problem" {
			problems++
		}
	}
	if d.app.flags.json {
		if err := d.app.document(map[string]any{"problems": problems, "findings": d.list}); err != nil {
			return err
		}
		return ill(problems)
	}
	for _, f := range d.list {
		text := fmt.Sprintf("%-8s %-9s %s", f.Level, f.Topic, f.Text)
		if f.Hint != "" {
			text += "\n" + strings.Repeat(" ", 19) + "→ " + f.Hint
		}
		if err := d.app.text(text); err != nil {
			return err
		}
	}
	return ill(problems)
}

// ill is exit code 1 for a doctor that worked and a patient that is not well.
func ill(problems int) error {
	if problems > 0 {
		return failed{fault.NotFound}
	}
	return nil
}

// places checks the directories without making any.
func (d *doctor) places(c *client.Client) {
	d.say("ok", "build", "", "%s, protocol %d", local.FormatBuild(local.Build()), proto.Protocol)
	if c.Paths.Runtime == "" {
		return // TCP
	}
	d.say("ok", "places", "", "runtime %s, state %s", c.Paths.Runtime, c.Paths.State)
	if filepath.Dir(c.Paths.Socket) != c.Paths.Runtime {
		d.say("note", "places", "", "the runtime directory's path is too long for a socket: %s stands in", c.Paths.Socket)
	}
	d.disk(c.Paths)
	for _, dir := range []string{c.Paths.Runtime, c.Paths.State} {
		if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&0o077 != 0 {
			d.say("problem", "places", "chmod 700 "+dir, "%s is open to other users (mode %04o)", dir, st.Mode().Perm())
		}
	}
}

// daemon asks for the status; it starts the daemon as any command does.
func (d *doctor) daemon(ctx context.Context, c *client.Client) (proto.Status, bool) {
	c.Notice = nil // said below
	s, err := c.Status(ctx)
	if err != nil {
		var e *fault.Error
		if !errors.As(err, &e) {
			e = fault.From(err)
		}
		d.say("problem", "daemon", e.Hint, "%s", e.Message)
		if c.Paths.Runtime != "" {
			d.pulse(c.Paths)
		}
		return s, false
	}
	d.say("ok", "daemon", "", "pid %d, since %s, %.0f MiB, socket %s", s.Health.PID, s.Health.Started, float64(s.RSSBytes)/(1<<20), s.Socket)
	if own := local.Build(); s.Health.Build.ID != own.ID {
		d.say("note", "daemon", "tenon daemon restart replaces it now", "the daemon is another build: %s", local.FormatBuild(s.Health.Build))
	}
	if s.Health.Draining {
		d.say("note", "daemon", "", "it is ending and takes no new work")
	}
	return s, true
}

func (d *doctor) config(s proto.Status) {
	if len(s.Config) == 0 {
		d.say("note", "config", "tenon init writes one", "no configuration file is in effect here; the user's would be %s", d.app.userConfig())
	}
	for _, f := range s.Config {
		broken := slices.ContainsFunc(s.Problems, func(p proto.Problem) bool { return !isNote(p) && strings.HasPrefix(p.Detail, f+":") })
		if !broken {
			d.say("ok", "config", "", "%s", f)
		}
	}
	for _, p := range s.Problems {
		level, topic, hint := "problem", "config", p.Hint
		if isNote(p) {
			level, hint = "note", ""
		}
		if strings.HasPrefix(p.Detail, "history") {
			topic = "history"
		}
		d.say(level, topic, hint, "%s", p.Detail)
	}
}

// isNote is whether the daemon calls a finding a note and no error.
func isNote(p proto.Problem) bool { return strings.HasPrefix(p.Hint, "a note") }

// servers says of each where it comes from, and what is odd about it.
func (d *doctor) servers(ctx context.Context, c *client.Client, s proto.Status) {
	servers, err := c.Servers(ctx)
	if err != nil {
		d.say("problem", "servers", "", "%v", err)
		return
	}
	for _, srv := range servers {
		level, hint := "ok", ""
		switch srv.Status {
		case "invalid", "failed", "crash-loop":
			level, hint = "problem", "tenon ls "+srv.Name+" shows more"
		case "needs-auth":
			level, hint = "note", "tenon auth "+srv.Name
		case "untrusted":
			level, hint = "note", "tenon trust"
		}
		text := fmt.Sprintf("%s: %s, scope %s, from %s", srv.Name, srv.Status, srv.Scope, srv.Origin)
		if srv.Detail != "" {
			text += ": " + srv.Detail
		}
		d.say(level, "server", hint, "%s", text)
		if srv.Namespace != srv.Name {
			d.say("note", "server", "", "%s is written %s in programs: its own name is no identifier, or is taken", srv.Name, srv.Namespace)
		}
		for _, w := range srv.Warnings {
			d.say("note", "server", "", "%s: %s", srv.Name, w)
		}
		for _, i := range srv.Instances {
			if i.Noise != "" {
				d.say("note", "server", "its messages belong on standard error", "%s, instance %s prints what is not MCP: %s", srv.Name, i.ID, short(i.Noise, 100))
			}
			if i.State == "doubtful" {
				d.say("note", "server", "", "%s, instance %s has let a call time out; it is checked before the next", srv.Name, i.ID)
			}
		}
		d.double(srv, s)
	}
}

// logins mentions those that no server here uses: tokens that may have been forgotten.
func (d *doctor) logins(ctx context.Context, c *client.Client) {
	all, err := c.Logins(ctx)
	if err != nil {
		d.say("problem", "logins", "", "%v", err)
		return
	}
	var left []string
	for _, l := range all {
		if l.State == "unconfigured" {
			left = append(left, l.Server)
		}
	}
	if len(left) > 0 { // another project's are no fault
		d.say("ok", "logins", "tenon auth status; tenon auth logout NAME forgets one", "%s of servers that are not configured here: %s", count(len(left), "login"), short(strings.Join(left, ", "), 200))
	}
}

// double names a server that opencode would run as well.
func (d *doctor) double(srv proto.Server, s proto.Status) {
	if !strings.Contains(srv.Origin, "(opencode)") || srv.Status == "disabled" {
		return
	}
	for _, b := range s.Bridges {
		if strings.HasPrefix(b.Host, "opencode") {
			d.say("note", "server", "tenon init --import opencode --disable-host-copies moves it", "%s runs in opencode (%s) and in tenon", srv.Name, b.Directory)
			return
		}
	}
}

// holders explains what waits.
func (d *doctor) holders(ctx context.Context, c *client.Client) {
	leases, err := c.Leases(ctx)
	if err != nil {
		d.say("problem", "leases", "", "%v", err)
		return
	}
	held := 0
	for _, l := range leases {
		if l.State != "waiting" {
			held++
			continue
		}
		d.say("note", "leases", "tenon leases shows the holders; tenon release ID frees one", "%s waits for %s since %s: %s", l.Session, l.Server, ago(l.Since), l.Reason)
	}
	d.say("ok", "leases", "", "%d held", held)
	asks, err := c.Approvals(ctx)
	if err != nil {
		d.say("problem", "approvals", "", "%v", err)
		return
	}
	for _, q := range asks {
		d.say("note", "approvals", "tenon approve "+q.ID+", or tenon deny "+q.ID, "%s waits until %s (%s)", q.Key, q.Deadline, q.Reason)
	}
}

func (d *doctor) engines(s proto.Status) {
	for _, e := range s.Engines {
		if e.Available {
			d.say("ok", "engine", "", "%s", strings.TrimSpace(e.Name+" "+e.Version+" "+e.Path))
			continue
		}
		if v, err := d.view(); err == nil && v.Script.Engine == e.Name {
			d.say("problem", "engine", "install "+e.Name+", or set script.engine to embedded", "script.engine is %s, which is not available: %s", e.Name, e.Reason)
			continue
		}
		d.say("note", "engine", "only programs that ask for it need it", "%s", e.Reason)
	}
	d.sandboxes(s.Sandbox)
}

// plugins compares what is connected with the daemon's build.
func (d *doctor) plugins(s proto.Status) {
	for _, b := range s.Bridges {
		d.say("ok", "plugin", "", "%s %s in %s (pid %d, %s)", b.Plugin, local.FormatBuild(b.Build), b.Directory, b.PID, b.Host)
		if own := s.Health.Build; release(b.Build.Version) != release(own.Version) {
			d.say("note", "plugin", "tenon opencode install, then restart opencode", "%s in %s is version %s, the daemon is %s", b.Plugin, b.Directory, b.Build.Version, own.Version)
		}
	}
}

// release is a version without what names a build of it, which the plugin's
// own version does not have.
func release(version string) string {
	base, _, _ := strings.Cut(version, "-")
	return base
}
