package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/proctree"
)

// maxPages bounds tools/list; a server with more pages has a broken cursor.
const maxPages = 1000

var errStartTimeout = errors.New("start timeout")

// Connect starts or reaches the server of s and shakes hands with it within
// s.StartTimeout, of which the first Tools of the connection gets the rest. It
// fails with ServerUnavailable, whose message has the exit state and the last
// lines of stderr where there are any, and leaves no process behind. rec is
// needed for stdio only. The connection must be closed, also after it broke.
func Connect(ctx context.Context, rec *proctree.Record, s Spec) (Conn, error) {
	c := newConn(s)
	if s.StartTimeout > 0 {
		c.listBy = time.Now().Add(s.StartTimeout)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, c.listBy, errStartTimeout)
		defer cancel()
	}
	err := c.open(ctx, rec)
	if err == nil {
		err = c.shake(ctx)
	}
	if err != nil {
		err = c.startError(ctx, err)
		_ = c.Close(context.WithoutCancel(ctx)) // the failed start is what the caller needs to hear of
		return nil, err
	}
	return c, nil
}

// open makes the wire.
func (c *conn) open(ctx context.Context, rec *proctree.Record) error {
	switch c.spec.Kind {
	case "stdio":
		return newStdio(c, rec)
	case "http":
		c.wire = newStreamable(c)
		return nil
	case "sse":
		return newSSE(ctx, c)
	}
	return fault.New(fault.ConfigError, "server %s: unknown kind of transport %q", c.spec.Name, c.spec.Kind)
}

// Tools asks for every page. A cursor that comes again, or more pages than any
// real server has, ends in ServerUnavailable with what was wrong.
func (c *conn) Tools(ctx context.Context) ([]Tool, error) {
	if !c.listed.Load() && !c.listBy.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, c.listBy, errStartTimeout)
		defer cancel()
	}
	var all []Tool
	seen := map[string]bool{}
	cursor := ""
	for range maxPages {
		var params []byte
		if cursor != "" {
			params = appendString([]byte(`"cursor":`), cursor)
		}
		raw, err := c.request(ctx, "tools/list", params)
		if err != nil {
			return nil, c.listError(ctx, err)
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, c.unavailable("server %s: unreadable answer to tools/list: %w", c.spec.Name, err)
		}
		for _, entry := range page.Tools {
			all = append(all, c.readTool(entry, len(all)))
		}
		if page.NextCursor == "" {
			c.listed.Store(true)
			return all, nil
		}
		if seen[page.NextCursor] {
			return nil, c.unavailable("server %s: tools/list gives the cursor %.40q again and again", c.spec.Name, page.NextCursor)
		}
		seen[page.NextCursor] = true
		cursor = page.NextCursor
	}
	return nil, c.unavailable("server %s: tools/list has more than %d pages", c.spec.Name, maxPages)
}

// readTool reads the entry at a place of the whole list. One that is no tool is
// marked, so that it does not take the others with it.
func (c *conn) readTool(entry json.RawMessage, at int) Tool {
	var t Tool
	if err := json.Unmarshal(entry, &t); err != nil {
		return Tool{Unusable: c.mask.Replace(fmt.Sprintf("tools[%d] of the list is left out: %v", at, err))}
	}
	if t.Name == "" {
		return Tool{Unusable: fmt.Sprintf("tools[%d] of the list is left out: it has no name", at)}
	}
	t.Unusable = ""
	return t
}

// listError explains a failed list. A server without tools may refuse the
// method; that is for the caller to see as UnknownTool.
func (c *conn) listError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStartTimeout) {
		return withFate(c.unavailable("server %s did not list its tools within %v (startTimeout)%s",
			c.spec.Name, c.spec.StartTimeout, c.lastWords()), fateNotSent)
	}
	return err
}
