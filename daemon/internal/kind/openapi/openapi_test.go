package openapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"tenon/daemon/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOperationsBecomeTools(t *testing.T) {
	r := newRig(t, "shop.yaml", nil, func(k *config.KindSpec) { k.OpenAPI.Query = map[string]string{"api_key": "k-e-y"} })
	tools := r.tools()
	for name, want := range map[string]string{
		"orders_get": `{"additionalProperties":false,"properties":{"body":{"type":"string"},"id":{"type":"string"},"query_id":{"type":"string"}},"required":["id"],"type":"object"}`,
		"createOrder": `{"$defs":{"Order":{"properties":{"item":{"type":"string"},"parent":{"anyOf":[{"allOf":[{"$ref":"#/$defs/Order"}]},{"type":"null"}]},"secret":{"type":"string"},"status":{"$ref":"#/$defs/Status"}},` +
			`"required":["item","secret"],"type":"object"},"Status":{"enum":["open","paid",null],"type":["string","null"]}},"additionalProperties":false,"properties":{"X-Tenant":{"type":"string"},"body":{"$ref":"#/$defs/Order"}},"required":["body"],"type":"object"}`,
		"createOrder output": `{"$defs":{"Order":{"properties":{"id":{"type":"string"},"item":{"type":"string"},"parent":{"anyOf":[{"allOf":[{"$ref":"#/$defs/Order"}]},{"type":"null"}]},"secret":{"type":"string","writeOnly":true},"status":{"$ref":"#/$defs/Status"}},` +
			`"required":["id","item"],"type":"object"},"Status":{"enum":["open","paid",null],"type":["string","null"]}},"$ref":"#/$defs/Order"}`,
		"listOrders hints": "true false false", "createOrder hints": "false false false", "orders.get hints": "false true false", "delete_orders_id hints": "false true true",
		"delete_orders_id text": "Deprecated. Removes an order\n\nDELETE /orders/{id}",
		"listOrders text":       "List orders\n\nNewest first.\n\nGET /orders",
		"matrix output":         "", "orders.get output": "",
	} {
		want = strings.ReplaceAll(want, `,"writeOnly":true`, "")
		if got := string(tools[name]); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
	}
	list := string(tools["listOrders"])
	for _, part := range []string{`"limit":{"default":20,"description":"How many","exclusiveMinimum":0,"type":"integer"}`, `"status":{"items":{"$ref":"#/$defs/Status"},"type":"array"}`, `"where":{"type":"object"}`} {
		if !strings.Contains(list, part) {
			t.Errorf("%s has no %s", list, part)
		}
	}
	if strings.Contains(list, "api_key") || strings.Contains(list, "Authorization") {
		t.Errorf("a caller has to prove who asks: %s", list)
	}
	if _, there := tools["broken"]; there || !strings.Contains(r.stderr.text(), "shop.yaml:98: paths./broken/{x}.get: the path's {x} is no parameter") {
		t.Errorf("stderr: %s", r.stderr.text())
	}
}

func TestArgumentsBecomeTheRequest(t *testing.T) {
	r := newRig(t, "shop.yaml", nil)
	for _, c := range []struct{ tool, arguments, member, want string }{
		{"listOrders", `{"api_key": "a b", "limit": 5, "status": ["open", "a&b"], "ids": [1, 2], "pipes": ["a", "b"]}`, "request",
			"GET /v2/orders?limit=5&status=open&status=a%26b&ids=1,2&pipes=a|b&api_key=a%20b"},
		{"listOrders", `{"api_key": "k", "filter": {"from": "2020-01-01", "tag": ["x", "y"]}, "point": {"x": 1.50, "y": -2}, "where": {"a": [1]}, "url": "http://h/p?q=1&r#f"}`, "request",
			"GET /v2/orders?filter%5Bfrom%5D=2020-01-01&filter%5Btag%5D=x&filter%5Btag%5D=y&x=1.50&y=-2&where=%7B%22a%22%3A%5B1%5D%7D&url=http://h/p?q%3D1%26r%23f&api_key=k"},
		{"listOrders", `{"api_key": "k", "X-Tenant": "t", "theme": "dark; x"}`, "tenant", "t"},
		{"listOrders", `{"api_key": "k", "theme": "dark; x"}`, "cookie", "theme=dark%3B%20x"},
		{"listOrders", `{"api_key": "k"}`, "accept", "application/json, */*;q=0.1"},
		{"listOrders", `{}`, "", "error: argument api_key is missing"},
		{"listOrders", `{"api_key": "k", "X-Tenant": "a\r\nX: y"}`, "", "error: argument X-Tenant: a header cannot hold a line end"},
		{"orders_get", `{"id": "a/b c?%2e", "query_id": "q"}`, "request", "GET /v2/orders/a%2Fb%20c%3F%252e?id=q"},
		{"orders_get", `{"id": ".."}`, "", `error: argument id: ".." cannot be a part of a path: it would be another request`},
		{"matrix", `{"m": ["a", "b"], "l": ["c", "d"], "s": {"e": 1, "f": 2}}`, "request", "GET /v2/matrix/;m=a;m=b/.c,d/e=1,f=2"},
		{"createOrder", `{"body": {"item": "tea", "big": 12345678901234567890}}`, "body", `{"item": "tea", "big": 12345678901234567890}`},
		{"createOrder", `{"body": {"item": "tea"}}`, "type", "application/json"},
		{"createOrder", `{}`, "", "error: argument body is missing"},
		{"orders.get", `{"id": "1", "body": {"note": "a b&c", "tags": ["x", "y"]}}`, "body", "note=a+b%26c&tags=x&tags=y"},
		{"raw", `{"body": {"base64": "AAEC", "contentType": "image/gif"}}`, "type", "image/gif"},
		{"raw", `{"body": {"base64": "AAEC"}}`, "body", "\x00\x01\x02"},
		{"raw", `{"body": "text"}`, "type", "application/octet-stream"},
		{"raw", `{}`, "type", ""},
	} {
		if got := r.asked(c.tool, c.arguments, c.member); got != c.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.tool, c.arguments, got, c.want)
		}
	}
}

