package upstream

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"tenon/daemon/internal/fault"
)

// receive works on one message from the server and must not block: it runs in
// the goroutine that reads. The bytes are kept only when owned. Tie is the id
// of the call whose stream brought the message, 0 where there is one stream.
func (c *conn) receive(b []byte, owned bool, tie int64) {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))) // some servers begin with a byte order mark
	if len(b) == 0 {
		return
	}
	var m message
	if sniff(b, &m) {
		c.dispatch(b, &m, owned, tie)
		return
	}
	if b[0] == '[' && c.batch(b, tie) {
		return
	}
	// Not JSON: a number no JSON has (NaN), a cut line. If it was meant as an
	// answer, its caller must not wait for another.
	if bytes.Contains(b, []byte(`"jsonrpc"`)) {
		if id, ok := guessID(b, b[max(0, len(b)-edgeBytes):]); ok && c.waiting(id) {
			c.settle(id, nil, fault.New(fault.InvalidToolOutput, "server %s answered with malformed JSON", c.spec.Name).At(c.spec.Name, ""))
			return
		}
	}
	c.makeNoise(b)
}

// batch delivers the messages of a JSON-RPC batch, which protocol 2025-03-26
// allows. It reports false when b is no array of objects.
func (c *conn) batch(b []byte, tie int64) bool {
	var all [][]byte
	if end := scanArray(b, 0, 1, func(v []byte) { all = append(all, v) }); end != len(b) || len(all) == 0 {
		return false
	}
	for _, v := range all {
		var m message
		if sniff(v, &m) {
			c.dispatch(v, &m, false, tie)
		} else {
			c.makeNoise(v)
		}
	}
	return true
}

func (c *conn) dispatch(b []byte, m *message, owned bool, tie int64) {
	switch {
	case m.response():
		if id, ok := number(m.id); ok && id > firstID {
			c.answered(id, m, owned)
			return
		}
		c.pass(b)
	case m.request():
		c.asked(m, tie)
	case m.notice():
		c.noticed(b, m, tie)
	case m.method == nil && c.empty(m.id):
	default:
		c.makeNoise(b)
	}
}

func (c *conn) answered(id int64, m *message, owned bool) {
	if m.err != nil {
		c.settle(id, nil, c.refused(m.err))
		return
	}
	if c.flood.missed.Load() > 0 {
		c.tellMissed(id)
	}
	p := c.take(id)
	if p == nil {
		return // late, after a cancel
	}
	if m.result[0] != '{' { // every result of the protocol is an object
		p.settle(nil, c.unusable("with a result that is no object"))
		return
	}
	result := m.result
	if !owned {
		result = bytes.Clone(result)
	}
	c.answers.Add(1)
	p.settle(result, nil)
}

// empty fails the call that an answer with neither result nor error was meant
// for: no other will come. It reports false when there is no such call.
func (c *conn) empty(id []byte) bool {
	n, ok := number(id)
	if !ok || !c.waiting(n) {
		return false
	}
	c.settle(n, nil, c.unusable("with neither a result nor an error"))
	return true
}

func (c *conn) unusable(how string) error {
	return fault.New(fault.InvalidToolOutput, "server %s answered %s", c.spec.Name, how).At(c.spec.Name, "")
}

func (c *conn) noticed(b []byte, m *message, tie int64) {
	switch m.name() {
	case "notifications/progress":
		var params struct {
			Token    json.RawMessage `json:"progressToken"`
			Progress float64         `json:"progress"`
			Total    float64         `json:"total"`
			Message  string          `json:"message"`
		}
		if json.Unmarshal(m.params, &params) != nil {
			return
		}
		if id, ok := number(params.Token); ok {
			c.mu.Lock()
			p := c.calls[id]
			c.mu.Unlock()
			if p != nil {
				p.heard(id, Progress{params.Progress, params.Total, c.mask.Replace(params.Message)})
			}
		}
	case "notifications/cancelled":
		var params struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.params, &params) == nil {
			c.withdrawn(string(params.RequestID))
		}
	case "notifications/elicitation/complete":
		var params struct {
			ID string `json:"elicitationId"`
		}
		if json.Unmarshal(m.params, &params) == nil {
			c.visited(params.ID)
		}
	case NoticeLog:
		c.logged(m, tie)
	case NoticeResourceUpdated, NoticeResourcesChanged, NoticePromptsChanged:
		c.notice(m, tie)
	default:
		c.pass(b)
	}
}

// pass gives a message to the SDK's session.
func (c *conn) pass(b []byte) {
	link := c.sdk.Load()
	if link == nil {
		return
	}
	msg, err := jsonrpc.DecodeMessage(b)
	if err != nil {
		c.makeNoise(b)
		return
	}
	link.deliver(msg)
}

func (c *conn) waiting(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id] != nil
}

// unreadable is told of a message beyond the cap, by its two ends. The call
// that it answers fails; with the id in neither end that can be said only when
// one call is in flight.
func (c *conn) unreadable(head, tail []byte, tie int64) {
	id, ok := guessID(head, tail)
	if !ok || !c.waiting(id) {
		id = tie
	}
	if id == 0 {
		id, _ = c.single()
	}
	if id == 0 {
		c.makeNoise(head)
		return
	}
	c.settle(id, nil, fault.New(fault.InvalidToolOutput, "server %s answered with more than %s, the limit of one message", c.spec.Name, size(c.limit)).
		WithHint("ask the tool for less, or for a file").At(c.spec.Name, ""))
}

// single returns the call in flight, if there is exactly one.
func (c *conn) single() (int64, *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) != 1 {
		return 0, nil
	}
	for id, p := range c.calls {
		return id, p
	}
	return 0, nil
}

func (c *conn) inFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

func (c *conn) makeNoise(b []byte) {
	if c.spec.Observer == nil || !c.noise.allow(time.Now()) {
		return
	}
	// Cut first: masking a line of megabytes would cost more than it is worth.
	s := string(b[:min(len(b), stderrLine)])
	c.spec.Observer.Noise(clip(c.mask.Replace(s), noiseSample))
}
