package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"

	"tenon/daemon/internal/fault"
)

var (
	errWithdrawn = errors.New("withdrawn by the server")
	errCallOver  = errors.New("the call is over")
)

// asked answers one request of the server. Everything but a question for a
// human is answered at once.
func (c *conn) asked(m *message, tie int64) {
	id := string(m.id) // copied: the question may outlive the message
	switch method := m.name(); method {
	case "ping":
		c.reply(id, `{}`)
	case "roots/list":
		c.reply(id, c.rootList())
	case "elicitation/create", "sampling/createMessage":
		params := append(json.RawMessage(nil), m.params...)
		if !c.ask(id, method, params, tie) {
			c.decline(id, method, "no call to ask for, or several at once; concurrency 1 ties a question to its call")
		}
	default:
		c.refuse(id, codeMethodNotFound, "method not found: "+method)
	}
}

// ask puts a question to the call it belongs to: the one whose stream brought
// it, else the only one in flight. It reports false when there is none or
// nobody answers for it.
func (c *conn) ask(id, method string, params json.RawMessage, tie int64) bool {
	call := tie
	c.mu.Lock()
	p := c.calls[tie]
	c.mu.Unlock()
	if p == nil {
		if call, p = c.single(); p == nil {
			return false
		}
	}
	ctx, end := context.WithCancelCause(c.ctx)
	questions, resume := p.question(call, func() { end(errCallOver) })
	if questions == nil {
		resume()
		end(nil)
		return false
	}
	c.mu.Lock()
	c.asking[id] = end
	c.mu.Unlock()
	started := c.start(func() {
		defer resume()
		answer, err := questions.Ask(ctx, method, params)
		withdrawn := errors.Is(context.Cause(ctx), errWithdrawn)
		c.mu.Lock()
		delete(c.asking, id)
		c.mu.Unlock()
		end(nil)
		switch {
		case withdrawn: // the server wants no answer
		case err != nil:
			c.decline(id, method, fault.From(err).Message)
		case !isObject(answer):
			c.decline(id, method, "no answer")
		default:
			c.reply(id, string(appendOneLine(nil, answer)))
		}
	})
	if !started {
		end(nil)
		resume()
	}
	return started
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
	if method == "elicitation/create" {
		c.reply(id, `{"action":"decline"}`)
	} else {
		c.refuse(id, -1, "declined: "+why)
	}
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