func TestFormsCarryFiles(t *testing.T) {
	r := newRig(t, "shop.yaml", func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := q.ParseMultipartForm(1 << 20); err != nil {
			fmt.Fprint(w, err)
			return
		}
		for _, name := range []string{"file", "more"} {
			for _, h := range q.MultipartForm.File[name] {
				f, err := h.Open()
				if err != nil {
					fmt.Fprint(w, err)
					return
				}
				data, _ := io.ReadAll(f)
				fmt.Fprintf(w, "%s %s %s %q\n", name, h.Filename, h.Header.Get("Content-Type"), data)
			}
		}
		fmt.Fprint(w, q.MultipartForm.Value["meta"], q.MultipartForm.Value["note"])
	})
	got := says(r.call("upload", `{"body": {"file": {"base64": "AAH/", "filename": "a\"b.png"}, "more": ["text", {"base64": "eA==", "contentType": "a/b"}], "meta": {"a": 1}, "note": "n"}}`))
	want := "file a\"b.png image/png \"\\x00\\x01\\xff\"\nmore more application/octet-stream \"text\"\nmore more a/b \"x\"\n[{\"a\": 1}] [n]"
	if strings.ReplaceAll(got, "%22", `"`) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(r.tools()["upload"]); !strings.Contains(got, `"description":"what to keep"`) || !strings.Contains(got, `"base64"`) {
		t.Errorf("input %s", got)
	}
}

