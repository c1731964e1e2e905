package mcpserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var messageSeeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":{"code":"1"}}}`,
	`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":-0,"method":"ping"}`, `{"jsonrpc":"2.0","id":1e3,"method":"x","ID":2}`,
	`{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"x"}`, `{"jsonrpc":"2.0","id":9007199254740993,"result":{}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5,"reason":"r"}}`,
	`[{"jsonrpc":"2.0","id":"a","method":"x"},{"id":null},3]`, `null`, `[]`, `{`, ` {"method":3}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":null}`,
}

// FuzzMessages: the messages of a body are read without a change to the body, and
// what they ask is among them.
func FuzzMessages(f *testing.F) {
	for _, seed := range messageSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/mcp", bytes.NewReader(body))
		msgs, err := peek(r)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(left, body) {
			t.Fatalf("the SDK gets %q, %v", left, err)
		}
		if ids := calls(msgs); len(ids) > len(msgs) || len(msgs) > len(body) {
			t.Fatalf("%d ids of %d messages in %d bytes", len(ids), len(msgs), len(body))
		}
		for _, m := range msgs {
			m.cancels()
		}
	})
}

// FuzzIDs: a request of any id can be read by the SDK where it was JSON-RPC, and
// its answer carries the very id that the client wrote.
func FuzzIDs(f *testing.F) {
	for _, seed := range messageSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var table ids
		changed := table.in(bytes.Clone(line))
		if bytes.Equal(changed, line) {
			if len(table.open) != 0 {
				t.Fatal("a line that stays as it is left something behind")
			}
			return
		}
		var before, after struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(line, &before) != nil || json.Unmarshal(changed, &after) != nil || before.Method != after.Method {
			t.Fatalf("%s became %s", line, changed)
		}
		msg, err := jsonrpc.DecodeMessage(changed)
		if err != nil {
			return // it was none; the SDK refuses it
		}
		call, ok := msg.(*jsonrpc.Request)
		if !ok || !call.ID.IsValid() {
			return
		}
		answer, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: call.ID, Result: json.RawMessage(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal(table.out(answer, call.ID.Raw()), &got); err != nil || !bytes.Equal(got.ID, before.ID) {
			t.Fatalf("asked with %s, answered with %s, %v", before.ID, got.ID, err)
		}
		if len(table.open) != 0 {
			t.Fatal("what was answered is still open")
		}
	})
}

// FuzzEventsForOne: a client that takes JSON only gets JSON, and of a stream the
// answer and nothing else.
func FuzzEventsForOne(f *testing.F) {
	f.Add([]byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"))
	f.Add([]byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"))
	f.Add([]byte("data: data: {}\n"))
	f.Add([]byte(": ping\n\n"))
	f.Fuzz(func(t *testing.T, event []byte) {
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", "text/event-stream")
		j := &jsonOnly{w: rec}
		if n, err := j.Write(event); err != nil || n != len(event) {
			t.Fatalf("%d of %d bytes, %v", n, len(event), err)
		}
		if rec.Body.Len() > 0 && (!json.Valid(rec.Body.Bytes()) || rec.Header().Get("Content-Type") != "application/json") {
			t.Fatalf("%q as %s", rec.Body, rec.Header().Get("Content-Type"))
		}
	})
}

// FuzzArguments: what passes has only known members, of the declared types, and
// all that are required.
func FuzzArguments(f *testing.F) {
	f.Add(uint8(0), []byte(`{"code":"1","timeout":5}`))
	f.Add(uint8(1), []byte(`{"CODE":"1","code":null}`))
	f.Add(uint8(2), []byte(`null`))
	f.Add(uint8(3), []byte(`{"paths":["a",1],"limit":1.5}`))
	f.Fuzz(func(t *testing.T, which uint8, given []byte) {
		tools := gateway()
		tool := tools[int(which)%len(tools)]
		out, err := tool.read(given)
		if err != nil {
			if len(err.Error()) > 8*len(given)+1000 {
				t.Fatalf("%d bytes of error", len(err.Error()))
			}
			return
		}
		for _, a := range tool.args {
			if value, ok := out[a.name]; ok && a.mistake(value) != "" || !ok && a.required {
				t.Fatalf("%s passed: %s", a.name, given)
			}
		}
		get[string](out, "code")
		get[int](out, "limit")
		get[[]string](out, "paths")
	})
}

// FuzzObjects: what a client of an older version could not take is taken out, and
// the rest stays.
func FuzzObjects(f *testing.F) {
	for _, seed := range []string{`{"content":[],"structuredContent":[1]}`, `{"structuredContent":{"a":1}}`, `{"type":"object"}`, `null`, `{"a":"\"structuredContent\""}`, `{"structuredContent": {}}`, `{"structured\u0043ontent":1,"a":"\"structuredContent\""}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		if s := objectSchema(raw); s != nil && !bytes.HasPrefix(bytes.TrimSpace(s), []byte("{")) {
			t.Fatalf("a schema: %s", s)
		}
		if e := renamed(raw, "new"); e != nil {
			var m map[string]any
			if json.Unmarshal(e, &m) != nil || m["name"] != "new" {
				t.Fatalf("renamed: %s", e)
			}
		}
		out := objectResult(raw)
		var before, after map[string]json.RawMessage
		if json.Unmarshal(raw, &before) != nil || before == nil {
			return
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%s became %s", raw, out)
		}
		if s, ok := after["structuredContent"]; ok && !strings.HasPrefix(string(s), "{") && bytes.Contains(raw, []byte(`"structuredContent"`)) {
			t.Fatalf("left: %s", s)
		}
		delete(before, "structuredContent")
		delete(after, "structuredContent")
		if len(before) != len(after) || !reflect.DeepEqual(keysOf(before), keysOf(after)) {
			t.Fatalf("%s became %s", raw, out)
		}
	})
}

func keysOf(m map[string]json.RawMessage) map[string]bool {
	out := map[string]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}
