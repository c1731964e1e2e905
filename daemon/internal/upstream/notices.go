package upstream

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Notifications of a server that are passed on to whoever listens.
const (
	NoticeLog              = "notifications/message"
	NoticeResourceUpdated  = "notifications/resources/updated"
	NoticeResourcesChanged = "notifications/resources/list_changed"
	NoticePromptsChanged   = "notifications/prompts/list_changed"
)

// maxNotice bounds the parameters of a notice, in bytes: a longer one is told to
// nobody.
const maxNotice = 256 << 10

// Notice is something that a server says beside its answers.
type Notice struct {
	Method string
	Params json.RawMessage // an object, or nil; secrets masked
	// Owner is whose call was in flight, for a log message: nobody else may read
	// it. Empty: none was.
	Owner string
}

// Log is one log message of a server.
type Log struct {
	Level  string          `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// notice passes a notification on; tie is the call whose stream brought it.
func (c *conn) notice(m *message, tie int64) {
	if len(m.params) > maxNotice || m.params != nil && !isObject(m.params) {
		return
	}
	n := Notice{Method: m.name(), Params: json.RawMessage(c.mask.Replace(string(bytes.TrimSpace(m.params))))}
	if len(n.Params) > 0 && !isObject(n.Params) {
		return // a secret that was a number
	}
	if n.Method == NoticeLog {
		owner, hear, clear := c.speaks(tie)
		if !clear {
			return // the records of the instance have it
		}
		n.Owner = owner
		var l Log
		if json.Unmarshal(n.Params, &l) != nil || l.Level == "" || len(l.Data) == 0 {
			return
		}
		if hear != nil {
			hear(l)
			return
		}
	}
	if c.spec.Observer != nil {
		c.spec.Observer.Noticed(n)
	}
}

// speaks finds the call that a log message belongs to: the one whose stream
// brought it, else those in flight, if all are of one owner. Clear is false when
// it could be several owners'.
func (c *conn) speaks(tie int64) (owner string, hear func(Log), clear bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.calls[tie]; p != nil && p.tool {
		return p.owner, p.log, true
	}
	// The newest call that listens hears it.
	for i, id := range slices.Sorted(maps.Keys(c.calls)) {
		p := c.calls[id]
		switch {
		case !p.tool:
			continue
		case i > 0 && owner != p.owner && clear:
			return "", nil, false
		}
		owner, clear = p.owner, true
		if p.log != nil {
			hear = p.log
		}
	}
	return owner, hear, true
}
