package embedded

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// echoWeb answers with what it was asked.
func echoWeb(_ context.Context, r engine.FetchRequest) (*engine.FetchResponse, error) {
	res := &engine.FetchResponse{Status: 200, StatusText: "OK", URL: r.URL, Header: [][2]string{{"content-type", "application/json"}, {"set-cookie", "a=1"}, {"set-cookie", "b=2"}}}
	switch {
	case strings.HasSuffix(r.URL, "/bytes"):
		res.Body = []byte{0, 255, 128, 10}
	case strings.HasSuffix(r.URL, "/html"):
		res.Header, res.Body, res.Status, res.StatusText = [][2]string{{"content-type", "text/html"}}, []byte("<p>"), 404, "Not Found"
	case strings.HasSuffix(r.URL, "/moved"):
		res.Redirected, res.Body = true, []byte("[]")
	case strings.HasSuffix(r.URL, "/down"):
		return nil, fault.New(fault.ToolFailure, "fetch https://a.example: there is no such host").WithHint("look at the name")
	case strings.HasSuffix(r.URL, "/forbidden"):
		return nil, fault.New(fault.PermissionDenied, "fetch may not reach https://a.example").At("webfetch", "GET a.example")
	default:
		res.Body = fmt.Appendf(nil, `{"method":%q,"url":%q,"header":%q,"body":%q,"redirect":%q,"has":%v}`,
			r.Method, r.URL, fmt.Sprint(r.Header), string(r.Body), r.Redirect, r.Body != nil)
	}
	return res, nil
}

// web runs a source with fetch.
func web(t testing.TB, source string, fetch func(context.Context, engine.FetchRequest) (*engine.FetchResponse, error)) *engine.Outcome {
	t.Helper()
	return shared().Run(t.Context(), engine.Program{Source: source, Fetch: true}, &host{fetch: fetch})
}

func TestFetchHasTheShapeOfTheWebs(t *testing.T) {
	for _, c := range [][2]string{
		{"const r = await fetch('https://a.example/x?y=1#z'); const b = await r.json(); [r.ok, r.status, r.statusText, r.url, r.redirected, r.type, b.method, b.header, b.has]",
			`[true,200,"OK","https://a.example/x?y=1#z",false,"basic","GET","[]",false]`},
		{"(await (await fetch('https://A.example:443')).json()).url", `"https://a.example/"`},
		{"(await (await fetch(new URL('/q', 'https://a.example'))).json()).url", `"https://a.example/q"`},
		{"const r = await fetch('https://a.example/html'); [r.ok, r.status, await r.text(), r.bodyUsed, await r.text().catch(e => e.name)]", `[false,404,"<p>",true,"TypeError"]`},
		{"await (await fetch('https://a.example/html')).json().catch(e => e.name + ' ' + e.message.includes('not JSON but text/html'))", `"SyntaxError true"`},
		{"[...await (await fetch('https://a.example/bytes')).bytes()]", `[0,255,128,10]`},
		{"new Uint8Array(await (await fetch('https://a.example/bytes')).arrayBuffer()).length", `4`},
		{"const b = await (await fetch('https://a.example/bytes')).blob(); [b.size, b.type, b instanceof Blob]", `[4,"application/json",true]`},
		{"const r = await fetch('https://a.example/moved'), c = r.clone(); [r.redirected, await r.json(), await c.json(), c.redirected]", `[true,[],[],true]`},
		{"const out = []; for await (const chunk of (await fetch('https://a.example/bytes')).body) out.push(chunk.length); out", `[4]`},
		{"const reader = (await fetch('https://a.example/bytes')).body.getReader(); [(await reader.read()).value.length, (await reader.read()).done]", `[4,true]`},
		{"const r = await fetch('https://a.example/', { method: 'head' }); [await r.text(), r.body]", `["",null]`},
		{"const r = await fetch('https://a.example/'); [r.headers.get('Content-Type'), r.headers.getSetCookie(), [...r.headers.keys()]]",
			`["application/json",["a=1","b=2"],["content-type","set-cookie","set-cookie"]]`},
		{"await fetch('https://a.example/html')", `{"url":"https://a.example/html","status":404,"statusText":"Not Found","ok":false,"headers":{"content-type":"text/html"}}`},
		{"(await Promise.all([1, 2, 3].map(i => fetch('https://a.example/' + i).then(r => r.json())))).map(x => x.url.at(-1))", `["1","2","3"]`},
	} {
		if out := web(t, c[0], echoWeb); out.Err != nil || string(out.Value) != c[1] {
			t.Errorf("%s\n got %s %v\nwant %s", c[0], out.Value, out.Err, c[1])
		}
	}
}

