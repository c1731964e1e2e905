package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/question"
)

// Bounds of one call that takes several rounds.
const (
	maxRounds  = 10                     // input_required results
	maxBusy    = 3                      // of those that ask nothing: the server wants to be tried again
	busyWait   = 200 * time.Millisecond // before the first of these; doubled by each
	maxVisits  = 10                     // pages that one refusal may name, and that are remembered to be done
	maxVisitID = 1 << 10                // bytes of such a page's id
	maxState   = 1 << 20                // bytes of requestState that are carried back
)

// codeURLRequired says that nothing was done yet, and that pages have to be
// visited before the same call can be (protocol 2025-11-25).
const codeURLRequired = -32042

// unfinished reports whether a server's answer asks for more than patience: it
// is cheap, since every answer passes here.
func (c *conn) unfinished(result json.RawMessage, err error) bool {
	if err != nil {
		var r *refusal
		return errors.As(err, &r) && r.Code == codeURLRequired
	}
	return c.requestMeta() != "" && bytes.Contains(result, []byte(`"input_required"`))
}

// further takes a call from its first answer on. What such an answer says is
// that the call was not made, so that sending it again repeats nothing. Wall
// holds for all rounds together; the time of humans between them does not count.
func (c *conn) further(ctx context.Context, call Call, began time.Time, result json.RawMessage, err error) (json.RawMessage, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(c.ctx, func() { end(c.Err()) })()
	var used time.Duration
	busy, visited := 0, false
	for rounds := 1; c.unfinished(result, err); rounds++ {
		used += time.Since(began)
		var more []byte
		if err != nil {
			if visited {
				return nil, c.stillRequired(&call, "although they were visited", err)
			}
			visited = true
			if err := c.visit(ctx, &call, err); err != nil {
				return nil, err
			}
		} else {
			if rounds > maxRounds {
				return nil, c.unusable(fmt.Sprintf("%d times that it needs more input", maxRounds))
			}
			var asked, done bool
			more, asked, done, err = c.input(ctx, &call, result)
			if err != nil {
				return nil, err
			}
			if done {
				return result, nil
			}
			if !asked {
				if busy++; busy > maxBusy {
					return nil, c.unusable("again and again that it wants to be asked later")
				}
				if !pause(ctx, busyWait<<(busy-1)) {
					return nil, endOf(ctx, c.spec.Name, call.Tool)
				}
			}
		}
		began = time.Now()
		result, err = c.round(ctx, &call, used, more)
	}
	return result, err
}

