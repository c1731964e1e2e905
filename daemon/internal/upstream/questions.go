package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/question"
)

var (
	errWithdrawn = errors.New("withdrawn by the server")
	errCallOver  = errors.New("the call is over")
)

// maxAsking bounds the questions of one server that are open at once.
const maxAsking = 32

// asked answers one request of the server. Everything but a question for a
// human is answered at once.
func (c *conn) asked(m *message, tie int64) {
	id := string(m.id) // copied: the question may outlive the message
	switch method := m.name(); method {
	case "ping":
		c.reply(id, `{}`)
	case "roots/list":
		c.reply(id, c.rootList())
	case question.MethodElicitation, question.MethodSampling:
		if len(m.params) > question.MaxSampling {
			c.refuse(id, codeInvalidParams, "the question is too long")
			return
		}
		params := bytes.Clone(m.params)
		if why := c.ask(id, method, params, tie); why != "" {
			c.decline(id, method, why)
		}
	default:
		c.refuse(id, codeMethodNotFound, "method not found: "+method)
	}
}

// ask puts a question to the call it belongs to: the one whose stream brought
// it, else the only one in flight. Where nobody is asked it says why.
func (c *conn) ask(id, method string, params json.RawMessage, tie int64) (why string) {
	call, p, others := c.asker(tie)
	if p == nil {
		why = "no call is in flight that it could belong to"
		if len(others) > 0 {
			why = "several calls are in flight and nothing ties it to one of them (concurrency: 1 does)"
		}
		for _, q := range others {
			q.Declined(method, why)
		}
		return why
	}
	ctx, end := context.WithCancelCause(c.ctx)
	questions, resume := p.question(call, func() { end(errCallOver) })
	if questions == nil {
		resume()
		end(nil)
		return "nobody answers for the call"
	}
	if !c.opened(id, end) {
		resume()
		end(nil)
		why = "too many questions are open, or two of one id"
		questions.Declined(method, why)
		return why
	}
	if !c.start(func() {
		defer resume()
		answer, err := answered(ctx, questions, method, params)
		withdrawn := errors.Is(context.Cause(ctx), errWithdrawn)
		c.mu.Lock()
		delete(c.asking, id)
		c.mu.Unlock()
		end(nil)
		switch {
		case withdrawn: // the server wants no answer
		case fault.KindOf(err) == fault.InvalidToolInput:
			c.refuse(id, codeInvalidParams, fault.From(err).Message)
		case err != nil:
			c.decline(id, method, fault.From(err).Message)
		default:
			c.reply(id, string(answer))
		}
	}) {
		end(nil)
		resume()
	}
	return "" // where it was not started, the wire is gone
}

// asker finds the tools/call that a question belongs to. Nil with others means
// that it could be each of them.
func (c *conn) asker(tie int64) (int64, *pending, []Questions) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.calls[tie]; p != nil {
		return tie, p, nil
	}
	var one int64
	var found []*pending
	for id, p := range c.calls {
		if p.tool {
			one, found = id, append(found, p)
		}
	}
	if len(found) == 1 {
		return one, found[0], nil
	}
	var others []Questions
	for _, p := range found {
		if p.questions != nil { // in c.calls it belongs to its call; nobody writes it
			others = append(others, p.questions)
		}
	}
	return 0, nil, others
}

// opened notes a question that is being answered.
func (c *conn) opened(id string, end context.CancelCauseFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.asking[id]; twice || len(c.asking) >= maxAsking {
		return false
	}
	c.asking[id] = end
	return true
}

// answered asks and gives the answer on one line.
func answered(ctx context.Context, questions Questions, method string, params json.RawMessage) (json.RawMessage, error) {
	answer, err := questions.Ask(ctx, method, params)
	if err != nil {
		return nil, err
	}
	if !isObject(answer) {
		return nil, fault.New(fault.InternalError, "no answer")
	}
	return appendOneLine(nil, answer), nil
}

// withdrawn ends a question that the server cancelled.
func (c *conn) withdrawn(id string) {
	c.mu.Lock()
	end := c.asking[id]
	c.mu.Unlock()
	if end != nil {
		end(errWithdrawn)
	}
}

// decline answers a question for which there is nobody: for elicitation the
// protocol has a result, for sampling an error.
func (c *conn) decline(id, method, why string) {
	if method == question.MethodElicitation {
		c.reply(id, string(question.Refusal(question.Decline)))
	} else {
		c.refuse(id, -1, "declined: "+why)
	}
	c.tellDeclined(method, why)
}

func (c *conn) tellDeclined(method, why string) {
	if c.spec.Observer != nil {
		c.spec.Observer.ServerLog("warning", method+" declined: "+why)
	}
}

// rootList is the result of roots/list.
func (c *conn) rootList() string {
	c.mu.Lock()
	dirs := c.roots
	c.mu.Unlock()
	type root struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
	}
	list := struct {
		Roots []root `json:"roots"`
	}{Roots: []root{}}
	for _, d := range dirs {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(d)}
		list.Roots = append(list.Roots, root{u.String(), filepath.Base(d)})
	}
	b, err := json.Marshal(list)
	if err != nil { // cannot happen with strings
		return `{"roots":[]}`
	}
	return string(b)
}

// reply and refuse are best effort: a broken wire ends the question as well.
func (c *conn) reply(id, result string) {
	_ = c.wire.send([]byte(`{"jsonrpc":"2.0","id":`+id+`,"result":`+result+"}\n"), 0)
}

func (c *conn) refuse(id string, code int, text string) {
	b := []byte(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + strconv.Itoa(code) + `,"message":`)
	_ = c.wire.send(append(appendString(b, text), '}', '}', '\n'), 0)
}
