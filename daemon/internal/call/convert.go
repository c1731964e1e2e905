package call

import (
	"encoding/json"
	"fmt"
	"strings"

	"tenon/daemon/internal/fault"
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
	if holdsBytes(p.content) {
		p.content = c.lift(p.content)
	}
	if p.failed {
		return nil, c.failure(p)
	}
	r := &Result{Server: c.server.Name, Tool: c.tool.Name, Raw: raw}
	switch {
	case p.structured != nil:
		r.Value = p.structured
	case p.content != nil:
		r.Value = unwrap(p.content, !c.tool.DeclaresOutput())
	case p.legacy != nil:
		r.Value = p.legacy
	default:
		r.Value = json.RawMessage("null")
	}
	if err := c.checkOutput(p); err != nil {
		return nil, err
	}
	r.Artifacts, r.Lifted, r.Warnings = c.artifacts, c.lifted, c.warnings
	return r, nil
}

// checkOutput holds a result against what the tool promised. By the setting
// outputs, what is not so is a warning, a failure, or nobody's business.
func (c *call) checkOutput(p parts) error {
	mode := c.server.Outputs
	if mode == "" {
		mode = c.req.View.Script.Outputs
	}
	if mode == "off" || !c.tool.DeclaresOutput() {
		return nil
	}
	if p.structured == nil {
		return c.breach(mode, p, "", "the tool has an output schema, and its result has no structuredContent")
	}
	bad, note := c.tool.CheckOutput(p.structured)
	if note != "" {
		c.warn("SchemaUnusable", fmt.Sprintf("%s/%s: %s", c.server.Name, c.toolName, note))
	}
	if len(bad) == 0 {
		return nil
	}
	for i := range bad {
		bad[i].Advice = "" // it is for who gives arguments
	}
	return c.breach(mode, p, bad[0].Pointer, wordsOf(bad, "result"))
}

// maxBreach bounds the structured content that a strict failure carries.
const maxBreach = 64 << 10

// breach is one difference between a result and its schema. The call was made,
// so a failure carries what came.
func (c *call) breach(mode string, p parts, pointer, words string) error {
	if mode != "strict" {
		c.warn(string(fault.InvalidToolOutput), fmt.Sprintf("%s/%s: %s", c.server.Name, c.toolName, words))
		return nil
	}
	e := fault.New(fault.InvalidToolOutput, "%s/%s: %s", c.server.Name, c.toolName, words).At(c.server.Name, c.toolName).
		WithHint("the call was made, and .content and .data hold what came; servers.%s.outputs: \"warn\" accepts it with a warning", c.server.Name)
	e.Pointer, e.Content = pointer, listOr(p.content)
	if len(p.structured) <= maxBreach {
		e.Data = p.structured
	}
	return e
}

// listOr is a content array, or an empty one.
func listOr(content []byte) []byte {
	if content == nil {
		return []byte("[]")
	}
	return content
}

// maxParsed is the nesting to which JSON in a text is parsed, in levels: what a
// program takes at most by default. A deeper one stays the text it came as.
const maxParsed = 100

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
	inner := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "\ufeff"))
	if inner != "" && (inner[0] == '{' || inner[0] == '[') && json.Valid([]byte(inner)) && depth([]byte(inner)) <= maxParsed {
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

// mayHoldJSON is a cheap look at the first character of a quoted text, which
// may be written as an escape, or be a byte order mark.
func mayHoldJSON(quoted []byte) bool {
	i := blank(quoted, 1)
	return i < len(quoted) && (quoted[i] == '{' || quoted[i] == '[' || quoted[i] == '\\' || quoted[i] >= 0x80)
}

// failure is a result that says isError.
func (c *call) failure(p parts) error {
	var words []string
	elements(p.content, func(e []byte) {
		var s string
		if quoted := textOf(e); quoted != nil && json.Unmarshal(quoted, &s) == nil && s != "" {
			words = append(words, s)
		}
	})
	message := clip(strings.Join(words, "\n"), maxFailure)
	if message == "" && p.structured != nil {
		message = clip(string(p.structured), maxFailure)
	}
	if message == "" {
		message = "the tool reports a failure and says nothing about it"
	}
	e := fault.New(fault.ToolFailure, "%s", message).At(c.server.Name, c.toolName).
		WithHint("the tool itself failed; its answer is in .content")
	if e.Content = listOr(p.content); len(p.structured) <= maxBreach {
		e.Data = p.structured
	}
	return e
}

// maxFailure bounds the message of a failed tool; its whole answer is in
// Content.
const maxFailure = 2000