// input answers an input_required result: the members that the next round
// carries, and whether anything was asked. Done means that the result only
// looked like one.
func (c *conn) input(ctx context.Context, call *Call, result json.RawMessage) (more []byte, asked, done bool, err error) {
	var r struct {
		Type     string `json:"resultType"`
		Requests map[string]struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		} `json:"inputRequests"`
		State *string `json:"requestState"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return nil, false, false, c.unusable("that it needs input, but not readably: " + err.Error())
	}
	if r.Type != "input_required" {
		return nil, false, true, nil
	}
	if len(r.Requests) > maxAsking || r.State != nil && len(*r.State) > maxState {
		return nil, false, false, c.unusable("with too many questions at once, or too long a state")
	}
	if r.State == nil && len(r.Requests) == 0 {
		return nil, false, false, c.unusable("that it needs input, and not which")
	}
	if len(r.Requests) > 0 {
		more = append(more, `,"inputResponses":{`...)
		for i, key := range slices.Sorted(maps.Keys(r.Requests)) {
			answer, err := c.inputFor(ctx, call, r.Requests[key].Method, r.Requests[key].Params)
			if err != nil {
				return nil, false, false, err
			}
			if i > 0 {
				more = append(more, ',')
			}
			more = append(append(appendString(more, key), ':'), answer...)
		}
		more = append(more, '}')
	}
	if r.State != nil {
		more = appendString(append(more, `,"requestState":`...), *r.State)
	}
	return more, len(r.Requests) > 0, false, nil
}

// inputFor answers one request of an input_required result. A question that
// nobody answers is declined where the protocol has a result for that; the call
// fails where it has none.
func (c *conn) inputFor(ctx context.Context, call *Call, method string, params json.RawMessage) (json.RawMessage, error) {
	switch {
	case method == "roots/list":
		return json.RawMessage(c.rootList()), nil
	case question.KindOf(method) == "":
		return nil, c.unusable(fmt.Sprintf("that it needs %.40q, which is no question", method))
	case len(params) > question.MaxSampling:
		return nil, c.unusable("with a question that is too long")
	}
	var answer json.RawMessage
	err := error(fault.New(fault.ApprovalRequired, "nobody answers for the call"))
	if call.Questions != nil {
		answer, err = answered(ctx, call.Questions, method, params)
	}
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, endOf(ctx, c.spec.Name, call.Tool)
	}
	why := fault.From(err).Message
	c.tellDeclined(method, why)
	if method == question.MethodElicitation && fault.KindOf(err) != fault.InvalidToolInput {
		return question.Refusal(question.Decline), nil
	}
	return nil, fault.New(fault.ToolFailure, "server %s needs an answer to %s, which was declined: %s", c.spec.Name, method, why).
		At(c.spec.Name, call.Tool)
}

// visit sends somebody to the pages that a refusal names and waits until the
// server says that they are done.
func (c *conn) visit(ctx context.Context, call *Call, required error) error {
	var r *refusal
	errors.As(required, &r)
	var data struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if json.Unmarshal(r.Data, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxVisits {
		return required // nothing to be done about it
	}
	if call.Questions == nil {
		return c.stillRequired(call, "and nobody can be asked to visit them", required)
	}
	var over []<-chan struct{}
	for _, params := range data.Elicitations {
		q, err := question.Read(question.Elicitation, params)
		if err != nil || q.URL == "" || q.ID == "" {
			return required
		}
		done, forget := c.awaitVisit(q.ID)
		defer forget()
		over = append(over, done)
		answer, err := answered(ctx, call.Questions, question.MethodElicitation, params)
		if ctx.Err() != nil {
			return endOf(ctx, c.spec.Name, call.Tool)
		}
		if err != nil {
			c.tellDeclined(question.MethodElicitation, fault.From(err).Message)
			return c.stillRequired(call, "and nobody visited them: "+fault.From(err).Message, required)
		}
		var said struct {
			Action string `json:"action"`
		}
		if json.Unmarshal(answer, &said) != nil || said.Action != question.Accept {
			return c.stillRequired(call, "which the user did not want", required)
		}
	}
	if call.Patience <= 0 {
		return c.stillRequired(call, "which takes its time", required)
	}
	late := time.NewTimer(call.Patience)
	defer late.Stop()
	missing := false
	call.Questions.Waiting(func() {
		for _, done := range over {
			select {
			case <-done:
			case <-late.C:
				missing = true
				return
			case <-ctx.Done():
				return
			}
		}
	})
	switch {
	case ctx.Err() != nil:
		return endOf(ctx, c.spec.Name, call.Tool)
	case missing:
		return c.stillRequired(call, fmt.Sprintf("and the server did not say within %v that they are done", call.Patience), required)
	}
	return nil
}

// stillRequired is the end of a call whose pages were not visited.
func (c *conn) stillRequired(call *Call, how string, required error) error {
	return fault.New(fault.ToolFailure, "server %s wants pages to be visited before %s, %s", c.spec.Name, call.Tool, how).
		Because(required).At(c.spec.Name, call.Tool).
		WithHint("visit them where the server's question is shown, then call again; nothing was done yet")
}

// awaitVisit begins to listen for the end of one visit, before anybody is sent
// there.
func (c *conn) awaitVisit(id string) (<-chan struct{}, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := make(chan struct{})
	if at := slices.Index(c.early, id); at >= 0 {
		c.early = slices.Delete(c.early, at, at+1)
		close(done)
		return done, func() {}
	}
	c.visits[id] = done
	return done, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.visits[id] == done {
			delete(c.visits, id)
		}
	}
}

// visited is notifications/elicitation/complete. One of an id that nobody waits
// for is kept for a while: the refusal that names the id may be on its way from
// the reader to its call. It has no other effect.
func (c *conn) visited(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done := c.visits[id]; done != nil {
		close(done)
		delete(c.visits, id)
		return
	}
	if len(id) > maxVisitID {
		return
	}
	if len(c.early) == maxVisits {
		c.early = slices.Delete(c.early, 0, 1)
	}
	c.early = append(c.early, id)
}
