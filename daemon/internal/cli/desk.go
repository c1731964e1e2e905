package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"tenon/daemon/internal/client"
	"tenon/proto"
)

// maxAsks is how many questions may wait for the person at the terminal.
const maxAsks = 64

// errOver says that a question was taken back while it stood on the terminal.
var errOver = errors.New("the question is over")

// desk is where the questions of one command wait for the person at the
// terminal, who answers one after the other.
type desk struct {
	app     *app
	client  *client.Client
	waiting chan put

	mu   sync.Mutex
	over map[string]chan struct{} // by question: closed when nobody wants the answer any more
}

// put is one question on the desk; one of the two is set.
type put struct {
	ask      *proto.Ask
	question *proto.Question
	over     <-chan struct{}
}

// openDesk begins to put questions until close or the end of ctx. Where nobody
// can answer it takes none.
func (a *app) openDesk(ctx context.Context, c *client.Client) *desk {
	d := &desk{app: a, client: c, waiting: make(chan put, maxAsks), over: map[string]chan struct{}{}}
	if c.Identity.Interactive {
		go d.work(ctx)
	}
	return d
}

// close ends the desk; frame must not be called any more.
func (d *desk) close() { close(d.waiting) }

// frame takes what a run tells of its questions; other frames mean nothing here.
func (d *desk) frame(f proto.Frame) {
	switch f.Type {
	case "ask":
		var q proto.Ask
		if json.Unmarshal(f.Data, &q) == nil && q.ID != "" {
			d.add(put{ask: &q})
		}
	case "question":
		var q proto.Question
		if json.Unmarshal(f.Data, &q) == nil && q.ID != "" {
			over := make(chan struct{})
			d.mu.Lock()
			d.over[q.ID] = over
			d.mu.Unlock()
			d.add(put{question: &q, over: over})
		}
	case "withdraw":
		var w proto.Withdraw
		if json.Unmarshal(f.Data, &w) == nil {
			d.mu.Lock()
			over := d.over[w.ID]
			delete(d.over, w.ID)
			d.mu.Unlock()
			if over != nil {
				close(over)
			}
		}
	}
}

func (d *desk) add(p put) {
	if !d.client.Identity.Interactive {
		return
	}
	select {
	case d.waiting <- p:
	default: // more questions than a person can answer
	}
}

func (d *desk) work(ctx context.Context) {
	t := &typist{in: bufio.NewReader(d.app.In), lines: make(chan entered, 1)}
	for p := range d.waiting {
		going := true
		if p.ask != nil {
			going = d.app.put(ctx, d.client, t, first(p.ask.Run, "this command"), *p.ask, nil)
		} else {
			going = d.answer(ctx, t, p)
		}
		if !going {
			return
		}
	}
}

// answer puts one question of a server; false means that nobody types.
func (d *desk) answer(ctx context.Context, t *typist, p put) bool {
	f := &filling{app: d.app, ctx: ctx, t: t, over: p.over}
	for {
		result, err := f.fill(*p.question)
		answer := proto.Answer{Result: result}
		switch {
		case errors.Is(err, errOver):
			d.app.note("%s: %v", p.question.ID, err)
			return true
		case ctx.Err() != nil:
			return false
		case err != nil:
			answer = proto.Answer{Unavailable: "nobody types at the terminal"}
		}
		failed := d.client.Reply(ctx, p.question.ID, answer)
		if failed != nil && ctx.Err() == nil {
			d.app.note("%s: %v", p.question.ID, failed)
		}
		if failed == nil || err != nil || !isUsage(failed) {
			return err == nil
		}
		// The daemon knows better than the form; it may be filled in once more.
	}
}

// entered is one line, or why there is none.
type entered struct {
	line string
	err  error
}

// typist reads lines only when one is wanted, so that what is typed to a program
// afterwards is not swallowed. A read that nobody waits for any more serves the
// next question.
type typist struct {
	in      *bufio.Reader
	lines   chan entered
	reading bool
}

// line waits for a line, without its end. The errors are those of the input,
// errOver and the end of ctx.
func (t *typist) line(ctx context.Context, over <-chan struct{}) (string, error) {
	if !t.reading {
		t.reading = true
		go func() { // ends with the line, or with this process
			line, err := t.in.ReadString('\n')
			t.lines <- entered{line, err}
		}()
	}
	select {
	case got := <-t.lines:
		t.reading = false
		if got.err != nil && got.line == "" {
			return "", got.err
		}
		return got.line, nil
	case <-over:
		return "", errOver
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
