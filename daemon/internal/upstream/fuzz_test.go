package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// FuzzReceive: whatever a server says, a call is settled once at most, with an
// object or an error, and only by what carries its id; nobody waits for nothing.
func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1000001,"result":{"content":[]}}`, `{"jsonrpc":"2.0","id":"1000001","result":[]}`,
		`{"jsonrpc":"2.0","id":1000001,"error":{"code":-1,"message":"m","data":{"fate":"unknown"}}}`, `{"id":1000001,"error":3}`,
		`[{"jsonrpc":"2.0","id":1000001,"result":{}},{"jsonrpc":"2.0","id":1000001,"result":{}}]`, `{"jsonrpc":"2.0","id":1000001}`,
		`{"jsonrpc":"2.0","id":1000001,"result":{"a":NaN}}`, "\xef\xbb\xbf{}", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1000001,"progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"x"}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{}}}`, `[]`, `[1]`, `"x"`,
	} {
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, tied bool) {
		o := &ear{}
		c := newConn(Spec{Name: "s", Observer: o, Secrets: []string{"s3cr3t-v@lue"}})
		const id = firstID + 1
		p := &pending{id: id, done: make(chan reply, 1)}
		c.calls[id] = p
		tie := int64(0)
		if tied {
			tie = id
		}
		c.receive(bytes.Clone(b), true, tie)
		c.cancel()
		c.work.Wait()
		noise, _, _ := o.heard()
		for _, n := range noise {
			if len(n) > noiseSample+len("…") || strings.Contains(n, "s3cr3t-v@lue") {
				t.Fatalf("noise: %q", n)
			}
		}
		select {
		case r := <-p.done:
			if c.waiting(id) || (r.err == nil) == (r.result == nil) {
				t.Fatalf("settled, waiting %v: %s, %v", c.waiting(id), r.result, r.err)
			}
			if r.err == nil && (r.result[0] != '{' || !json.Valid(r.result)) {
				t.Fatalf("a result that is no object: %s", r.result)
			}
		default:
			if !c.waiting(id) {
				t.Fatal("nobody will settle the call any more")
			}
		}
	})
}

// FuzzFrame: what is sent is one line of JSON that says what it was made of.
func FuzzFrame(f *testing.F) {
	f.Add("tools/call", "echo", []byte(`{"a":"b"}`))
	f.Add("resources/read", "a\"b\n\u2028é\xff", []byte("{\r\n \"x\" : [1,\n2] }"))
	f.Add("x", "", []byte(" { } "))
	f.Fuzz(func(t *testing.T, method, tool string, args []byte) {
		var given map[string]json.RawMessage
		if json.Unmarshal(args, &given) != nil || given == nil {
			return // arguments were checked before
		}
		var got struct {
			ID     int64  `json:"id"`
			Method string `json:"method"`
			Params map[string]json.RawMessage
		}
		for _, line := range [][]byte{
			frameCall(nil, 7, tool, args, `,"k":1`, []byte(`,"more":2`)),
			frameRequest(nil, 7, method, args, "", nil),
			cancelled(7, tool),
		} {
			if bytes.IndexByte(line, '\n') != len(line)-1 || bytes.IndexByte(line, '\r') >= 0 || json.Unmarshal(line, &got) != nil {
				t.Fatalf("no line of JSON: %q", line)
			}
		}
		line := frameCall(nil, 7, tool, args, `,"k":1`, []byte(`,"more":2`))
		got.Params = nil
		if err := json.Unmarshal(line, &got); err != nil || got.ID != 7 {
			t.Fatalf("%s: %v", line, err)
		}
		var name string
		if json.Unmarshal(got.Params["name"], &name) != nil || name != strings.ToValidUTF8(tool, "\ufffd") && !strings.Contains(tool, "\xff") && isUTF8(tool) {
			t.Fatalf("%q became %q", tool, name)
		}
		if !same(args, got.Params["arguments"]) {
			t.Fatalf("%s became %s", args, got.Params["arguments"])
		}
		var m message
		if !sniff(frameRequest(nil, 7, method, args, "", nil), &m) || !m.request() {
			t.Fatal("our own request is none")
		}
	})
}

