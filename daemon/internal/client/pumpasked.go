package client

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// asked are the requests of one daemon that its client has not answered: by the
// id that the client sees, the daemon's own. Every daemon counts from one, and a
// client may answer late: were ids passed on as they are, a yes to a question of
// a daemon that is gone would be one to another question of the next.
type asked struct {
	turn int // how many daemons were connected before
	open map[string]json.RawMessage
}

func newAsked(turn int) *asked { return &asked{turn: turn, open: map[string]json.RawMessage{}} }

// cancelMethod takes a request back, whichever side sends it.
const cancelMethod = "notifications/cancelled"

// name is the id under which the client sees the daemon's: the first daemon's
// stay as they are.
func (a *asked) name(id json.RawMessage) json.RawMessage {
	if a.turn == 0 {
		return id
	}
	data, err := json.Marshal(strconv.Itoa(a.turn) + ":" + string(id))
	if err != nil { // a string always marshals
		return id
	}
	return data
}

// down notes a request of the daemon's, or that it takes one back, and gives the
// line as the client shall see it.
func (a *asked) down(h head, line []byte) []byte {
	switch {
	case h.Method == cancelMethod:
		var p struct {
			Params map[string]json.RawMessage `json:"params"`
		}
		id := json.RawMessage(nil)
		if json.Unmarshal(line, &p) == nil {
			id = p.Params["requestId"]
		}
		if id == nil {
			return line
		}
		name := a.name(id)
		delete(a.open, string(name))
		if a.turn == 0 {
			return line
		}
		p.Params["requestId"] = name
		params, err := json.Marshal(p.Params)
		if err != nil { // it was valid JSON
			return line
		}
		return replaced(line, "params", params)
	case h.Method != "" && len(h.ID) > 0:
		name := a.name(h.ID)
		a.open[string(name)] = h.ID
		if a.turn == 0 {
			return line
		}
		return replaced(line, "id", name)
	}
	return line
}

// up gives an answer of the client's as the daemon shall see it; false when the
// daemon waits for none, or not any more.
func (a *asked) up(h head, line []byte) ([]byte, bool) {
	id, waits := a.open[string(h.ID)]
	delete(a.open, string(h.ID))
	if !waits || a.turn == 0 {
		return line, waits
	}
	return replaced(line, "id", id), true
}

// withdrawn are the lines that take back whatever the client still shows.
func (a *asked) withdrawn() [][]byte {
	var lines [][]byte
	for id := range a.open {
		data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": cancelMethod,
			"params": map[string]any{"requestId": json.RawMessage(id), "reason": "the daemon that asked went away"}})
		if err == nil { // the id was valid JSON
			lines = append(lines, append(data, '\n'))
		}
	}
	clear(a.open)
	return lines
}

// replaced is a line with another value in one of its members.
func replaced(line []byte, member string, value json.RawMessage) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(line, &m) != nil {
		return line
	}
	m[member] = value
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // every value as it was written
	if e.Encode(m) != nil {
		return line // it was valid JSON
	}
	return out.Bytes()
}
