package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

func (a *app) daemonCommand() *cobra.Command {
	return group("daemon", "Run, stop and look at the daemon",
		a.daemonRunCommand(), a.daemonStartCommand(), a.daemonStopCommand(), a.daemonRestartCommand(),
		a.daemonStatusCommand(), a.daemonLogsCommand(),
		a.daemonInstallCommand(), a.daemonUninstallCommand())
}

// daemonDocument is the --json form of start and restart: what a plugin needs
// to connect.
type daemonDocument struct {
	Started bool   `json:"started"`
	PID     int    `json:"pid"`
	Socket  string `json:"socket"`
}

func (a *app) daemonStartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "start",
		Short: "Start the daemon in the background, if it is not running",
		Args:  args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			return a.start(cmd.Context(), c)
		},
	}
}

func (a *app) start(ctx context.Context, c *client.Client) error {
	started, err := c.Start(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	h, err := c.Health(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(daemonDocument{Started: started, PID: h.PID, Socket: c.Socket})
	}
	if started {
		a.say("the daemon runs (pid %d)", h.PID)
	} else {
		a.say("the daemon was running already (pid %d)", h.PID)
	}
	return nil
}

func (a *app) daemonStopCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon: what runs may finish first",
		Args:  args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			was, err := a.stop(cmd.Context(), c, proto.StopRequest{Force: force, Reason: "tenon daemon stop"})
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.document(map[string]any{"stopped": was})
			}
			if !was {
				a.say("no daemon was running")
			} else {
				a.say("the daemon has stopped")
			}
			return nil
		},
	}
	c.Flags().BoolVar(&force, "force", false, "cancel what runs instead of waiting for it (30 s at most)")
	return c
}

// stop ends the daemon and waits until it is gone; was is whether one ran.
func (a *app) stop(ctx context.Context, c *client.Client, r proto.StopRequest) (was bool, err error) {
	c.NoStart, c.Notice = true, nil
	pid := 0 // of the daemon that was asked
	res, err := c.Stop(ctx, r)
	switch kind := fault.KindOf(err); {
	case err == nil:
		pid = res.PID
		if res.Runs > 0 && !r.Force {
			a.say("waiting for %s to finish; --force would cancel what runs", count(res.Runs, "run"))
		}
	case kind == fault.ProtocolMismatch:
		// Another protocol's daemon understands signals, if not our requests.
		if pid, err = a.signalDaemon(c.Paths); err != nil {
			return true, err
		}
	case kind == fault.DaemonUnavailable:
		// None answers; one may be on its way out, so the lock has the last word.
		info, running := c.Paths.Info()
		return running && c.WaitGone(ctx, info.PID) == nil, nil
	default:
		return true, interrupted(ctx, err)
	}
	return true, interrupted(ctx, c.WaitGone(ctx, pid))
}

// signalDaemon ends the daemon that holds the lock with TERM and says which it is. It
// is refused inside of an agent's shell, like the request it stands in for.
func (a *app) signalDaemon(p local.Paths) (pid int, err error) {
	if a.env["TENON_TICKET"] != "" || a.env["OPENCODE"] == "1" {
		return 0, fault.OnlyTheUser(a.env["TENON_TICKET"] != "", "stop or restart the daemon")
	}
	info, ok := p.Info()
	if !ok {
		return 0, fault.New(fault.DaemonUnavailable, "the daemon's process is not known: no daemon.json in %s", p.Runtime)
	}
	if lock, err := p.TryLock(); err == nil {
		_ = lock.Release()
		return info.PID, nil // it has gone meanwhile
	}
	if err := syscall.Kill(info.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return 0, fault.New(fault.DaemonUnavailable, "cannot end the daemon (pid %d): %w", info.PID, err)
	}
	return info.PID, nil
}

func (a *app) daemonRestartCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "restart",
		Short: "Stop the daemon and start this build",
		Args:  args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.connect()
			if err != nil {
				return err
			}
			probe := *a // its client never starts one
			probe.client = nil
			old, err := probe.connect()
			if err != nil {
				return err
			}
			if leases, err := leasesOf(cmd.Context(), old); err == nil && leases > 0 {
				a.say("this ends %s, with the state of the instances", count(leases, "lease"))
			}
			if _, err := a.stop(cmd.Context(), old, proto.StopRequest{Force: force, Reason: "tenon daemon restart"}); err != nil {
				return err
			}
			return a.start(cmd.Context(), c)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "cancel what runs instead of waiting for it (30 s at most)")
	return c
}

func leasesOf(ctx context.Context, c *client.Client) (int, error) {
	c.NoStart, c.Notice = true, nil
	leases, err := c.Leases(ctx)
	return len(leases), err
}

func (a *app) daemonStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what the daemon is doing; it is not started for that",
		Args:  args(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return daemonStatus(cmd.Context(), a) },
	}
}

func daemonStatus(ctx context.Context, a *app) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	c.NoStart = true
	s, err := c.Status(ctx)
	if err != nil {
		return interrupted(ctx, err)
	}
	if a.flags.json {
		return a.document(s)
	}
	state := "serving"
	if s.Health.Draining {
		state = "draining: takes no new work"
	}
	text := fmt.Sprintf("daemon    %s, pid %d, since %s\nbuild     %s, protocol %d\nsocket    %s\nlog       %s\nmemory    %.1f MiB\n"+
		"sessions  %d\ninstances %d\nruns      %d\napprovals %d\n", state, s.Health.PID, s.Health.Started,
		local.FormatBuild(s.Health.Build), s.Health.Protocol, s.Socket, c.Paths.LogFile(), float64(s.RSSBytes)/(1<<20),
		s.Sessions, s.Instances, s.Runs, s.Approvals)
	for _, b := range s.Bridges {
		text += fmt.Sprintf("bridge    %s %s in %s, pid %d\n", b.Plugin, b.Build.Version, b.Directory, b.PID)
	}
	for _, e := range s.Engines {
		text += "engine    " + first(e.Reason, strings.TrimSpace(e.Name+" "+e.Version)) + "\n"
	}
	for _, f := range s.Config {
		text += "config    " + f + "\n"
	}
	for _, p := range s.Problems {
		level := "problem   "
		if isNote(p) {
			level = "note      "
		}
		text += level + p.Detail + "\n"
	}
	return a.text(text)
}
