package fakeserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// firstModern is the protocol version that begins with server/discover, and in
// which a server asks by its result instead of by a request.
const firstModern = "2026-07-28"

// requestState is what this server gives with an input_required result and
// wants back.
const requestState = "as it was"

func (s *server) modern() bool { return s.o.version >= firstModern }

func (s *server) discover(out writer, m *envelope) {
	s.arrive("initialize", out)
	data, _ := json.Marshal(map[string]any{
		"resultType": "complete", "supportedVersions": []string{s.o.version},
		"capabilities": map[string]any{"tools": map[string]any{}}, "instructions": s.o.instructions,
		"_meta": map[string]any{"io.modelcontextprotocol/serverInfo": map[string]any{"name": s.o.name, "version": "1.0.0"}},
	})
	answer(out, m.ID, data)
}

// ask asks the client and gives its answer back as the call's result.
func (c *call) ask(ctx context.Context, method string, params []byte) []byte {
	got, needs, err := c.put(ctx, "asked", method, params)
	switch {
	case needs != nil:
		return needs
	case err != nil:
		return textResult(err.Error())
	}
	return structuredResult(got)
}

// put asks: as a request where the protocol has those, else with a result that
// says what is needed, which is returned until the client has called again.
func (c *call) put(ctx context.Context, key, method string, params []byte) (got json.RawMessage, needs []byte, err error) {
	if !c.s.modern() {
		got, err = c.p.ask(ctx, c.out, method, params)
		return got, nil, err
	}
	if got, ok := c.given[key]; ok {
		return got, nil, nil
	}
	if len(params) == 0 {
		params = []byte("{}")
	}
	return nil, fmt.Appendf(nil, `{"resultType":"input_required","inputRequests":{%q:{"method":%q,"params":%s}},"requestState":%q}`,
		key, method, params, requestState), nil
}

// question asks what --question says and drops the answer; it returns a result
// when the client has to call again.
func (c *call) question(ctx context.Context, kind string) []byte {
	method, params := "elicitation/create", elicitation("May I?", nil, "")
	switch kind {
	case "url":
		params = elicitation("Please look at this page", nil, "https://example.com/page")
	case "sampling":
		method, params = "sampling/createMessage", sampling("What now?")
	}
	_, needs, _ := c.put(ctx, "first", method, params)
	return needs
}

// elicitation makes the params of one; without a schema it asks for ok.
func elicitation(message string, schema json.RawMessage, url string) []byte {
	text, _ := json.Marshal(message)
	if url != "" {
		address, _ := json.Marshal(url)
		return fmt.Appendf(nil, `{"mode":"url","message":%s,"url":%s,"elicitationId":"page-1"}`, text, address)
	}
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`)
	}
	return fmt.Appendf(nil, `{"message":%s,"requestedSchema":%s}`, text, schema)
}

func sampling(message string) []byte {
	text, _ := json.Marshal(message)
	return fmt.Appendf(nil, `{"messages":[{"role":"user","content":{"type":"text","text":%s}}],"maxTokens":100}`, text)
}

func elicit(ctx context.Context, c *call) []byte {
	params := elicitation(c.args.Text, c.args.Schema, c.args.URL)
	if c.args.Ms <= 0 {
		return c.ask(ctx, "elicitation/create", params)
	}
	short, cancel := context.WithTimeout(ctx, time.Duration(c.args.Ms)*time.Millisecond)
	defer cancel()
	if _, _, err := c.put(short, "asked", "elicitation/create", params); errors.Is(err, context.DeadlineExceeded) {
		return textResult("taken back")
	}
	return textResult("answered in time")
}

// visit refuses until somebody was sent to its page, and says after ms that the
// visit is over.
func visit(_ context.Context, c *call) []byte {
	c.s.mu.Lock()
	sent := c.s.sent
	c.s.sent = true
	c.s.mu.Unlock()
	if sent {
		return textResult("visited")
	}
	c.refusal = []byte(`{"code":-32042,"message":"a page has to be visited","data":{"elicitations":[` +
		string(elicitation("Please sign in", nil, "https://example.com/sign-in")) + `]}}`)
	if c.args.Ms >= 0 {
		c.p.start(func() {
			ctx, end := c.p.begin("visit")
			defer end()
			if pause(ctx, time.Duration(c.args.Ms)*time.Millisecond) {
				c.p.out.message([]byte(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"page-1"}}`))
			}
		})
	}
	return nil
}
