package rig

import (
	"encoding/json"
	"strings"

	"tenon/proto"
)

// question begins to answer what a server asks. The double's user answers as
// told for the key "elicitation" or "sampling", with the result as JSON; without
// that the host has no way to ask.
func (b *bridge) question(m proto.RPCMessage) {
	var q proto.Question
	if err := json.Unmarshal(m.Params, &q); err != nil {
		b.reply(m.ID, nil, err)
		return
	}
	withdrawn := make(chan string, 1)
	b.mu.Lock()
	b.open[q.ID] = withdrawn
	b.mu.Unlock()
	go func() {
		answer := b.d.answerServer(b, q, withdrawn)
		b.mu.Lock()
		delete(b.open, q.ID)
		b.mu.Unlock()
		b.reply(m.ID, answer, nil)
	}()
}

func (d *double) answerServer(b *bridge, q proto.Question, withdrawn <-chan string) proto.Answer {
	d.mu.Lock()
	able := false
	for _, p := range d.policies {
		able = able || p.Key == q.Kind
	}
	d.mu.Unlock()
	if !able {
		return proto.Answer{Unavailable: "this host has no way to ask"}
	}
	reply := d.answer(b, proto.Ask{
		ID: q.ID, Origin: q.Origin, Run: q.Run, Key: q.Kind, Server: q.Server, Tool: q.Tool, Arguments: q.Params,
	}, withdrawn)
	if !strings.HasPrefix(reply.Reply, "{") {
		return proto.Answer{Unavailable: "nobody answered"}
	}
	return proto.Answer{Result: json.RawMessage(reply.Reply)}
}
