//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/upstream"
)

// listener is the connection's ear at the servers; nil in code mode, whose
// programs have their own ways.
func (c *conn) listener() *call.Listener { return c.ear }

// maxHeard bounds what waits for a client: it loses what is beyond.
const maxHeard = 256

// heard is one thing that a server said beside its answers.
type heard struct {
	server string
	upstream.Notice
}

// hear takes what a server says; it never blocks. That a list changed is told
// once until it was told.
func (c *conn) hear(server string, n upstream.Notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.heard) >= maxHeard || c.life.Err() != nil {
		return
	}
	if n.Method != upstream.NoticeLog {
		for _, h := range c.heard {
			if h.Method == n.Method && string(h.Params) == string(n.Params) {
				return
			}
		}
	}
	c.heard = append(c.heard, heard{server, n})
	if c.hearing {
		return
	}
	c.hearing = c.s.outlive(func() {
		for {
			c.mu.Lock()
			if len(c.heard) == 0 {
				c.hearing = false
				c.mu.Unlock()
				return
			}
			h := c.heard[0]
			c.heard = c.heard[1:]
			c.mu.Unlock()
			c.pass(h)
		}
	})
}

// pass tells the client one thing. It may be gone: then nobody misses it.
func (c *conn) pass(h heard) {
	ctx, cancel := context.WithTimeout(c.life, rootsWait)
	defer cancel()
	switch h.Method {
	case upstream.NoticeResourceUpdated:
		var p struct {
			URI string `json:"uri"`
		}
		if json.Unmarshal(h.Params, &p) == nil && p.URI != "" {
			_ = c.sdk.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: p.URI})
		}
	case upstream.NoticeResourcesChanged:
		c.tellOffers(catalog.Resources)
	case upstream.NoticePromptsChanged:
		c.tellOffers(catalog.Prompts)
	case upstream.NoticeLog:
		var l upstream.Log
		if json.Unmarshal(h.Params, &l) == nil {
			for ss := range c.sdk.Sessions() {
				_ = ss.Log(ctx, c.logOf(h.server, l))
			}
		}
	}
}

// tellOffers sends the notification of a changed list; see tell.
func (c *conn) tellOffers(kind catalog.Kind) {
	if kind == catalog.Prompts {
		c.sdk.AddPrompt(&mcp.Prompt{Name: "tenon"}, nil)
		return
	}
	c.sdk.AddResource(&mcp.Resource{URI: catalogURI, Name: "catalog"}, nil)
}

// logOf is a server's log message for the client: of one among several it says
// which.
func (c *conn) logOf(server string, l upstream.Log) *mcp.LoggingMessageParams {
	logger := l.Logger
	if c.mode.flat {
		logger = server
		if l.Logger != "" {
			logger += "/" + l.Logger
		}
	}
	return &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(l.Level), Logger: logger, Data: l.Data}
}

// subscribe notes a client's subscription, or its end, at the server.
func (x *exchange) subscribe(uri string, on bool) error {
	req := x.request(x.c.mode.server)
	req.Bridge = x.bridge()
	return x.c.s.o.Path.Subscribe(x.ctx, req, uri, on)
}

// setLevel tells servers from what level on the client wants their logs.
func (x *exchange) setLevel(level mcp.LoggingLevel) error {
	if x.c.ear == nil {
		return nil
	}
	return x.c.s.o.Path.SetLevel(x.ctx, x.request(x.c.mode.server), string(level))
}

// introduce makes a server's own hello of the answer to initialize, as far as it
// is known without starting it; else every capability stands that it may have,
// and the lists of one that it has not are empty.
func (x *exchange) introduce(res *mcp.InitializeResult) {
	h, err := x.c.s.o.Path.Hello(x.ctx, x.request(x.c.mode.server))
	if err != nil || h == nil {
		return
	}
	if h.Instructions != "" {
		res.Instructions = h.Instructions
	}
	caps := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}
	if h.Can("logging") {
		caps.Logging = &mcp.LoggingCapabilities{}
	}
	if h.Can("completions") {
		caps.Completions = &mcp.CompletionCapabilities{}
	}
	if h.Can("prompts") {
		caps.Prompts = &mcp.PromptCapabilities{ListChanged: true}
	}
	if h.Can("resources") {
		caps.Resources = &mcp.ResourceCapabilities{ListChanged: true, Subscribe: h.Can("resources.subscribe")}
	}
	res.Capabilities = caps
}
