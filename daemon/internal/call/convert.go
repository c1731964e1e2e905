package call

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// parts are the members of a CallToolResult that decide its value.
type parts struct {
	content    []byte // array, or nil
	structured []byte // nil when absent or null
	legacy     []byte // toolResult of the oldest protocol
	failed     bool
}

func split(raw []byte) (p parts, ok bool) {
	ok = members(raw, func(name, value []byte) bool {
		switch string(name) {
		case `"content"`:
			p.content = value
		case `"structuredContent"`:
			if string(value) != "null" {
				p.structured = value
			}
		case `"toolResult"`:
			p.legacy = value
		case `"isError"`:
			p.failed = string(value) == "true"
		}
		return true
	})
	return p, ok
}

// convert turns a CallToolResult into the value a program gets: the structured
// content when there is one; else, for a single text block, its text, parsed
// when it is a JSON object or array and the tool has no output schema; else the
// content array. Images, audio and other bytes become artifacts, with a
// placeholder in their place. A result that says isError is a ToolFailure.
func (c *call) convert(raw json.RawMessage) (*Result, error) {
	p, ok := split(raw)
	if !ok {
		return nil, fault.New(fault.InvalidToolOutput, "%s/%s answered with something that is no tool result", c.server.Name, c.toolName).
			At(c.server.Name, c.toolName).WithHint("the call was made; the server does not follow the protocol")
	}
	r := &Result{Server: c.server.Name, Tool: c.tool.Name, Raw: raw}
	if bytes.Contains(p.content, []byte(`"data"`)) || bytes.Contains(p.content, []byte(`"blob"`)) {
		p.content = c.lift(r, p.content)
	}
	if p.failed {
		return nil, c.failure(p.content)
	}
	switch {
	case p.structured != nil:
		r.Value = p.structured
		c.checkOutput(p.structured)
	case p.content != nil:
		r.Value = unwrap(p.content, len(c.tool.OutputSchema) == 0)
	case p.legacy != nil:
		r.Value = p.legacy
	default:
		r.Value = json.RawMessage("null")
	}
	r.Warnings = c.warnings
	return r, nil
}

// checkOutput warns of structured content that is not what the tool promised.
func (c *call) checkOutput(value []byte) {
	bad, note := c.tool.CheckOutput(value)
	if note != "" {
		c.warn("SchemaUnusable", fmt.Sprintf("%s/%s: %s", c.server.Name, c.toolName, note))
	}
	if bad != nil {
		c.warn(string(fault.InvalidToolOutput), fmt.Sprintf("%s/%s: result%s: %s", c.server.Name, c.toolName, bad.Pointer, bad.Message))
	}
}

// unwrap gives the text of a content array that holds one text block and
// nothing else, or the array.
func unwrap(content []byte, parse bool) json.RawMessage {
	var only []byte
	n := 0
	elements(content, func(e []byte) { only = e; n++ })
	if n != 1 {
		return content
	}
	quoted := textOf(only)
	if quoted == nil {
		return content
	}
	if !parse || !mayHoldJSON(quoted) {
		return quoted
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return quoted
	}
	inner := strings.TrimSpace(s)
	if inner != "" && (inner[0] == '{' || inner[0] == '[') && json.Valid([]byte(inner)) {
		return json.RawMessage(inner)
	}
	return quoted
}

// textOf is the quoted text of a text block, or nil.
func textOf(block []byte) (quoted []byte) {
	isText := false
	members(block, func(name, value []byte) bool {
		switch string(name) {
		case `"type"`:
			isText = string(value) == `"text"`
		case `"text"`:
			if len(value) > 0 && value[0] == '"' {
				quoted = value
			}
		}
		return true
	})
	if !isText {
		return nil
	}
	return quoted
}

// mayHoldJSON is a cheap look at the first character of a quoted text.
func mayHoldJSON(quoted []byte) bool {
	i := blank(quoted, 1)
	return i < len(quoted) && (quoted[i] == '{' || quoted[i] == '[' || quoted[i] == '\\')
}

