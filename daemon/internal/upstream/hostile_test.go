package upstream

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

// webServer is an MCP server over HTTP that answers calls as it is told to.
func webServer(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, id json.RawMessage)) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body) // what is missing is no method
		_ = json.Unmarshal(body, &m)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Method == "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, m.ID)
		case m.Method == "tools/call":
			answer(w, r, m.ID)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
	t.Cleanup(srv.Close)
	return srv
}

func webSpec(url string) Spec {
	return Spec{Name: "web", Kind: "http", URL: url, StartTimeout: 30 * time.Second, MaxMessage: 1 << 20}
}

// grown is how many bytes f allocated in all.
func grown(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAnswersThatNeverEndOrUnpackToMoreAreBounded(t *testing.T) {
	const blown = 64 << 20
	chunk := strings.Repeat(" ", 64<<10)
	forms := map[string]func(w http.ResponseWriter, r *http.Request, id json.RawMessage){
		"a small body that unpacks to 64 MiB": func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage) {
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is a valid one
			for range blown / len(chunk) {
				if _, err := io.WriteString(z, chunk); err != nil {
					return
				}
			}
			_ = z.Close()
		},
		"chunks without an end": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		},
		"events without a line end": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: ")
			for range blown / len(chunk) {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		},
		"an event of lines without an end": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			lines := strings.Repeat("data:x\n", 10_000)
			for range 200 {
				if _, err := io.WriteString(w, lines); err != nil {
					return
				}
			}
		},
		"a refusal without an end": func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			w.WriteHeader(http.StatusInternalServerError)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, "no "+chunk); err != nil {
					return
				}
			}
		},
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			c := dial(t, webSpec(webServer(t, form).URL))
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			var err error
			if n := grown(func() { _, err = c.Call(ctx, Call{Tool: "x"}) }); n > 48<<20 { // the server of the test is in it
				t.Errorf("%d MiB were allocated for an answer of at most 1 MiB", n>>20)
			}
			if err == nil || ctx.Err() != nil {
				t.Errorf("error: %v, context: %v", err, ctx.Err())
			}
			if err != nil && len(err.Error()) > 2000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestBombsOfJSONEndTheirCallOnly(t *testing.T) {
	bombs := map[string]string{
		"depth":          `{"content":` + strings.Repeat("[", 400_000),
		"closed depth":   `{"content":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + `}`,
		"objects":        `{"content":` + strings.Repeat(`{"a":`, 150_000) + "1" + strings.Repeat("}", 150_000) + `}`,
		"not a result":   `[` + strings.Repeat("1,", 100_000) + `1]`,
		"beyond the cap": `{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20+1) + `"}]}`,
	}
	fine := map[string]string{
		"a number beyond all bounds": `{"content":[],"structuredContent":{"n":1e999999999,"m":-1e-999999999}}`,
		"a long number":              `{"content":[],"structuredContent":{"n":` + strings.Repeat("9", 300_000) + `}}`,
		"keys":                       `{"content":[],"structuredContent":{` + manyKeys(50_000) + `}}`,
		"a key twice":                `{"content":[],"structuredContent":{"a":1,"a":2},"structuredContent":{"a":3}}`,
		"a key of the prototype":     `{"content":[],"structuredContent":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}}`,
	}
	next := ""
	c := dial(t, webSpec(webServer(t, func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, next)
	}).URL))
	call := func(result string) (json.RawMessage, error) {
		next = result
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		return c.Call(ctx, Call{Tool: "x"})
	}
	for name, bomb := range bombs {
		if got, err := call(bomb); err == nil {
			t.Errorf("%s: %.100s", name, got)
		}
		if _, err := call(`{"content":[]}`); err != nil {
			t.Fatalf("after %s the server is not usable: %v", name, err)
		}
	}
	for name, result := range fine {
		if got, err := call(result); err != nil || string(got) != result {
			t.Errorf("%s: %.100s, %v; it is passed on byte for byte", name, got, err)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func TestARedirectToAnotherServerIsNotFollowed(t *testing.T) {
	got := make(chan string, 8)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- fmt.Sprintf("%s %v %s", r.Method, r.Header, body)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := webSpec(webServer(t, func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
			http.Redirect(w, r, elsewhere.URL+"/", status)
		}).URL)
		s.Headers = map[string]string{"X-Api-Key": "s3cret"}
		_, err := dial(t, s).Call(t.Context(), Call{Tool: "x", Arguments: json.RawMessage(`{"a":"argument"}`)})
		wantKind(t, err, fault.ServerUnavailable, http.StatusText(status))
		if hint := fault.From(err).Hint; !strings.Contains(hint, elsewhere.URL) || !NotSent(err) {
			t.Errorf("%d: hint %q, fate %s", status, hint, fate(err))
		}
	}
	select {
	case request := <-got:
		t.Errorf("another server got %s", request)
	default:
	}
	// Within the server it is.
	moved := webServer(t, func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		if r.URL.Path != "/moved" {
			http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"here"}]}}`, id)
	})
	if text, err := try(dial(t, webSpec(moved.URL)), Call{Tool: "x"}); err != nil || text != "here" {
		t.Errorf("%q, %v", text, err)
	}
}