func TestAnswersBecomeResults(t *testing.T) {
	status, media, body, after := 200, "", "", ""
	r := newRig(t, "shop.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
	get := func() *mcp.CallToolResult { return r.call("orders_get", `{"id": "1"}`) }
	media, body = "application/problem+json", `{"n": 12345678901234567890}`

	if got := get(); string(got.StructuredContent.(json.RawMessage)) != body {
		t.Errorf("%+v", got)
	}
	media, body = "text/html", `<p>`
	if got := get(); string(got.StructuredContent.(json.RawMessage)) != `"\u003cp\u003e"` {
		t.Errorf("%s", got.StructuredContent)
	}
	media, body = "image/png", "\x89PNG"
	if got, ok := get().Content[0].(*mcp.ImageContent); !ok || string(got.Data) != body || got.MIMEType != media {
		t.Errorf("%+v", got)
	}
	media, body = "application/pdf", "%PDF\xff"
	if got, ok := get().Content[0].(*mcp.EmbeddedResource); !ok || string(got.Resource.Blob) != body || got.Resource.MIMEType != media {
		t.Errorf("%+v", got)
	}
	media, body = "application/json", "{broken"
	if got := says(get()); !strings.HasPrefix(got, "error: the answer says that it is JSON and is none") {
		t.Errorf("%s", got)
	}
	status, after, body = 429, "30", `{"message": "slow down"}`
	if got := says(get()); got != "error: HTTP 429 Too Many Requests (GET /orders/{id})\nRetry-After: 30\n"+body {
		t.Errorf("%s", got)
	}
	status, media, body = 503, "image/png", "\x89PNG"
	if got := says(get()); !strings.Contains(got, "(4 bytes of image/png)") {
		t.Errorf("%s", got)
	}
	status, body = 204, ""
	if got := get(); got.IsError || says(got) != "" {
		t.Errorf("%+v", got)
	}
}

func TestWhatProvesWhoAsksGoesToTheServerAndNowhereElse(t *testing.T) {
	const token, password, key, query = "tok-en-1234", "pass w\"rd", "Token k3y-value", "qu&ry-secret"
	var elsewhere *httptest.Server
	var heard []string
	elsewhere = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = append(heard, fmt.Sprint(r.Header, r.RequestURI))
		w.WriteHeader(http.StatusForbidden)
	}))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		set  func(*config.OpenAPISpec)
		sent string
	}{
		"bearer": {func(o *config.OpenAPISpec) { o.Bearer = token }, "Bearer " + token},
		"basic":  {func(o *config.OpenAPISpec) { o.User, o.Password = "u", password }, "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+password))},
		"header": {func(o *config.OpenAPISpec) { o.Header = map[string]string{"X-Key": key} }, key},
		"query":  {func(o *config.OpenAPISpec) { o.Query = map[string]string{"k": query} }, "k=qu%26ry-secret"},
	} {
		t.Run(name, func(t *testing.T) {
			heard = nil
			var sent atomic.Value // a request that was cut off comes twice
			r := newRig(t, "shop.yaml", func(w http.ResponseWriter, q *http.Request) {
				sent.Store(fmt.Sprint(q.Header, q.RequestURI))
				switch {
				case strings.HasPrefix(q.URL.Path, "/v2/orders/away"):
					http.Redirect(w, q, elsewhere.URL+"/x", http.StatusFound)
				case strings.HasPrefix(q.URL.Path, "/v2/orders/fail"):
					w.WriteHeader(500)
					fmt.Fprint(w, q.Header, q.RequestURI)
				case strings.HasPrefix(q.URL.Path, "/v2/orders/cut"):
					w.Header().Set("Content-Length", "10")
					panic(http.ErrAbortHandler)
				default:
					echo(w, q)
				}
			}, func(k *config.KindSpec) { c.set(k.OpenAPI) })
			var said strings.Builder
			for _, id := range []string{"1", "fail", "away", "cut"} {
				out, err := json.Marshal(r.call("orders_get", `{"id": "`+id+`"}`))
				if err != nil {
					t.Fatal(err)
				}
				said.Write(out)
				if got, _ := sent.Load().(string); id != "cut" && !strings.Contains(got, c.sent) {
					t.Errorf("%s was not sent: %s", c.sent, got)
				}
			}
			list := fmt.Sprint(r.tools())
			quoted, _ := json.Marshal(password)
			for _, text := range []string{said.String(), list, r.stderr.text(), strings.Join(heard, "")} {
				for _, secret := range []string{token, password, strings.Trim(string(quoted), `"`), "k3y-value", query, "qu%26ry-secret", c.sent} {
					if strings.Contains(text, secret) {
						t.Errorf("%q is in %s", secret, text)
					}
				}
			}
			if len(heard) != 1 {
				t.Errorf("the redirect was followed %d times", len(heard))
			}
		})
	}
}

func TestOperationsAreChosen(t *testing.T) {
	for _, c := range []struct {
		set  func(*config.OpenAPISpec)
		want string
	}{
		{func(o *config.OpenAPISpec) { o.ReadOnly = true }, "listOrders matrix orders_get"},
		{func(o *config.OpenAPISpec) { o.Include = []string{"tag:files"} }, "raw? upload"},
		{func(o *config.OpenAPISpec) {
			o.Include, o.Exclude = []string{"* /orders*", "raw"}, []string{"DELETE *", "orders/get"}
		}, "createOrder listOrders orders.get raw"},
	} {
		r := newRig(t, "shop.yaml", nil, func(k *config.KindSpec) { c.set(k.OpenAPI) })
		for name := range r.tools() {
			if !strings.Contains(name, " ") && !strings.Contains(" "+c.want+" ", " "+name+" ") {
				t.Errorf("%s is there, want %s", name, c.want)
			}
		}
		for _, name := range strings.Fields(c.want) {
			if _, there := r.tools()[name]; !there && !strings.HasSuffix(name, "?") {
				t.Errorf("%s is missing", name)
			}
		}
	}
	r := newRig(t, "shop.yaml", nil, func(k *config.KindSpec) { k.OpenAPI.Include = []string{"nothing"} })
	if _, err := r.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "no operation is left") {
		t.Errorf("%v", err)
	}
}

