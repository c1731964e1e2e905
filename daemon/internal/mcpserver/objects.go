package mcpserver

import (
	"bytes"
	"encoding/json"
)

// Up to the protocol's version 2025-11-25, which is the newest that is served,
// structured content is an object and an output schema says so; clients of these
// versions refuse a whole list, or a whole result, that has anything else. Servers
// of later versions give what they like.

// objectSchema is an output schema that a client can take; nil for others.
func objectSchema(schema json.RawMessage) json.RawMessage {
	var head struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(schema, &head) != nil || head.Type != "object" {
		return nil
	}
	return schema
}

// objectResult is a result without structured content that is no object: the
// content has it too, as text.
func objectResult(result json.RawMessage) json.RawMessage {
	if !bytes.Contains(result, []byte(`"structuredContent"`)) {
		return result
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(result, &members) != nil {
		return result
	}
	structured, ok := members["structuredContent"]
	if !ok || len(structured) > 0 && structured[0] == '{' {
		return result
	}
	delete(members, "structuredContent")
	text, err := json.Marshal(members)
	if err != nil { // JSON that was read
		return result
	}
	return text
}
