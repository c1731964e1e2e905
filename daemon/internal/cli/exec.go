package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/typecheck"
	"tenon/proto"
)

type execOptions struct {
	app         *app
	code        string
	codeGiven   bool
	file        string // path, or - for standard input
	args        []string
	engine      string
	sandbox     string
	cwd         string
	timeout     time.Duration
	timeoutSet  bool
	callTimeout time.Duration
	maxOutput   string
	maxCalls    int
	memory      string
	input       string
	inputGiven  bool
	typecheck   string
	where       string
	inputTaken  bool // standard input was the program or its input
	live        bool // what the process wrote was shown at once
	stream      bool
}

func (a *app) execCommand() *cobra.Command {
	o := &execOptions{app: a}
	c := &cobra.Command{
		Use:   "exec [-e CODE | FILE | -] [-- ARGS…]",
		Short: "Run a program that calls tools, and print its value",
		Long: "Runs TypeScript or JavaScript in the daemon. The value of the last expression,\n" +
			"or of a return or default export, is printed: a string as it is, anything else\n" +
			"as JSON. Servers are globals: await fake.echo({text: \"hi\"}).\n\n" +
			"Without -e and FILE the program is read from standard input. Otherwise a program\n" +
			"that mentions input gets what is piped in, as JSON when it is JSON, else as text.",
		Example: "  tenon exec -e 'await fake.echo({text: \"hi\"})'\n  tenon exec report.ts -- --since monday\n  echo '[1,2]' | tenon exec -e 'input.length'",
		RunE: func(cmd *cobra.Command, words []string) error {
			o.codeGiven = cmd.Flags().Changed("eval")
			if err := o.given(cmd); err != nil {
				return err
			}
			if err := o.words(cmd, words); err != nil {
				return err
			}
			return execRun(cmd.Context(), o)
		},
	}
	c.Flags().StringVarP(&o.code, "eval", "e", "", "`code` to run")
	o.register(c.Flags())
	return c
}

// register makes the flags that exec and run have in common.
func (o *execOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.engine, "engine", "", "embedded, deno, bun or node; default: script.engine")
	f.StringVar(&o.sandbox, "sandbox", "", "read-only, workspace-write or full: what an engine that is a process may do; default: permissions.sandbox, which is also the most")
	f.StringVar(&o.cwd, "cwd", "", "`directory` the program acts in; default: this one")
	f.DurationVar(&o.timeout, "timeout", 0, "limit of the run, waiting for a human not counted; 0: none")
	f.DurationVar(&o.callTimeout, "call-timeout", 0, "limit of each call; default: the tool's")
	f.StringVar(&o.maxOutput, "max-output", "", "`bytes` of value and logs to return, such as 1MiB; the rest stays readable with: tenon runs output")
	f.IntVar(&o.maxCalls, "max-calls", 0, "most calls of the run; default: script.maxToolCalls")
	f.StringVar(&o.memory, "memory", "", "`bytes` the program may use, such as 128MiB; from 4MiB to 1984MiB")
	f.StringVar(&o.input, "input", "", "`JSON` the program sees as input; - reads standard input")
	f.StringVar(&o.typecheck, "typecheck", "", "off, warn or strict: hold the program against the types of its tools first; default: script.typecheck")
	f.StringVar(&o.where, "where", "auto", "local: deno, bun and node beside this command; remote: in the daemon; auto: local where it can be")
	f.BoolVar(&o.stream, "stream", false, "print every frame of the run as a line of JSON")
}

// given reads which of them were given.
func (o *execOptions) given(cmd *cobra.Command) error {
	o.inputGiven = cmd.Flags().Changed("input")
	o.timeoutSet = cmd.Flags().Changed("timeout")
	if cmd.Flags().Changed("max-calls") && o.maxCalls == 0 {
		return fault.New(fault.UsageError, "--max-calls must be more than 0").WithHint("script.maxToolCalls in the config may be 0: none are allowed")
	}
	return nil
}

// words splits the arguments at --: before it at most the file.
func (o *execOptions) words(cmd *cobra.Command, words []string) error {
	before := words
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		before, o.args = words[:at], words[at:]
	}
	switch {
	case o.codeGiven && len(before) > 0:
		return fault.New(fault.UsageError, "unexpected argument %q beside -e", before[0]).
			WithHint("arguments of the program go after --")
	case len(before) > 1:
		return fault.New(fault.UsageError, "unexpected argument %q", before[1]).
			WithHint("arguments of the program go after --")
	case len(before) == 1:
		o.file = before[0]
	}
	return nil
}

