package call

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
)

// maxText is the longest text of a resource that a caller gets as it is, in
// bytes; a longer one becomes an artifact.
const maxText = 8 << 20

// serverOf finds a server by its own name or its namespace; nil: there is none.
func (p *Path) serverOf(req Request) *config.Server {
	if s := req.View.Servers[req.Server]; s != nil {
		return s
	}
	return req.View.Servers[p.namespaces.of(req.View).servers[req.Server]]
}

// resolveMethod is resolve for a Request.Method.
func (c *call) resolveMethod(ctx context.Context) error {
	c.toolName = c.req.Method
	key, err := c.wanted()
	if err != nil {
		return err
	}
	if c.req.Server == "" {
		name, err := c.p.whose(ctx, *c.req, key)
		if err != nil {
			return err
		}
		c.req.Server = name
	}
	if c.server = c.p.serverOf(*c.req); c.server == nil {
		return unknownServer(c.req.View, c.req.Server)
	}
	if err := c.place(ctx); err != nil {
		return err
	}
	if c.req.OnStart != nil {
		c.req.OnStart(c.server.Name, c.toolName)
	}
	return nil
}

// wanted is the URI or name that the arguments of a Request.Method hold.
func (c *call) wanted() (string, error) {
	member := "uri"
	switch c.req.Method {
	case ReadResource:
	case GetPrompt:
		member = "name"
	default:
		return "", fault.New(fault.UsageError, "there is no method %q", clip(c.req.Method, 100))
	}
	var given map[string]json.RawMessage
	var key string
	if json.Unmarshal(c.args, &given) != nil || json.Unmarshal(given[member], &key) != nil || key == "" {
		return "", fault.New(fault.InvalidToolInput, "%s needs the text %s", c.req.Method, member)
	}
	if c.req.Method != GetPrompt || given["arguments"] == nil {
		return key, nil
	}
	var words map[string]string // the protocol has no other arguments of prompts
	if json.Unmarshal(given["arguments"], &words) != nil {
		return "", fault.New(fault.InvalidToolInput, "arguments of the prompt %q must be an object of texts", clip(key, 200)).
			WithHint(`for example {"who": "Ada", "count": "3"}`)
	}
	return key, nil
}

// methodFits is recheck for a Request.Method: whether the server offers such
// things, and whether the rules are still what permit saw.
func (c *call) methodFits(use Use) (same bool, err error) {
	kind := catalog.Resources
	if c.req.Method == GetPrompt {
		kind = catalog.Prompts
	}
	if conn := use.Conn(); conn != nil && !hello(conn.Info()).Offers(kind) {
		return false, lacks(c.server.Name, string(kind))
	}
	current := c.p.o.Current(c.req.View)
	return current == nil || current.Hash == c.decided, nil
}

func lacks(server, what string) error {
	return fault.New(fault.NotFound, "server %s offers no %s", server, what).At(server, "").WithHint("its tools are all it has: tenon ls %s", server)
}

// fingerprint is what an approval of this call rests on.
func (c *call) fingerprint() string {
	switch {
	case c.req.Method != "":
		return methodApproved
	case c.tool != nil:
		return c.tool.Fingerprint
	}
	return ""
}

// hostPattern is what opencode asks for when it reads such a resource itself, of
// the permission read: a host that denies that denies it here. Empty: it is none.
func (c *call) hostPattern() string {
	if c.req.Method != ReadResource || c.server == nil {
		return ""
	}
	uri, err := c.wanted()
	if err != nil {
		return ""
	}
	return "mcp:" + c.server.Name + ":" + uri
}

// convertMethod turns the answer to a Request.Method into a caller's value.
func (c *call) convertMethod(raw json.RawMessage) (*Result, error) {
	r := &Result{Server: c.server.Name, Tool: c.toolName, Raw: raw}
	var err error
	if c.req.Method == GetPrompt {
		r.Value, err = c.prompt(raw)
	} else {
		r.Value, err = c.contents(raw)
	}
	if err != nil {
		return nil, fault.New(fault.InvalidToolOutput, "server %s answered %s with something else", c.server.Name, c.toolName).
			At(c.server.Name, c.toolName).Because(err).WithHint("the server does not follow the protocol")
	}
	r.Artifacts, r.Lifted, r.Warnings = c.artifacts, c.lifted, c.warnings
	return r, nil
}

