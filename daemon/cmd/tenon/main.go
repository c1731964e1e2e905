// Command tenon is the command line and the daemon in one.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"tenon/daemon/internal/cli"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/kind"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/script"
	"tenon/daemon/internal/serve"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 {
		// Programs of their own that live in this binary: the daemon's helpers
		// and the server of the tests. They need nothing of the rest.
		switch args[0] {
		case serve.HelperCommand:
			return script.HelperMain(os.Stdin, os.Stdout)
		case sandbox.HelperCommand:
			return sandbox.HelperMain(args[1:], os.Stderr)
		case config.ServeKind:
			return kind.Main(kind.Options{Compile: serve.HelperCommand, Environ: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
		case "fake-server":
			return fakeserver.Main(args[1:], os.Stdin, os.Stdout, os.Stderr)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cwd, err := os.Getwd()
	if err != nil {
		cwd = os.Getenv("PWD") // a directory that was removed: say so where it matters
	}
	return cli.Main(ctx, cli.Options{
		Args: args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Cwd: cwd,
	})
}
