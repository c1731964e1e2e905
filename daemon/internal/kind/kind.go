// Package kind is the servers that tenon itself is: a hidden command serves what
// an entry of the configuration with a kind describes, over MCP on standard
// input and output, so that the rooms above see a command like any other.
package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/kind/command"
	"tenon/daemon/internal/kind/module"
	"tenon/daemon/internal/kind/openapi"
	"tenon/daemon/internal/kind/stdio"
	"tenon/daemon/internal/local"
)

// Options of Main.
type Options struct {
	Compile string   // the hidden command of this program that compiles
	Environ []string // KEY=value, with config.KindVariable
	In      io.ReadCloser
	Out     io.WriteCloser
	Err     io.Writer
}

// Exit codes of Main.
const (
	exitFailed = 1
	exitUsage  = 2
)

// Main serves until the input ends or the process is told to, and returns the
// exit code.
func Main(o Options) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	spec, environ, err := specOf(o.Environ)
	if err != nil {
		fmt.Fprintln(o.Err, "tenon "+config.ServeKind+":", err)
		return exitUsage
	}
	o.Environ = environ
	source, done, err := o.source(spec)
	if err == nil {
		defer done()
		err = stdio.Serve(ctx, stdio.Options{Name: spec.Name, Version: local.Build().Version, In: o.In, Out: o.Out}, source)
	}
	if err != nil {
		fmt.Fprintln(o.Err, "tenon "+config.ServeKind+":", stdio.Say(err))
		return exitFailed
	}
	return 0
}

// specOf takes the spec out of the environment: nothing that is started inherits
// it.
func specOf(environ []string) (*config.KindSpec, []string, error) {
	var rest []string
	text := ""
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, config.KindVariable+"="); ok {
			text = value
			continue
		}
		rest = append(rest, kv)
	}
	_ = os.Unsetenv(config.KindVariable)
	if text == "" {
		return nil, nil, fmt.Errorf("%s is not set: this command is started by the daemon, for servers with a kind", config.KindVariable)
	}
	var spec config.KindSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read", config.KindVariable) // the cause could quote a secret
	}
	return &spec, rest, nil
}

// source makes what the spec asks for; done ends it.
func (o Options) source(spec *config.KindSpec) (source stdio.Source, done func(), err error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case spec.Module != nil:
		s, err := module.New(module.Options{Spec: spec, Executable: executable, Compile: o.Compile, Environ: o.Environ, Stderr: o.Err})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	case spec.OpenAPI != nil:
		s := openapi.New(openapi.Options{Spec: spec, Stderr: o.Err})
		return s, s.Close, nil
	case spec.Command != nil:
		dir, err := os.Getwd()
		if err != nil {
			return nil, nil, err
		}
		s, err := command.New(command.Options{Spec: spec, Executable: executable, Environ: o.Environ, Dir: dir})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	return nil, nil, fmt.Errorf("there is no kind %q", spec.Kind)
}
