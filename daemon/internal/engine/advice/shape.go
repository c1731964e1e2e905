package advice

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"tenon/daemon/internal/engine"
)

// given is what the globals that give a promise resolve to.
var given = map[string]string{
	"search":              "{ items, total, remaining, next }, each item with signature and path",
	"describe":            "{ path, signature, description, inputSchema, outputSchema }, of a server { tools }",
	"resources.list":      "{ resources, problems, nextCursor }",
	"resources.templates": "{ resourceTemplates, problems, nextCursor }",
	"resources.read":      "the content itself: a text, or what its JSON says",
	"prompts.list":        "{ prompts, problems, nextCursor }",
	"prompts.get":         "{ messages, description }",
}

// maxShape bounds the type in a hint, in bytes.
const maxShape = 240

// shape is what a call gives once it is awaited, in a few words; empty where
// nobody knows. call is as the program writes it, without arguments.
func (s spot) shape(call string) string {
	if words := given[call]; words != "" {
		return words
	}
	parts := chain(call)
	if len(parts) > 0 && parts[0] == "tools" {
		parts = parts[1:]
	}
	if len(parts) != 2 || s.Signature == nil || s.namespace(parts[0]) == nil {
		return ""
	}
	signature := s.Signature(strings.Join(parts, "."))
	_, after, ok := strings.Cut(signature, "): Promise<")
	end := strings.LastIndex(after, ">")
	if !ok || end < 0 || after[:end] == "unknown" {
		return ""
	}
	return clip(after[:end], maxShape)
}

// Signatures is Program.Signature by what a host describes. It is asked when a
// program has failed, so that it must not keep the failure waiting.
func Signatures(ctx context.Context, h engine.Host) func(path string) string {
	return func(path string) string {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		text, err := h.Describe(ctx, path)
		if err != nil {
			return ""
		}
		var described struct {
			Signature string `json:"signature"`
		}
		if json.Unmarshal(text, &described) != nil {
			return ""
		}
		return described.Signature
	}
}