// content is one part of a resource.
type content struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text"`
	Blob     *string `json:"blob"`
}

// part is one content among several.
type part struct {
	URI      string          `json:"uri"`
	MimeType string          `json:"mimeType,omitempty"`
	Value    json.RawMessage `json:"value"`
}

// contents is the value of a resource: of one content its text, parsed where it
// says that it is JSON, or the handle of its bytes; else an object for each.
func (c *call) contents(raw json.RawMessage) (json.RawMessage, error) {
	var answer struct {
		Contents []content `json:"contents"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	if answer.Contents == nil {
		return nil, fmt.Errorf("it has no contents")
	}
	if len(answer.Contents) == 1 {
		return c.value(answer.Contents[0])
	}
	out := make([]json.RawMessage, 0, len(answer.Contents))
	for _, one := range answer.Contents {
		v, err := c.value(one)
		if err != nil {
			return nil, err
		}
		if one.Blob == nil && (one.Text == nil || len(*one.Text) <= maxText) {
			if v, err = json.Marshal(part{one.URI, one.MimeType, v}); err != nil {
				return nil, err
			}
		}
		out = append(out, v)
	}
	return json.Marshal(out)
}

// value is that of one content.
func (c *call) value(one content) (json.RawMessage, error) {
	switch {
	case one.Blob != nil:
		return c.handleOf("blob", one, c.store("blob", one.MimeType, one.URI, *one.Blob))
	case one.Text == nil:
		return json.RawMessage("null"), nil
	case len(*one.Text) > maxText:
		return c.handleOf("text", one, c.keep(one.URI, one.MimeType, *one.Text))
	case isJSON(one.MimeType) && json.Valid([]byte(*one.Text)) && depth([]byte(*one.Text)) <= maxParsed:
		return json.RawMessage(*one.Text), nil
	}
	return json.Marshal(*one.Text)
}

// handleOf is what stands for bytes that are not given out.
func (c *call) handleOf(kind string, one content, h held) (json.RawMessage, error) {
	if one.MimeType == "" {
		one.MimeType = h.mimeType
	}
	return json.Marshal(struct {
		Type     string `json:"type"`
		URI      string `json:"uri"`
		MimeType string `json:"mimeType,omitempty"`
		Bytes    int    `json:"bytes"`
		Artifact string `json:"artifact"` // empty: the bytes could not be kept
	}{kind, one.URI, one.MimeType, h.bytes, h.artifact})
}

// keep makes an artifact of a long text.
func (c *call) keep(name, mimeType, text string) held {
	h := held{bytes: len(text)}
	if c.p.o.History == nil {
		return h
	}
	if mimeType == "" {
		mimeType = "text/plain"
	}
	a, err := c.p.o.History.Put(c.req.Run, name, mimeType, []byte(text))
	if err != nil {
		c.warn("ArtifactNotKept", fmt.Sprintf("%s: %q of %d bytes could not be kept", c.server.Name, clip(name, 200), len(text)))
		return h
	}
	c.warn("ResourceKeptAsArtifact", fmt.Sprintf("%s: %q has %d bytes, more than the %d MiB that are given out: they are the artifact %s",
		c.server.Name, clip(name, 200), len(text), maxText>>20, a.ID))
	h.artifact = a.ID
	c.artifacts = append(c.artifacts, a)
	return h
}

// isJSON reports whether a media type is JSON.
func isJSON(mimeType string) bool {
	mimeType, _, _ = strings.Cut(strings.ToLower(mimeType), ";")
	mimeType = strings.TrimSpace(mimeType)
	return mimeType == "application/json" || mimeType == "text/json" || strings.HasSuffix(mimeType, "+json")
}

// prompt is the value of a prompt: its description and messages, with handles
// in the place of images and other bytes.
func (c *call) prompt(raw json.RawMessage) (json.RawMessage, error) {
	var answer struct {
		Description string            `json:"description,omitempty"`
		Messages    []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	if answer.Messages == nil {
		return nil, fmt.Errorf("it has no messages")
	}
	for i, m := range answer.Messages {
		var message struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(m, &message); err != nil {
			return nil, err
		}
		small := c.handle(message.Content)
		if small == nil {
			continue
		}
		message.Content = small
		var err error
		if answer.Messages[i], err = json.Marshal(message); err != nil {
			return nil, err
		}
	}
	return json.Marshal(answer)
}