func TestWhatFetchSends(t *testing.T) {
	post := func(init string) string {
		return "const b = await (await fetch('https://a.example/', " + init + ")).json(); [b.method, b.header, b.body, b.has, b.redirect]"
	}
	for _, c := range [][2]string{
		{post(`{ method: "post", body: "é" }`), `["POST","[[content-type text/plain;charset=UTF-8]]","é",true,"follow"]`},
		{post(`{ method: "POST", headers: { "Content-Type": "application/json", "X-A": " 1 " }, body: JSON.stringify({ a: 1 }) }`), `["POST","[[content-type application/json] [x-a 1]]","{\"a\":1}",true,"follow"]`},
		{post(`{ method: "PUT", body: new URLSearchParams({ a: "1 2", b: "ä" }), redirect: "manual" }`), `["PUT","[[content-type application/x-www-form-urlencoded;charset=UTF-8]]","a=1+2&b=%C3%A4",true,"manual"]`},
		{post(`{ method: "PATCH", body: new Uint8Array([104, 105]).subarray(1), headers: [["a", "1"], ["A", "2"]] }`), `["PATCH","[[a 1, 2]]","i",true,"follow"]`},
		{post(`{ method: "POST", body: new Blob(["a", new Uint8Array([98])], { type: "Text/X" }) }`), `["POST","[[content-type text/x]]","ab",true,"follow"]`},
		{post(`{ method: "POST", body: "" }`), `["POST","[[content-type text/plain;charset=UTF-8]]","",true,"follow"]`},
		{post(`{ method: "DELETE" }`), `["DELETE","[]","",false,"follow"]`},
		{"const q = new Request('https://a.example/r', { method: 'POST', headers: new Headers({ a: 'b' }), body: 'x' }); const b = await (await fetch(q, { headers: { c: 'd' } })).json(); [b.url, b.method, b.header, b.body, q.bodyUsed]",
			`["https://a.example/r","POST","[[c d]]","x",false]`},
		{`const f = new FormData(); f.append("a", "1"); f.append('q"', new File(["xy"], "n.txt", { type: "text/plain" })); f.set("a", "2");
			const b = await (await fetch("https://a.example/", { method: "POST", body: f })).json();
			const boundary = /boundary=([^\]]+)/.exec(b.header)[1];
			[b.body.split(boundary).length, b.body.includes('name="a"\r\n\r\n2\r\n'), b.body.includes('name="q%22"; filename="n.txt"\r\nContent-Type: text/plain\r\n\r\nxy\r\n')]`, `[4,true,true]`},
	} {
		if out := web(t, c[0], echoWeb); out.Err != nil || string(out.Value) != c[1] {
			t.Errorf("%s\n got %s %v\nwant %s", c[0], out.Value, out.Err, c[1])
		}
	}
}

func TestWhatIsNoRequestIsATypeErrorThatSaysWhy(t *testing.T) {
	for source, has := range map[string]string{
		`await fetch("/api")`: "absolute URL",
		`await fetch()`:       "absolute URL",
		`await fetch("https://a.example", { body: "x" })`:                                  `method: "POST"`,
		`await fetch("https://a.example", { method: "POST", body: { a: 1 } })`:             "JSON.stringify(body)",
		`await fetch("https://a.example", { method: "POST", body: Promise.resolve("x") })`: "forget await",
		`await fetch("https://a.example", { headers: { "a b": "c" } })`:                    "no name of a header",
		`await fetch("https://a.example", { headers: { a: "b\nc" } })`:                     "line break",
		`await fetch("https://a.example", { signal: {} })`:                                 "AbortSignal",
	} {
		called := false
		out := web(t, source, func(context.Context, engine.FetchRequest) (*engine.FetchResponse, error) {
			called = true
			return &engine.FetchResponse{Status: 200}, nil
		})
		if out.Err == nil || out.Err.Kind != fault.ScriptError || !strings.Contains(out.Err.Message, "TypeError") || !strings.Contains(out.Err.Message, has) || called {
			t.Errorf("%s: %v, want %q", source, out.Err, has)
		}
	}
}

