package serve

import (
	"context"
	"sync"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/script"
	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

type approval = proto.Approval

// dial connects the pool to one server.
func (d *daemon) dial(ctx context.Context, def *config.Definition, roots []string, o upstream.Observer) (upstream.Conn, error) {
	spec := upstream.Spec{
		Name: def.Server.Name, Kind: def.Server.Kind,
		Command: def.Command, Env: environ(def.BaseEnv, def.Env), Cwd: def.Cwd,
		URL: def.URL, Headers: def.Headers,
		StartTimeout: def.Server.StartTimeout, Secrets: def.Secrets, Roots: roots, Observer: o,
	}
	if t, ok := loginOf(def); ok {
		spec.Login = d.logins.Source(t)
	}
	return upstream.Connect(ctx, d.record, spec)
}

// startHelper starts the compile helper like any other child: in a group of
// its own, on record.
func (d *daemon) startHelper(command []string) (script.HelperProc, error) {
	p, err := d.record.Start(proctree.Options{Command: command, Env: []string{"GOTRACEBACK=none"}, Label: "compile helper"})
	if err != nil {
		return script.HelperProc{}, err
	}
	go func() { // its words are of no use to anyone, but must not block it
		buf := make([]byte, 4<<10)
		for {
			if _, err := p.Stderr.Read(buf); err != nil {
				return
			}
		}
	}()
	return script.HelperProc{Stdin: p.Stdin, Stdout: p.Stdout, Kill: sync.OnceFunc(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // no polite waits
		if err := p.Stop(ctx, proctree.Steps{}); err != nil {
			d.log.Warn("compile helper did not end", "error", err)
		}
		_ = p.Stdout.Close()
		_ = p.Stderr.Close()
	})}, nil
}
