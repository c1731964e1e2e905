package mcpserver

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What goes to the SDK and comes back is what the client wrote.
func TestAnIDIsEchoedAsItWasWritten(t *testing.T) {
	for _, id := range []string{"1", "0", "-7", "1.5", "1.0", "1e2", "-0", "9007199254740993", "12345678901234567890", "0.1", `"a"`, `"1.5"`, `""`} {
		var table ids
		msg, err := jsonrpc.DecodeMessage(table.in([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping","params":{"a":1}}`)))
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		req := msg.(*jsonrpc.Request)
		line, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: req.ID, Result: []byte(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		back := idOf(t, table.out(line, req.ID.Raw()))
		if back != id || len(table.open) != 0 {
			t.Errorf("%s came back as %s, %d open", id, back, len(table.open))
		}
	}
}

func TestACancellationNamesTheRequestThatItMeans(t *testing.T) {
	var table ids
	req := decoded(t, table.in([]byte(`{"jsonrpc":"2.0","id":1.5,"method":"tools/call"}`)))
	cancel := decoded(t, table.in([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5,"reason":"enough"}}`)))
	id, reason := message{Params: cancel.Params}.cancels()
	if id != idText(req.ID) || reason != "enough" {
		t.Errorf("%s %q, want %s", id, reason, idText(req.ID))
	}
}

func decoded(t *testing.T, line []byte) *jsonrpc.Request {
	t.Helper()
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		t.Fatal(err)
	}
	return msg.(*jsonrpc.Request)
}

// idOf is the id of a line as it stands there.
func idOf(t *testing.T, line []byte) string {
	t.Helper()
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatal(err)
	}
	return string(m.ID)
}
