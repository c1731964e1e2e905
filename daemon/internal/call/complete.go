package call

import (
	"context"
	"encoding/json"

	"tenon/daemon/internal/policy"
)

// nothing is the completion that says nothing.
var nothing = json.RawMessage(`{"completion":{"values":[]}}`)

// Complete asks a server for completions of an argument; params are those of
// completion/complete, of a reference to a prompt or a resource template. What
// may not be read is not completed either; where the user would have to be asked
// nothing is sent, since a completion comes with every key.
func (p *Path) Complete(ctx context.Context, req Request, params json.RawMessage) (json.RawMessage, error) {
	var asked struct {
		Ref struct {
			Type string `json:"type"`
		} `json:"ref"`
	}
	_ = json.Unmarshal(params, &asked) // a reference of no known kind is read as one of a resource
	req.Method = ReadResource
	if asked.Ref.Type == "ref/prompt" {
		req.Method = GetPrompt
	}
	c, err := p.located(ctx, req)
	if err != nil {
		return nil, err
	}
	switch verdict := c.decide(ctx); verdict.Action {
	case policy.Allow:
	case policy.Ask:
		return nothing, nil
	default:
		return nil, c.denied(verdict)
	}
	var answer json.RawMessage
	err = c.holding(ctx, func(ctx context.Context, use Use) (err error) {
		if !hello(use.Conn().Info()).Can("completions") {
			return lacks(c.server.Name, "completions")
		}
		answer, err = c.request(ctx, use, "completion/complete", params)
		return err
	})
	return answer, err
}
