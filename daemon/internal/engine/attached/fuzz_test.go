package attached

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"

	"tenon/proto"
)

// tape is a connection that says what is on it, and keeps what it hears.
type tape struct {
	io.Reader
	heard bytes.Buffer // written under the link's lock
}

func (t *tape) Write(p []byte) (int, error) { return t.heard.Write(p) }
func (t *tape) Close() error                { return nil }

// FuzzLink: whatever the other end says, a request of its is answered once, and no
// handler outlives the link.
func FuzzLink(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"work","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"none"}`, `{"jsonrpc":"2.0","method":"note","params":3}`,
		"{\"id\":\"a\",\"method\":\"work\"}\n{\"id\":\"a\",\"method\":\"work\"}", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"id":null,"method":"work"}`, `[]`, "\xff\n", `{"id":1,"error":{"code":1,"message":"m","data":{"kind":"nonsense"}}}`,
	} {
		f.Add([]byte(s + "\n"))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		c := &tape{Reader: bytes.NewReader(said)}
		l := newLink(c, bufio.NewReaderSize(c, 16))
		work := 0 // counted by the reader of a request each
		l.requests = map[string]func(context.Context, json.RawMessage) (any, error){
			"work":  func(context.Context, json.RawMessage) (any, error) { return struct{}{}, nil },
			"panic": func(_ context.Context, p json.RawMessage) (any, error) { panic(string(p)) },
		}
		l.notifications = map[string]func(json.RawMessage){"note": func(json.RawMessage) { work++ }}
		_, answer := l.register()
		l.serve()
		select {
		case m := <-answer:
			if err := failureOf(m); err != nil && err.Error() == "" {
				t.Fatalf("%+v", m)
			}
		default:
		}
		if len(l.handling) != 0 || l.life.Err() == nil {
			t.Fatalf("%d handlers are left", len(l.handling))
		}
		requests := 0
		for line := range bytes.Lines(said) {
			var m proto.RPCMessage
			if json.Unmarshal(line, &m) != nil {
				break
			}
			if m.Method != "" && m.Method != proto.MethodCancelRequest && m.ID != nil {
				requests++
			}
		}
		if got := bytes.Count(c.heard.Bytes(), []byte("\n")); got > requests {
			t.Fatalf("%d answers to %d requests", got, requests)
		}
		for line := range bytes.Lines(c.heard.Bytes()) {
			var m proto.RPCMessage
			if err := json.Unmarshal(line, &m); err != nil || (m.Error == nil) == (m.Result == nil) {
				t.Fatalf("%s: %v", line, err)
			}
		}
	})
}

// FuzzProgram: a program that travels arrives as it was sent, and an outcome of any
// content is one.
func FuzzProgram(f *testing.F) {
	f.Add([]byte(`{"engine":"deno","name":"p.ts","script":{"code":"1","mappings":"","above":0,"skip":0,"edits":[]},"session":{"runId":"run_1"},"limits":{"cpuMs":9223372036854775807},"namespaces":[]}`))
	f.Add([]byte(`{"value":{"a":1},"emits":[1],"logs":[{}],"error":{"kind":"ToolFailure","message":"m"}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var a proto.AttachedProgram
		if json.Unmarshal(raw, &a) == nil {
			j := jobOf(a)
			once := programOf(j.Engine, j.Compiled, j.Program)
			j = jobOf(once)
			one, _ := json.Marshal(once)
			two, _ := json.Marshal(programOf(j.Engine, j.Compiled, j.Program))
			if !bytes.Equal(one, two) {
				t.Fatalf("%s, then %s", one, two)
			}
		}
		var o proto.ProgramOutcome
		if json.Unmarshal(raw, &o) == nil {
			_ = wireOutcome(outcomeOf(o))
		}
	})
}