func execRun(ctx context.Context, o *execOptions) error {
	req, err := o.request(ctx)
	if err != nil {
		return err
	}
	c, err := o.app.connect()
	if err != nil {
		return err
	}
	return o.follow(ctx, c, req, req.Code)
}

// follow runs a program, whose text is code, and shows it to its end.
func (o *execOptions) follow(ctx context.Context, c *client.Client, req proto.ExecRequest, code string) error {
	v := &execView{app: o.app, client: c, stream: o.stream, inputTaken: o.inputTaken, readsInput: ownInput().MatchString(code)}
	result, err := v.follow(ctx, req)
	o.live = v.live
	if err != nil {
		return interrupted(ctx, err)
	}
	return o.show(result)
}

// request reads code, input and limits.
func (o *execOptions) request(ctx context.Context) (proto.ExecRequest, error) {
	req, err := o.settings()
	if err != nil {
		return req, err
	}
	if req.Code, req.Name, err = o.source(ctx); err != nil {
		return req, err
	}
	return req, o.takeInput(ctx, req.Code, &req)
}

// settings reads everything but the program and its input.
func (o *execOptions) settings() (proto.ExecRequest, error) {
	req := proto.ExecRequest{
		Args: o.args, Engine: o.engine, Sandbox: o.sandbox, Cwd: o.app.abs(o.cwd),
		CallTimeoutMS: o.callTimeout.Milliseconds(), MaxToolCalls: o.maxCalls, Typecheck: o.typecheck, Where: o.where,
	}
	for _, f := range []struct {
		name, given string
		words       []string
	}{
		{"where", o.where, wheres},
		{"sandbox", first(o.sandbox, "full"), sandboxModes()},
		{"typecheck", first(o.typecheck, typecheck.Off), typechecks},
	} {
		if !slices.Contains(f.words, f.given) {
			return req, fault.New(fault.UsageError, "--%s must be one of %s, not %q", f.name, strings.Join(f.words, ", "), f.given)
		}
	}
	if o.timeoutSet {
		ms := o.timeout.Milliseconds()
		req.TimeoutMS = &ms
	}
	var err error
	if req.MaxOutputBytes, err = size("--max-output", o.maxOutput); err != nil {
		return req, err
	}
	if req.MemoryBytes, err = size("--memory", o.memory); err != nil {
		return req, err
	}
	if m := req.MemoryBytes; m != 0 && (m < engine.MinMemory || m > engine.MaxMemory) {
		return req, fault.New(fault.UsageError, "--memory must be from 4MiB to 1984MiB, not %s", o.memory)
	}
	return req, nil
}

func size(name, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := config.ParseSize(text)
	if err != nil {
		return 0, fault.New(fault.UsageError, "%s: %w", name, err)
	}
	if n <= 0 {
		return 0, fault.New(fault.UsageError, "%s must be more than 0, not %s", name, text)
	}
	return n, nil
}

// show prints a finished run and turns its failure into the exit code.
func (o *execOptions) show(r *proto.RunResult) error {
	var err error
	switch {
	case o.stream: // the frames were the output
	case o.app.flags.json:
		err = o.app.document(r)
	default:
		err = o.print(r)
	}
	if err != nil {
		return err
	}
	if r.Error != nil {
		return failed{fault.FromWire(r.Error).Kind}
	}
	return nil
}

func (o *execOptions) print(r *proto.RunResult) error {
	a := o.app
	if r.Stdout != "" && !o.live {
		if err := a.text(r.Stdout); err != nil {
			return err
		}
	}
	if r.Stderr != "" && !o.live {
		a.note("%s", strings.TrimSuffix(r.Stderr, "\n"))
	}
	if len(r.Value) > 0 && string(r.Value) != "null" {
		if err := a.value(r.Value); err != nil {
			return err
		}
	}
	for _, w := range r.Warnings {
		a.say("warning: %s (%s)", inset(w.Message), w.Kind)
	}
	for _, f := range r.Artifacts {
		a.say("artifact %s: %s, %s, %d bytes (tenon runs output %s --artifact %s)", f.ID, dash(inset(f.Name)), dash(f.MimeType), f.Bytes, r.ID, f.ID)
	}
	if r.Truncated {
		a.say("output was cut; the whole of it: tenon runs output %s", r.ID)
	}
	if r.Error != nil {
		o.failure(r)
	}
	return nil
}

