package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/serve"
	"tenon/proto"
)

type daemonRunOptions struct {
	app        *app
	background bool // started by a client: the log goes to its file
	startFD    uint // the start lock, passed down
	readyFD    uint // where to say that we serve
	supervised bool // by systemd or launchd
}

func (a *app) daemonRunCommand() *cobra.Command {
	o := &daemonRunOptions{app: a}
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the daemon in the foreground",
		Args:  args(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return daemonRun(cmd, o) },
	}
	f := c.Flags()
	f.BoolVar(&o.supervised, "supervised", false, "for service managers: log to the file, wait for a daemon that runs already,\n"+
		"never end for idleness, exit with 75 where a newer build should be started")
	f.BoolVar(&o.background, "background", false, "log to the file")
	f.UintVar(&o.startFD, "start-fd", 0, "descriptor of the start lock")
	f.UintVar(&o.readyFD, "ready-fd", 0, "descriptor to report to")
	for _, name := range []string{"background", "start-fd", "ready-fd"} {
		_ = f.MarkHidden(name) // between a client and the daemon it starts; the name exists
	}
	return c
}

func daemonRun(cmd *cobra.Command, o *daemonRunOptions) error {
	a := o.app
	paths, err := a.paths()
	if err != nil {
		return err
	}
	level, err := logLevel(a.env["TENON_LOG"], a.flags.verbose)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fault.New(fault.DaemonUnavailable, "cannot find this executable: %w", err)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	signal.Ignore(syscall.SIGHUP) // a terminal that closes is no reason to end

	options := serve.Options{
		Paths: paths, UserFile: a.configFile(), LogLevel: level, LogFixed: a.env["TENON_LOG"] != "" || a.flags.verbose, Executable: exe, Environ: a.Environ, Signals: signals,
	}
	if o.supervised {
		options.Supervised = true
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	c.NoStart, c.Notice = true, nil
	options.Served = c.Serving
	options.GiveWay = func(ctx context.Context) {
		_, _ = c.Stop(ctx, proto.StopRequest{WhenIdle: true, Reason: "a service manager starts one"}) // there may be none
	}
	if !o.background && !o.supervised {
		options.LogTo = a.Err
	}
	if o.startFD != 0 {
		options.Start = local.Inherited(uintptr(o.startFD))
	}
	if o.readyFD != 0 {
		pipe := os.NewFile(uintptr(o.readyFD), "ready")
		syscall.CloseOnExec(int(o.readyFD)) // a server must not hold the starter's pipe open
		options.Ready = func(err error) {
			_ = client.Ready(pipe, err) // the starter may be gone
			_ = pipe.Close()
		}
	}
	// Signals are the daemon's own to take: the first one drains.
	err = serve.Run(context.WithoutCancel(cmd.Context()), options)
	if errors.Is(err, serve.ErrAgain) {
		return exit(againPlease)
	}
	return err
}

// againPlease is EX_TEMPFAIL: the service manager starts what is installed now.
const againPlease = 75

// logLevel reads TENON_LOG.
func logLevel(text string, verbose bool) (slog.Level, error) {
	if text == "" {
		if verbose {
			return slog.LevelDebug, nil
		}
		return slog.LevelInfo, nil
	}
	var l slog.Level
	if err := l.UnmarshalText([]byte(text)); err != nil {
		return 0, fault.New(fault.UsageError, "TENON_LOG is %q", text).
			WithHint("it may be debug, info, warn or error")
	}
	return l, nil
}
