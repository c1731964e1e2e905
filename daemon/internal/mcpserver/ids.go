package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

// ids keeps numbers of requests as they were written. JSON-RPC allows any number,
// and an answer has the very one that was asked with; the SDK would make an integer
// of 1.5 and round what a double cannot hold. Such a number goes to it as a text,
// and comes back as what it was.
type ids struct {
	mu   sync.Mutex
	open map[string]json.RawMessage // by the text that stands for it
}

// standIn begins the texts; no client has a use for it.
const standIn = "\x00tenon-id:"

// simple is whether the SDK keeps a number as it is: an integer that it would write
// the same way.
func simple(number []byte) bool {
	n, err := strconv.ParseInt(string(number), 10, 64)
	const exact = 1 << 53
	return err == nil && n > -exact && n < exact && strconv.FormatInt(n, 10) == string(number)
}

// numeric is whether an id is a number that the SDK would change.
func numeric(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '-' || id[0] >= '0' && id[0] <= '9') && !simple(id)
}

// in is a client's line as the SDK shall see it. It costs a second look only where
// there is such a number.
func (t *ids) in(line []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.Method == "" {
		return line // no request; answers have ids of ours
	}
	if numeric(m.ID) {
		text := standIn + string(m.ID)
		t.mu.Lock()
		if t.open == nil {
			t.open = map[string]json.RawMessage{}
		}
		t.open[text] = bytes.Clone(m.ID)
		t.mu.Unlock()
		return with(line, "id", text)
	}
	if m.Method != cancelMethod {
		return line
	}
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &p) != nil || !numeric(p.ID) {
		return line
	}
	return with(line, "params", json.RawMessage(with(m.Params, "requestId", standIn+string(p.ID))))
}

// out is an answer as the client shall see it; text is its id as the SDK wrote it.
func (t *ids) out(line []byte, text any) []byte {
	name, ok := text.(string)
	if !ok || !strings.HasPrefix(name, standIn) {
		return line
	}
	t.mu.Lock()
	id, known := t.open[name]
	delete(t.open, name)
	t.mu.Unlock()
	if !known {
		return line
	}
	return with(line, "id", id)
}

// with is an object with another value in one of its members.
func with(object []byte, member string, value any) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(object, &m) != nil {
		return object
	}
	text, err := json.Marshal(value)
	if err != nil { // a text, or JSON that was read
		return object
	}
	m[member] = text
	if text, err = json.Marshal(m); err != nil { // likewise
		return object
	}
	return text
}