// failure shows why a run failed: place first, as compilers do.
func (o *execOptions) failure(r *proto.RunResult) {
	a, e := o.app, r.Error
	where := ""
	if e.Position != nil {
		where = fmt.Sprintf("%s:%d:%d: ", first(e.Position.File, o.file, "script"), e.Position.Line, e.Position.Column)
	}
	a.note("error: %s%s (%s)", where, inset(e.Message), e.Kind)
	a.feedback(e.Feedback, e.Message)
	a.hint(fault.Kind(e.Kind), e.Hint)
	if a.flags.verbose && e.Stack != "" {
		a.note("%s", e.Stack)
	}
}

// execView shows a run while it goes on.
type execView struct {
	inputTaken bool // standard input is not there for a process any more
	readsInput bool // the program reads standard input by itself
	live       bool // set when a process writes to our own streams

	app    *app
	client *client.Client
	stream bool
	id     string // of the run, once its start frame has come
	desk   *desk
}

// stopWait is how long an interrupted run may take to tell its end; the
// daemon's own grace is shorter (decisions: 100 ms on a user's abort).
const stopWait = 3 * time.Second

// follow runs the program. The user's interrupt cancels the run and waits for
// its result; a second look at the clock hangs up.
func (v *execView) follow(ctx context.Context, req proto.ExecRequest) (*proto.RunResult, error) {
	conn, hangUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer hangUp(nil)
	started := make(chan string, 1)
	v.desk = v.app.openDesk(conn, v.client)
	defer v.desk.close()
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(stopWait, func() { hangUp(context.Cause(ctx)) })
		context.AfterFunc(conn, func() { timer.Stop() })
		select {
		case id := <-started:
			if v.client.CancelRun(conn, id) != nil {
				hangUp(context.Cause(ctx))
			}
		case <-conn.Done():
		}
	})
	defer stop()
	if besideAtOnce(req) {
		stop() // the other way ends with ctx by itself
		return v.beside(ctx, req)
	}
	result, err := v.client.Exec(conn, req, func(f proto.Frame) {
		if f.Run != "" && v.id == "" {
			v.id = f.Run
			started <- f.Run
		}
		v.frame(f)
	})
	if errors.Is(err, client.ErrAttach) { // by the configuration's engine
		stop()
		return v.beside(ctx, req)
	}
	return result, err
}

// frame shows one frame.
func (v *execView) frame(f proto.Frame) {
	v.desk.frame(f)
	if v.stream {
		if raw, err := marshal(f); err == nil {
			_ = v.app.write(append(raw, '\n')) // a closed pipe ends the process
		}
		if f.Type != "ask" {
			return
		}
	}
	switch f.Type {
	case "log":
		var l proto.Log
		if json.Unmarshal(f.Data, &l) == nil && !v.app.flags.json {
			v.log(l)
		}
	case "emit":
		if !v.app.flags.json {
			v.app.say("emit: %s", f.Data)
		}
	case "call":
		var c proto.CallEvent
		if v.app.flags.verbose && json.Unmarshal(f.Data, &c) == nil {
			v.app.note("%s %s.%s %s", v.id, c.Server, c.Tool, c.Status)
		}
	case "ask":
		var q proto.Ask
		if !v.client.Identity.Interactive && json.Unmarshal(f.Data, &q) == nil && q.ID != "" {
			v.app.say("waiting for approval of %s: tenon approve %s, or tenon deny %s", q.Key, q.ID, q.ID)
		}
	}
}

func (v *execView) log(l proto.Log) {
	text := l.Message
	if len(l.Attrs) > 0 && string(l.Attrs) != "{}" && string(l.Attrs) != "null" {
		text += " " + string(l.Attrs)
	}
	switch l.Level {
	case "warn", "error":
		v.app.say("%s: %s", l.Level, text)
	case "debug":
		if v.app.flags.verbose {
			v.app.note("debug: %s", text)
		}
	default:
		v.app.say("%s", text)
	}
}

// interrupted is Cancelled when the user's interrupt caused err.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fault.New(fault.Cancelled, "cancelled")
	}
	return err
}
