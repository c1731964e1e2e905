package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// masked is what stands in history where a secret stood.
const masked = "[redacted]"

func (a *app) runsRerunCommand() *cobra.Command {
	var stream bool
	c := &cobra.Command{
		Use:   "rerun ID",
		Short: "Run the program of a run again, and say what differs",
		Long: "Runs the same program again with the same input, arguments, engine, directory and\n" +
			"limits, and says on standard error what differs from the first time. A program that\n" +
			"history does not have whole is refused: one that is very long, or that a secret was\n" +
			"masked in. A saved script runs as it is now. Standard input is not kept; where\n" +
			"the run had some, that is said.",
		Args: args(1, 1),
		RunE: func(cmd *cobra.Command, words []string) error { return runsRerun(cmd.Context(), a, words[0], stream) },
	}
	c.Flags().BoolVar(&stream, "stream", false, "print every frame of the run as a line of JSON")
	return c
}

func runsRerun(ctx context.Context, a *app, id string, stream bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	if id, err = runNamed(ctx, a, c, id, false); err != nil {
		return err
	}
	before, err := c.Run(ctx, id)
	if err != nil {
		return interrupted(ctx, err)
	}
	req, err := again(before)
	if err != nil {
		return err
	}
	if before.Options != nil && before.Options.Piped {
		a.say("%s had standard input, which is not kept: it reads nothing now", before.ID)
	}
	v := &execView{app: a, client: c, stream: stream, inputTaken: true}
	result, err := v.follow(ctx, req)
	if err != nil {
		return interrupted(ctx, err)
	}
	o := &execOptions{app: a, stream: stream, live: v.live}
	shown := o.show(result)
	a.say("%s", compared(ctx, c, before, result))
	return shown
}

// again is the request that makes a run anew, or why there is none.
func again(r proto.Run) (proto.ExecRequest, error) {
	req := proto.ExecRequest{Code: r.Code, Engine: r.Engine, Cwd: r.Cwd}
	if r.Status == "running" {
		return req, fault.New(fault.UsageError, "run %s goes on", r.ID).WithHint("tenon runs cancel %s ends it", r.ID)
	}
	if r.Engine == "call" {
		return req, fault.New(fault.UsageError, "run %s is one call and no program", r.ID).WithHint("tenon call SERVER TOOL makes it again")
	}
	o := proto.RunOptions{}
	if r.Options != nil {
		o = *r.Options
	}
	if len(o.Cut) > 0 || r.Code == "" && o.Script == "" {
		return req, fault.New(fault.UsageError, "run %s is not kept whole: it was too long", r.ID).WithHint("run its program from the file it came from")
	}
	if strings.Contains(r.Code+strings.Join(o.Args, "")+string(o.Input), masked) {
		return req, fault.New(fault.UsageError, "run %s is not kept as it was: a secret is masked in its program or input", r.ID).
			WithHint("run its program from the file it came from")
	}
	req.Args, req.Input, req.Sandbox, req.Typecheck, req.Where = o.Args, o.Input, o.Sandbox, o.Typecheck, o.Where
	if o.Sandbox == "confined" {
		req.Sandbox = "" // the engine that has no other mode
	}
	if o.Script != "" {
		req.Code, req.Script, req.Export = "", o.Script, o.Export
	}
	if l := o.Limits; l != nil {
		req.TimeoutMS, req.CallTimeoutMS, req.MaxOutputBytes, req.MaxToolCalls, req.MemoryBytes =
			l.TimeoutMS, l.CallTimeoutMS, l.MaxOutputBytes, l.MaxToolCalls, l.MemoryBytes
	}
	return req, nil
}

// compared says what differs from the run before.
func compared(ctx context.Context, c *client.Client, before proto.Run, now *proto.RunResult) string {
	var differs []string
	note := func(what, was, is string) {
		if was != is {
			differs = append(differs, fmt.Sprintf("%s %s, was %s", what, dash(is), dash(was)))
		}
	}
	kind := ""
	if now.Error != nil {
		kind = now.Error.Kind
	}
	after, err := c.Run(ctx, now.ID)
	if err == nil {
		note("status", before.Status, after.Status)
		note("engine", before.Engine, after.Engine)
		note("directory", before.Cwd, after.Cwd)
		if !lone(before.Session) || !lone(after.Session) {
			note("session", before.Session, after.Session)
		}
		if before.Code != after.Code {
			differs = append(differs, "the program")
		}
	}
	note("failure", before.Kind, kind)
	note("calls", fmt.Sprint(before.Calls), fmt.Sprint(len(now.Calls)))
	switch {
	case before.Result == nil || len(before.Result.Value) == 0:
	case before.Result.Truncated || now.Truncated:
		differs = append(differs, "the value is not compared: it was cut")
	case err == nil && after.Result != nil && !sameJSON(before.Result.Value, after.Result.Value):
		differs = append(differs, "the value")
	}
	if len(differs) == 0 {
		return "the same as " + before.ID
	}
	return "differs from " + before.ID + ": " + strings.Join(differs, "; ")
}

// lone is whether a session is that of one command, which has no other.
func lone(session string) bool { return strings.HasPrefix(session, "cli-") }

// sameJSON compares values as history keeps both: with secrets masked.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}
