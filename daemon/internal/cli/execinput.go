package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// maxSource bounds a program; the daemon's own limit of a request is near it.
const maxSource = 16 << 20

// source reads the program: -e, FILE, or standard input.
func (o *execOptions) source(ctx context.Context) (code, name string, err error) {
	switch {
	case o.codeGiven:
		return o.code, "", nil
	case o.file != "" && o.file != "-":
		raw, err := os.ReadFile(o.app.abs(o.file))
		if err != nil {
			return "", "", fault.New(fault.UsageError, "cannot read the program: %w", err)
		}
		return string(raw), filepath.Base(o.file), nil
	case o.file == "" && o.app.inTerminal:
		return "", "", fault.New(fault.UsageError, "no program: give -e CODE or a FILE").
			WithHint("tenon exec -e '1 + 1'; or - to type one, ended with Ctrl-D")
	}
	raw, err := o.app.readInput(ctx, "the program")
	if err != nil {
		return "", "", err
	}
	if len(raw) > maxSource {
		return "", "", fault.New(fault.UsageError, "the program has more than %d bytes", maxSource)
	}
	o.file = "-"
	return string(raw), "", nil
}

// mentionsInput is whether a program could read what is piped in: it names
// input, or takes it as a parameter of its default export.
var mentionsInput = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\binput\b|\bstdin\b|\bexport\s+default\b`)
})

// takeInput reads the program's input into its request: --input, or what is piped
// in when the program, whose text is code, mentions it. A program that does not never waits for a pipe that
// nobody closes, which is what an agent's shell tool often leaves open.
func (o *execOptions) takeInput(ctx context.Context, code string, req *proto.ExecRequest) error {
	switch {
	case o.inputGiven && o.input != "-":
		if !json.Valid([]byte(o.input)) {
			return fault.New(fault.UsageError, "--input is not JSON: %s", short(o.input, 60)).
				WithHint("a text needs quotes: --input '\"text\"'")
		}
		req.Input = json.RawMessage(o.input)
		return nil
	case o.file == "-": // standard input was the program
		o.inputTaken = true
		if o.inputGiven {
			return fault.New(fault.UsageError, "standard input cannot be both program and input")
		}
		return nil
	case !o.inputGiven && (!piped(o.app.In) || !mentionsInput().MatchString(code) || ownInput().MatchString(code)):
		return nil
	}
	o.inputTaken = true
	raw, err := o.app.readInput(ctx, "the input")
	if err != nil {
		return err
	}
	text := string(raw) // the daemon makes the input of it: JSON where it is JSON
	req.Stdin = &text
	return nil
}

// piped reports whether r is a pipe, a socket or a file: neither a terminal
// nor /dev/null.
func piped(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return r != nil
	}
	st, err := f.Stat()
	return err == nil && (st.Mode().IsRegular() || st.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0)
}
