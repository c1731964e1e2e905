package call

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
)

const fileSchema = `{"type":"object","properties":{
	"path":{"type":"string","description":"where the file is"},"head":{"type":"integer"},"mode":{"enum":["text","binary"]},
	"edits":{"type":"array","items":{"type":"object"}}},"required":["path"],"additionalProperties":false}`

func TestWrongArgumentsAreToldInTheCallersForm(t *testing.T) {
	r := newRig(t)
	r.shelf.set(upstream.Tool{Name: "read-it", InputSchema: json.RawMessage(fileSchema)})
	for _, c := range []struct {
		surface string
		lone    bool
		form    string
	}{
		{"cli", false, "tools.fake.read_it(args: { path: string;"},
		{"cli", true, "tenon call fake read-it path=TEXT [edits:=JSON] [head=NUMBER] [mode=text|binary]"},
		{"mcp", true, "arguments: { path: string;"},
		{"bridge", true, "arguments: { path: string;"},
		{"http", true, "arguments: { path: string;"},
	} {
		r.caller.Surface = c.surface
		req := r.request("read-it", `{"pth":"/x","head":"5"}`)
		req.Lone = c.lone
		_, failed := r.path.Call(context.Background(), req)
		err := fault.From(failed)
		if err == nil || err.Kind != fault.InvalidToolInput || err.Server != "fake" || err.Tool != "read-it" {
			t.Fatalf("%+v: %+v", c, err)
		}
		for _, want := range []string{`missing properties: ["path"]`, `did you mean "path"?`, `/head: got "5", want integer`, "write 5 without quotes", `["pth"] not allowed`} {
			if !strings.Contains(err.Message, want) {
				t.Errorf("message %q; want %q in it", err.Message, want)
			}
		}
		if !strings.HasPrefix(err.Hint, "call it as "+c.form) {
			t.Errorf("%+v: hint %q", c, err.Hint)
		}
	}
	_, err := r.call("read-it", `{"path":["/x"]}`)
	if err == nil || err.Pointer != "/path" || !strings.Contains(err.Hint, "path: where the file is") {
		t.Errorf("%+v", err)
	}
	if n := r.conn.calls.Load(); n != 0 {
		t.Errorf("%d calls reached the server", n)
	}
}

func TestNothingIsConvertedOnTheWay(t *testing.T) {
	r := newRig(t)
	r.shelf.set(upstream.Tool{Name: "n", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
	const args = `{"n":90071992547409931234,"x":-0,"y":1.10,"z":1e400,"s":"\ud800\u0000","a":1,"a":2}`
	r.conn.answer = func(_ context.Context, c upstream.Call) (json.RawMessage, error) {
		if string(c.Arguments) != args {
			t.Errorf("the server got %s", c.Arguments)
		}
		return json.RawMessage(`{"content":[]}`), nil
	}
	res := r.mustCall("n", args)
	if len(res.Warnings) != 1 || res.Warnings[0].Kind != "SchemaUnusable" { // 1e400 is more than can be checked
		t.Errorf("warnings %+v", res.Warnings)
	}
}

func TestOutputsAreHeldAgainstTheirSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"required":["n","s"]}`
	const wrong = `{"structuredContent":{"n":"one"},"content":[{"type":"text","text":"one"}]}`
	const text = `{"content":[{"type":"text","text":"{\"n\":1}"}]}`
	for _, c := range []struct {
		server, script, result string
		warns, fails           string
	}{
		{"", "warn", wrong, `/n: got "one", want integer`, ""},
		{"", "", wrong, `missing properties: ["s"]`, ""},
		{"off", "strict", wrong, "", ""},
		{"strict", "warn", wrong, "", `/n: got "one", want integer`},
		{"", "strict", wrong, "", `missing properties: ["s"]`},
		{"warn", "strict", wrong, `/n: got "one", want integer`, ""},
		{"warn", "", text, "no structuredContent", ""},
		{"strict", "", text, "", "no structuredContent"},
		{"strict", "", `{"structuredContent":{"n":1,"s":"x"},"content":[]}`, "", ""},
	} {
		r := newRig(t)
		r.shelf.set(upstream.Tool{Name: "typed", OutputSchema: json.RawMessage(schema)})
		r.view.Servers["fake"].Outputs, r.view.Script.Outputs = c.server, c.script
		r.answers(c.result)
		res, err := r.call("typed", `{}`)
		if c.fails != "" {
			if err == nil || err.Kind != fault.InvalidToolOutput || !strings.Contains(err.Message, c.fails) || err.Content == nil || !strings.Contains(err.Hint, "the call was made") {
				t.Errorf("%+v: %+v", c, err)
			}
			if c.result == wrong && string(err.Data) != `{"n":"one"}` {
				t.Errorf("the value is lost: %s", err.Data)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %+v", c, err)
			continue
		}
		if (len(res.Warnings) > 0) != (c.warns != "") || c.warns != "" && (res.Warnings[0].Kind != "InvalidToolOutput" || !strings.Contains(res.Warnings[0].Message, c.warns)) {
			t.Errorf("%+v: warnings %+v", c, res.Warnings)
		}
	}
}

func TestACallWithoutAnAnswerIsDoubted(t *testing.T) {
	r := newRig(t)
	failure := fault.New(fault.TimeoutExceeded, "no sign of life").WithHint("wait longer")
	r.conn.answer = func(context.Context, upstream.Call) (json.RawMessage, error) { return nil, failure }
	_, err := r.call("echo", `{"text":"x"}`)
	if err == nil || string(err.Data) != `{"fate":"unknown"}` || !strings.HasPrefix(err.Hint, "wait longer; ") || !strings.Contains(err.Hint, "may have taken effect") {
		t.Errorf("%+v %s", err, err.Data)
	}
	if n := r.conn.calls.Load(); n != 1 {
		t.Errorf("%d calls were made", n)
	}
	if failure.Data != nil {
		t.Error("the transport's own failure was changed")
	}
	gone := fault.New(fault.ServerUnavailable, "gone")
	gone.Data = []byte(`{"fate":"not-sent"}`)
	r.conn.answer = func(context.Context, upstream.Call) (json.RawMessage, error) { return nil, gone }
	if _, err := r.call("echo", `{"text":"x"}`); err == nil || string(err.Data) != `{"fate":"not-sent"}` || err.Hint != "" {
		t.Errorf("%+v %s", err, err.Data)
	}
	// what ends before anything is sent is not in doubt
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, failed := r.path.Call(ctx, r.request("echo", `{"text":"x"}`))
	if err := fault.From(failed); err == nil || strings.Contains(err.Hint, "taken effect") && r.conn.calls.Load() == 2 {
		t.Errorf("%+v", err)
	}
}
