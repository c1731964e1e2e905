package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// demoProgram is what the demo runs in each session.
const demoProgram = `const [hello, pid] = await Promise.all([
  fake.echo({ text: "hello from " + session.id }),
  fake.pid(),
]);
const calls: number[] = [];
for (let i = 0; i < 3; i++) calls.push(await fake.counter());
({ hello, pid, calls })
`

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the main job, with a built-in server and a daemon of its own",
		Long: "Runs one program in two sessions against the built-in fake server: no configuration,\n" +
			"no network, nothing installed. It uses a daemon and directories of its own, and\n" +
			"removes them.",
		Args: args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return demoRun(cmd.Context(), a) },
	}
}

// demoDocument is the --json form.
type demoDocument struct {
	Program string            `json:"program"`
	Runs    []proto.RunResult `json:"runs"`
	Leases  []proto.Lease     `json:"leases"`
	Seconds float64           `json:"seconds"`
}

func demoRun(ctx context.Context, a *app) (err error) {
	began := time.Now()
	place, err := newDemoPlace(a)
	if err != nil {
		return err
	}
	defer place.remove()
	d := &demo{app: a, place: place, doc: demoDocument{Program: demoProgram}}
	defer d.stop()

	d.title("A program. The servers of the configuration are globals:")
	d.show(demoProgram)
	for i, session := range []string{"alice", "bob", "alice"} {
		switch i {
		case 2:
			d.title("Run in session alice again: the same instance, so its count goes on")
		default:
			d.title(fmt.Sprintf("Run in session %s", session))
		}
		if err := d.run(ctx, session); err != nil {
			return interrupted(ctx, err)
		}
	}
	if err := d.leases(ctx); err != nil {
		return interrupted(ctx, err)
	}
	d.doc.Seconds = time.Since(began).Seconds()
	if a.flags.json {
		return a.document(d.doc)
	}
	d.show(fmt.Sprintf("\nThat took %.1f s. What next: tenon init, tenon opencode install, tenon doctor.", d.doc.Seconds))
	return d.err
}

// demoPlace is a home, configuration and runtime of the demo's own.
type demoPlace struct {
	dir     string
	paths   local.Paths
	environ []string
}

func newDemoPlace(a *app) (*demoPlace, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fault.New(fault.InternalError, "cannot find this executable: %w", err)
	}
	dir, err := os.MkdirTemp("", "tenon-demo-")
	if err != nil {
		return nil, fault.New(fault.UsageError, "the demo needs a temporary directory: %w", err)
	}
	p := &demoPlace{dir: dir}
	env := map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "XDG_DATA_HOME": filepath.Join(dir, "data"),
		"TENON_RUNTIME_DIR": filepath.Join(dir, "run"), "TENON_STATE_DIR": filepath.Join(dir, "state"),
	}
	for _, kv := range a.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if _, ours := env[name]; !ours && !strings.HasPrefix(name, "TENON_") {
			p.environ = append(p.environ, kv)
		}
	}
	for k, v := range env {
		p.environ = append(p.environ, k+"="+v)
	}
	if p.paths, err = local.Resolve(func(k string) string { return env[k] }); err != nil {
		p.remove()
		return nil, err
	}
	settings, err := json.MarshalIndent(map[string]any{
		"servers": map[string]any{"fake": map[string]any{"command": []string{exe, "fake-server"}, "scope": config.Session}},
	}, "", "  ")
	if err == nil {
		err = os.MkdirAll(p.paths.Config, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(p.paths.Config, "config.jsonc"), settings, 0o600)
	}
	if err != nil {
		p.remove()
		return nil, fault.New(fault.UsageError, "the demo's configuration: %w", err)
	}
	return p, nil
}

func (p *demoPlace) remove() { _ = os.RemoveAll(p.dir) } // temporary files: the system cleans up what stays

// client speaks for one session of the demo; empty for none.
func (p *demoPlace) client(session string) *client.Client {
	return &client.Client{
		Paths: p.paths, Environ: p.environ,
		Identity: client.Identity{Session: session, Dir: p.dir, Env: config.BaseEnv(p.environ)},
	}
}

// demo prints as it goes; the first failed write is kept.
type demo struct {
	app   *app
	place *demoPlace
	doc   demoDocument
	err   error
}

func (d *demo) show(text string) {
	if d.app.flags.json || d.err != nil {
		return
	}
	d.err = d.app.text(text)
}

func (d *demo) title(text string) { d.show("\n" + text + "\n") }

// run runs the program in a session, showing its calls.
func (d *demo) run(ctx context.Context, session string) error {
	c := d.place.client(session)
	result, err := c.Exec(ctx, proto.ExecRequest{Code: demoProgram}, func(f proto.Frame) {
		var call proto.CallEvent
		if f.Type == "call" && json.Unmarshal(f.Data, &call) == nil && call.Status != "running" {
			d.show(fmt.Sprintf("  call %s.%s  %s, %.1f ms", call.Server, call.Tool, call.Status, call.MS))
		}
	})
	if err != nil {
		return err
	}
	d.doc.Runs = append(d.doc.Runs, *result)
	if result.Error != nil {
		return fault.FromWire(result.Error)
	}
	d.show("  result " + string(result.Value))
	return nil
}

// leases shows who holds what.
func (d *demo) leases(ctx context.Context) error {
	c := d.place.client("")
	leases, err := c.Leases(ctx)
	if err != nil {
		return err
	}
	d.doc.Leases = leases
	d.title("Two sessions, two instances:")
	for _, l := range leases {
		d.show(fmt.Sprintf("  %s holds instance %s of %s", l.Session, l.Instance, l.Server))
	}
	return nil
}

// stop ends the demo's daemon, so that nothing is left.
func (d *demo) stop() {
	c := d.place.client("")
	c.NoStart = true
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if res, err := c.Stop(ctx, proto.StopRequest{Force: true, Reason: "the demo is over"}); err == nil {
		_ = c.WaitGone(ctx, res.PID) // its directories go next, and it with them
	}
}