func TestAFailureOfTheNetworkIsATypeErrorAndOneOfThePolicyAToolError(t *testing.T) {
	for _, c := range [][2]string{
		{"await fetch('https://a.example/down').catch(e => [e instanceof TypeError, e.message, e.kind, e.hint])",
			`[true,"fetch https://a.example: there is no such host","ToolFailure","look at the name"]`},
		{"await fetch('https://a.example/forbidden').catch(e => [e instanceof ToolError, e.kind, e.server, e.tool])", `[true,"PermissionDenied","webfetch","GET a.example"]`},
	} {
		if out := web(t, c[0], echoWeb); out.Err != nil || string(out.Value) != c[1] {
			t.Errorf("%s\n got %s %v\nwant %s", c[0], out.Value, out.Err, c[1])
		}
	}
	// Uncaught, each ends the run as what it is, at the line that asked.
	for path, kind := range map[string]fault.Kind{"down": fault.ToolFailure, "forbidden": fault.PermissionDenied} {
		out := web(t, "const a = 1;\nawait fetch('https://a.example/"+path+"');", echoWeb)
		if out.Err == nil || out.Err.Kind != kind || out.Err.Position == nil || out.Err.Position.Line != 2 {
			t.Errorf("%s: %+v", path, out.Err)
		}
	}
}

func TestAnAbortEndsTheRequestAndTheRunDoesNotWaitForIt(t *testing.T) {
	var begun, ended atomic.Int32
	hang := func(ctx context.Context, _ engine.FetchRequest) (*engine.FetchResponse, error) {
		begun.Add(1)
		<-ctx.Done()
		ended.Add(1)
		return nil, fault.From(context.Cause(ctx))
	}
	for _, c := range [][2]string{
		{"await fetch('https://a.example', { signal: AbortSignal.timeout(20) }).catch(e => e.name)", `"TimeoutError"`},
		{"const c = new AbortController(); const p = fetch('https://a.example', { signal: c.signal }); c.abort(); await p.catch(e => e.name)", `"AbortError"`},
		{"const c = new AbortController(); const p = fetch('https://a.example', { signal: c.signal }); setTimeout(() => c.abort('mine'), 5); await p.catch(e => e)", `"mine"`},
		{"await fetch('https://a.example', { signal: AbortSignal.abort() }).catch(e => e.name)", `"AbortError"`},
	} {
		out := web(t, c[0], hang)
		if out.Err != nil || string(out.Value) != c[1] || len(out.Warnings) != 0 {
			t.Errorf("%s\n got %s %v %v\nwant %s", c[0], out.Value, out.Err, out.Warnings, c[1])
		}
	}
	if begun.Load() != ended.Load() {
		t.Errorf("%d begun, %d ended", begun.Load(), ended.Load())
	}
	// One that is aborted while it waits for its place is never made.
	begun.Store(0)
	out := shared().Run(t.Context(), engine.Program{Fetch: true, Limits: engine.Limits{Concurrency: 1}, Source: `
		const a = new AbortController(), b = new AbortController();
		const first = fetch("https://a.example", { signal: a.signal }).catch(e => 1), second = fetch("https://a.example", { signal: b.signal }).catch(e => 2);
		b.abort(); await second; a.abort(); await first`}, &host{fetch: hang})
	if out.Err != nil || begun.Load() > 1 {
		t.Errorf("%v, %d begun", out.Err, begun.Load())
	}
}

func TestThereIsNoFetchWhereNoHostIsAllowed(t *testing.T) {
	values(t, [][2]string{{"[typeof fetch, typeof Headers, typeof Request, typeof Response, typeof FormData, typeof Blob]",
		`["undefined","undefined","undefined","undefined","undefined","undefined"]`}})
	out, _ := execute(t, "await fetch('https://a.example')")
	if out.Err == nil || !strings.Contains(out.Err.Hint, "net.allow") {
		t.Errorf("%+v", out.Err)
	}
}

func TestALargeBodyCountsAgainstTheProgramsMemory(t *testing.T) {
	out := shared().Run(t.Context(), engine.Program{
		Fetch: true, Limits: engine.Limits{Memory: engine.MinMemory}, Source: "(await (await fetch('https://a.example')).text()).length",
	}, &host{fetch: func(context.Context, engine.FetchRequest) (*engine.FetchResponse, error) {
		return &engine.FetchResponse{Status: 200, Body: make([]byte, 8<<20)}, nil
	}})
	if out.Err == nil || out.Err.Kind != fault.MemoryLimitExceeded {
		t.Errorf("%+v", out.Err)
	}
}