func TestADocumentIsFetchedAndItsServersAreMeantFromThere(t *testing.T) {
	text, err := os.ReadFile("testdata/tracker.json")
	if err != nil {
		t.Fatal(err)
	}
	var authorized []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorized = append(authorized, r.URL.Path+" "+r.Header.Get("Authorization"))
		if r.URL.Path == "/docs/tracker.json" {
			_, _ = w.Write(text)
			return
		}
		echo(w, r)
	}))
	defer server.Close()
	r := newRig(t, "tracker.json", nil, func(k *config.KindSpec) {
		k.OpenAPI.Document, k.OpenAPI.BaseURL, k.OpenAPI.Bearer = server.URL+"/docs/tracker.json", "", "tok-en-1234"
	})
	if got := r.asked("items_update", `{"item-id": 3, "body": {"title": null}}`, "request"); got != "PATCH /api/items/3" {
		t.Errorf("%s", got)
	}
	if got := strings.Join(authorized, ", "); got != "/docs/tracker.json , /api/items/3 Bearer tok-en-1234" {
		t.Errorf("%s", got)
	}
	tools := r.tools()
	if got := string(tools["items_update"]); got != `{"$defs":{"Item":{"properties":{"elsewhere":{},"parts":{"items":{"$ref":"#/$defs/Item"},"prefixItems":[{"type":"string"}],"type":"array"},"size":{"const":3},"title":{"type":["string","null"]}},"type":"object"}},`+
		`"additionalProperties":false,"properties":{"body":{"allOf":[{"$ref":"#/$defs/Item"}],"description":"What to change"},"item-id":{"type":"integer"}},"required":["item-id"],"type":"object"}` {
		t.Errorf("%s", got)
	}
	if tools["get_stats"] == nil {
		t.Errorf("tools %v", tools)
	}
	// Its own server is another host: nobody proves anything there.
	if _, trusted, err := r.current.doc.base(r.spec, r.current.byName["get_stats"].servers); err != nil || trusted {
		t.Errorf("trusted %v, %v", trusted, err)
	}
	// A fetched document does not choose who gets the proof.
	text = bytes.Replace(text, []byte(`"/api"`), []byte(`"http://evil.example/api"`), 1)
	r = newRig(t, "tracker.json", nil, func(k *config.KindSpec) {
		k.OpenAPI.Document, k.OpenAPI.BaseURL, k.OpenAPI.Bearer = server.URL+"/docs/tracker.json", "", "tok-en-1234"
	})
	if _, err := r.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "evil.example") || strings.Contains(err.Error(), "tok-en") {
		t.Errorf("%v", err)
	}
}

func TestMistakesInADocumentNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.json", "{\n\"openapi\": \"3.0.0\",\n \"paths\": {,}}", "a.json:3:"},
		{"a.yaml", "openapi: 3.1.0\npaths:\n  /x: [", "a.yaml:"},
		{"a.yaml", "openapi: 3.1.0\npaths: 3\n", "a.yaml:2: paths: paths is missing or no object"},
		{"a.yaml", "swagger: '2.0'\npaths: {}\n", "a.yaml:1: swagger: this is a Swagger 2.0 document"},
		{"a.yaml", "openapi: 4\n", "a.yaml:1: openapi: openapi must be a version"},
		{"a.yaml", "- x\n", "the document is no object"},
		{"a.yaml", "", "empty"},
	} {
		if _, err := parseDocument(c.name, []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestAnEditIsReadAtOnceAndABrokenDocumentKeepsTheLastGood(t *testing.T) {
	r := newRig(t, "shop.yaml", nil)
	if _, there := r.tools()["matrix"]; !there {
		t.Fatal("no tools")
	}
	write := func(text string) {
		if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("openapi: 3.0.0\npaths: [\n")
	select {
	case <-r.Changed():
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was told")
	}
	if _, there := r.tools()["matrix"]; !there {
		t.Error("the last good document is gone")
	}
	if got := config.KindProblemIn(strings.Split(strings.TrimSpace(r.stderr.text()), "\n")); !strings.Contains(got, "shop.yaml:") {
		t.Errorf("problem %q", got)
	}
	write("openapi: 3.0.0\nservers: [{url: http://h.example}]\npaths: {/new: {get: {responses: {}}}}\n")
	if _, there := r.tools()["get_new"]; !there {
		t.Error("the good document is not read")
	}
	if got := config.KindProblemIn(strings.Split(strings.TrimSpace(r.stderr.text()), "\n")); got != "" {
		t.Errorf("problem %q", got)
	}
}
