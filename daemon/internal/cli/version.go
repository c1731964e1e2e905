package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine/embedded"
	"tenon/daemon/internal/engine/process"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// versionDocument is the --json form.
type versionDocument struct {
	proto.Build
	Protocol int            `json:"protocol"`
	Config   string         `json:"config"`
	Engines  []proto.Engine `json:"engines"` // the daemon's, else those of this program
	Daemon   *daemonVersion `json:"daemon"`  // null: none is running
}

type daemonVersion struct {
	Build    proto.Build `json:"build"`
	Protocol int         `json:"protocol"`
	PID      int         `json:"pid"`
	Problem  string      `json:"problem,omitempty"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the builds of this program and of the running daemon, and the engines",
		Args:  args(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return versionRun(cmd.Context(), a) },
	}
}

// versionRun never starts a daemon: it says what is, not what could be.
func versionRun(ctx context.Context, a *app) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	c.NoStart, c.Notice = true, nil
	doc := versionDocument{Build: local.Build(), Protocol: proto.Protocol, Config: a.userConfig()}
	doc.Daemon, doc.Engines = a.askDaemon(ctx, c)
	if a.flags.json {
		return a.document(doc)
	}
	text := fmt.Sprintf("tenon    %s, protocol %d, %s\nconfig   %s\n", local.FormatBuild(doc.Build), doc.Protocol, doc.Go, doc.Config)
	switch d := doc.Daemon; {
	case d == nil:
		text += "daemon   not running\n"
	case d.Problem != "":
		text += "daemon   " + d.Problem + "\n"
	default:
		text += fmt.Sprintf("daemon   %s, protocol %d, pid %d\n", local.FormatBuild(d.Build), d.Protocol, d.PID)
		if d.Build.ID != doc.ID {
			text += "         another build: it finishes what runs, then the next command starts the newer one\n"
		}
	}
	for _, e := range doc.Engines {
		text += "engine   " + first(e.Reason, e.Name+" "+e.Version) + "\n"
	}
	return a.text(text)
}

// askDaemon describes the running daemon, nil when there is none, and the
// engines that programs run on.
func (a *app) askDaemon(ctx context.Context, c *client.Client) (*daemonVersion, []proto.Engine) {
	status, err := c.Status(ctx)
	if err == nil {
		h := status.Health
		return &daemonVersion{Build: h.Build, Protocol: h.Protocol, PID: h.PID}, status.Engines
	}
	engines, guard := []proto.Engine{embedded.Info()}, process.Guard{}
	if dir, err := os.Getwd(); err == nil {
		guard.Workspace = config.Workspace(dir)
		guard.Executable, _ = os.Executable() // else they are asked as they are
	}
	for _, name := range process.Names() {
		engines = append(engines, process.Info(ctx, name, a.env["PATH"], "", guard))
	}
	var e *fault.Error
	if errors.As(err, &e) && e.Kind == fault.DaemonUnavailable {
		return nil, engines
	}
	d := &daemonVersion{Problem: err.Error()}
	if stamp, ok := c.Daemon(); ok {
		d.Build = stamp.Build
	}
	return d, engines
}

// userConfig is the configuration file in effect for the user, or where it
// would be.
func (a *app) userConfig() string {
	if f := a.configFile(); f != "" {
		return f
	}
	dir := config.ConfigDir(config.EnvFrom(a.Environ), a.env["HOME"])
	for _, ext := range strings.Fields("jsonc json yaml yml toml") {
		if f := dir + "/config." + ext; exists(f) {
			return f
		}
	}
	return dir + "/config.jsonc"
}