func isUTF8(s string) bool { return strings.ToValidUTF8(s, "") == s }

func same(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// FuzzHeaderText: any text is a header's value that net/http takes, and can be
// read back.
func FuzzHeaderText(f *testing.F) {
	f.Add("echo")
	f.Add("é\r\nX-Evil: 1")
	f.Add("=?base64?eA==?=")
	f.Fuzz(func(t *testing.T, s string) {
		got := headerText(s)
		for i := range len(got) {
			if got[i] < 0x20 || got[i] > 0x7e {
				t.Fatalf("%q", got)
			}
		}
		if got == s {
			return
		}
		inside, ok := strings.CutPrefix(got, "=?base64?")
		back, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inside, "?="))
		if !ok || err != nil || string(back) != s {
			t.Fatalf("%q became %q, %v", s, got, err)
		}
	})
}

// FuzzTool: an entry of a list is a tool with a name, or left out with a reason.
func FuzzTool(f *testing.F) {
	for _, seed := range []string{`{"name":"a","inputSchema":{"type":"object"}}`, `null`, `{"name":3}`, `{"name":"a","Unusable":"x"}`, `{"name":"","inputSchema":true}`, `{"name":"a","annotations":[]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, entry []byte) {
		if !json.Valid(entry) {
			return // the page it stands in was read
		}
		c := newConn(Spec{Name: "s"})
		defer c.cancel()
		got := c.readTool(entry, 3)
		if (got.Name == "") != (got.Unusable != "") || len(got.Unusable) > 4*len(entry)+500 {
			t.Fatalf("%+v", got)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}

// FuzzAnswerOfHTTP: whatever an HTTP server answers, the call with it ends, or its
// answer comes another way; a refusal is a message of bounded length on one line.
func FuzzAnswerOfHTTP(f *testing.F) {
	f.Add(200, "application/json", []byte(`{"jsonrpc":"2.0","id":1000001,"result":{}}`))
	f.Add(200, "text/event-stream; charset=utf-8", []byte("event: message\nid: 1\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1000001,\"result\":{}}\n\n"))
	f.Add(400, "application/json", []byte(`{"jsonrpc":"2.0","id":1000001,"error":{"code":-32600,"message":"no"}}`))
	f.Add(401, "text/html", []byte("<html>\n\x1b[2J no"))
	f.Add(202, "", []byte{})
	f.Add(500, ";", bytes.Repeat([]byte("a "), 5000))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		if status < 200 || status > 599 {
			return // net/http gives no other
		}
		c := newConn(Spec{Name: "s"})
		defer c.cancel()
		w := newStreamable(c)
		c.wire = w
		const id = firstID + 1
		p := &pending{id: id, done: make(chan reply, 1)}
		c.calls[id] = p
		resp := &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(body))}
		var err error
		if status >= 300 {
			err = w.refusal(resp, id)
		} else if isEvents(resp) {
			e := w.events(id)
			err = e.run(resp.Body)
			if e.retry < 0 || int64(len(e.last)) > c.limit {
				t.Fatalf("retry %v, last %q", e.retry, e.last)
			}
		} else {
			err = w.read(c.ctx, resp, id)
		}
		if err != nil && len(err.Error()) > errorText+500 {
			t.Fatalf("%d bytes of error", len(err.Error()))
		}
		if err == nil && c.waiting(id) && status != http.StatusAccepted && status != http.StatusNoContent {
			t.Fatal("neither an answer nor an error")
		}
	})
}

// FuzzRetry: what a server wants before a resumption is a wait that ends.
func FuzzRetry(f *testing.F) {
	f.Add("5")
	f.Add("9223372036854775807")
	f.Fuzz(func(t *testing.T, text string) {
		e := &events{limit: 1 << 10, each: func(event) {}, beyond: func(_, _ []byte) {}}
		e.line([]byte("retry: "+text), true)
		if e.retry < 0 || e.retry > maxRetry {
			t.Fatalf("%q is %v", text, e.retry)
		}
	})
}