// failure is a result that says isError.
func (c *call) failure(content []byte) error {
	var words []string
	elements(content, func(e []byte) {
		var s string
		if quoted := textOf(e); quoted != nil && json.Unmarshal(quoted, &s) == nil && s != "" {
			words = append(words, s)
		}
	})
	message := clip(strings.Join(words, "\n"), maxFailure)
	if message == "" {
		message = "the tool reports a failure and says nothing about it"
	}
	e := fault.New(fault.ToolFailure, "%s", message).At(c.server.Name, c.toolName).
		WithHint("the tool itself failed; its answer is in .content")
	if e.Content = content; content == nil {
		e.Content = []byte("[]")
	}
	return e
}

// maxFailure bounds the message of a failed tool; its whole answer is in
// Content.
const maxFailure = 2000

// placeholder stands where bytes stood.
type placeholder struct {
	Type     string       `json:"type"`
	MimeType string       `json:"mimeType,omitempty"`
	Bytes    int          `json:"bytes"`
	Artifact string       `json:"artifact"` // empty: the bytes could not be kept
	Resource *placeholder `json:"resource,omitempty"`
	URI      string       `json:"uri,omitempty"`
}

// block is a content block as far as bytes are concerned.
type block struct {
	Type     string  `json:"type"`
	MimeType string  `json:"mimeType"`
	Data     *string `json:"data"`
	Resource *struct {
		URI      string  `json:"uri"`
		MimeType string  `json:"mimeType"`
		Blob     *string `json:"blob"`
	} `json:"resource"`
}

// lift replaces bytes in a content array by handles of artifacts. All else is
// copied as it is.
func (c *call) lift(r *Result, content []byte) []byte {
	out := make([]byte, 0, min(len(content), 64<<10))
	out = append(out, '[')
	elements(content, func(e []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if small := c.handle(r, e); small != nil {
			e = small
		}
		out = append(out, e...)
	})
	return append(out, ']')
}

// handle is the placeholder of one block, or nil when it holds no bytes.
func (c *call) handle(r *Result, element []byte) []byte {
	var b block
	if json.Unmarshal(element, &b) != nil {
		return nil
	}
	var hold placeholder
	switch {
	case (b.Type == "image" || b.Type == "audio") && b.Data != nil:
		hold = c.store(r, b.Type, b.MimeType, "", *b.Data)
	case b.Type == "resource" && b.Resource != nil && b.Resource.Blob != nil:
		inner := c.store(r, "blob", b.Resource.MimeType, b.Resource.URI, *b.Resource.Blob)
		hold = placeholder{Type: "resource", Bytes: inner.Bytes, MimeType: inner.MimeType, Artifact: inner.Artifact, URI: inner.URI}
	default:
		return nil
	}
	small, err := json.Marshal(hold)
	if err != nil { // strings and numbers always marshal
		return nil
	}
	return small
}

func (c *call) store(r *Result, kind, mimeType, uri, encoded string) placeholder {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		data, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(encoded), "="))
	}
	if err != nil {
		c.warn(string(fault.InvalidToolOutput), fmt.Sprintf("%s/%s: the bytes of its %s are not valid base64", c.server.Name, c.toolName, kind))
		data = []byte(encoded)
	}
	hold := placeholder{Type: kind, MimeType: mimeType, Bytes: len(data), URI: uri}
	if c.p.o.History == nil {
		return hold
	}
	name := uri
	if name == "" {
		name = c.server.Name + "_" + c.toolName
	}
	a, err := c.p.o.History.Put(c.req.Run, name, mimeType, data)
	if err != nil {
		c.warn("ArtifactNotKept", fmt.Sprintf("%s/%s: its %s of %d bytes could not be kept", c.server.Name, c.toolName, kind, len(data)))
		return hold
	}
	hold.Artifact = a.ID
	r.Artifacts = append(r.Artifacts, proto.Artifact{ID: a.ID, Name: a.Name, MimeType: a.MimeType, Bytes: a.Bytes})
	return hold
}
