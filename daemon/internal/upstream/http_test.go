package upstream

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
)

func httpSpec(t testing.TB, flags ...string) Spec {
	return Spec{Name: "web", Kind: "http", URL: fakeserver.HTTP(t, flags...), StartTimeout: 30 * time.Second}
}

func sseSpec(t testing.TB, flags ...string) Spec {
	s := httpSpec(t, flags...)
	s.Kind, s.URL = "sse", strings.TrimSuffix(s.URL, "/mcp")+"/sse"
	return s
}

func TestHTTPTransportsDoWhatStdioDoes(t *testing.T) {
	for name, spec := range map[string]func(testing.TB, ...string) Spec{
		"streamable": httpSpec, "sse": sseSpec,
		"json": func(t testing.TB, flags ...string) Spec { return httpSpec(t, append(flags, "--respond", "json")...) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal")
			e := &ear{}
			s := spec(t, "--more", "120", "--pages", "50", "--journal", path)
			s.Observer, s.MaxMessage = e, 1<<20
			c := dial(t, s)
			if got := text(t, c, Call{Tool: "echo", Arguments: args(`{"text":"hé"}`)}); got != "hé" {
				t.Errorf("echo gave %q", got)
			}
			if tools, err := c.Tools(context.Background()); err != nil || tools[len(tools)-1].Name != "t120" {
				t.Errorf("%d tools, %v", len(tools), err)
			}
			if err := c.Ping(context.Background()); err != nil {
				t.Error(err)
			}
			_, err := c.Call(context.Background(), Call{Tool: "blob", Arguments: args(`{"bytes":3000000}`)})
			wantKind(t, err, fault.InvalidToolOutput, "1 MiB")
			if got := text(t, c, Call{Tool: "blob", Arguments: args(`{"bytes":1000000}`)}); len(got) != 1000000 {
				t.Errorf("blob of %d bytes", len(got))
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() {
				_, err := c.Call(ctx, Call{Tool: "sleep", Arguments: args(`{"ms":60000}`)})
				done <- err
			}()
			eventually(t, "the call arrives", func() bool { return strings.Contains(fmtJournal(journal(t, path)), "60000") })
			began := time.Now()
			cancel()
			wantKind(t, <-done, fault.Cancelled)
			if took := time.Since(began); took > 250*time.Millisecond {
				t.Errorf("the caller waited %v", took)
			}
			eventually(t, "the cancel arrives", func() bool { return len(methods(journal(t, path), "notifications/cancelled")) == 1 })
			text(t, c, Call{Tool: "load"})
			eventually(t, "the change is heard", func() bool { return e.changed() == 1 })
			var work sync.WaitGroup
			for i := range 50 {
				work.Go(func() {
					if got, err := try(c, Call{Tool: "echo", Arguments: args(`{"text":"%d"}`, i)}); err != nil || got != itoa(i) {
						t.Errorf("call %d: %q, %v", i, got, err)
					}
				})
			}
			work.Wait()
		})
	}
}

func fmtJournal(all []map[string]any) string {
	b, _ := json.Marshal(all)
	return string(b)
}

func TestProgressAndQuestionsOverHTTP(t *testing.T) {
	for name, s := range map[string]Spec{"streamable": httpSpec(t), "sse": sseSpec(t)} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, s)
			n := 0
			text(t, c, Call{Tool: "tick", Arguments: args(`{"n":8,"ms":150}`), Timeout: time.Second, Progress: func(Progress) { n++ }})
			if n != 8 {
				t.Errorf("%d progress notifications", n)
			}
			c.SetRoots([]string{"/srv"})
			if got := text(t, c, Call{Tool: "ask-roots"}); !strings.Contains(got, "file:///srv") {
				t.Errorf("roots %s", got)
			}
			yes := human(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`{"action":"accept"}`), nil
			})
			if got := text(t, c, Call{Tool: "elicit", Questions: yes}); got != `{"action":"accept"}` {
				t.Errorf("elicit %s", got)
			}
		})
	}
}

// Streamable HTTP ties a question to the call whose stream brings it.
func TestTiedQuestionReachesItsCallAmongMany(t *testing.T) {
	c := dial(t, httpSpec(t))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Call(ctx, Call{Tool: "sleep", Arguments: args(`{"ms":60000}`)})
	}()
	eventually(t, "the other call is in flight", func() bool { id, _ := c.single(); return id != 0 })
	yes := human(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"action":"accept"}`), nil
	})
	if got := text(t, c, Call{Tool: "elicit", Questions: yes}); got != `{"action":"accept"}` {
		t.Errorf("elicit %s", got)
	}
	cancel()
	<-done
}

//
func TestForgottenSessionIsRenewedAndTheRefusedCallSentOnceMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	e := &ear{}
	s := httpSpec(t, "--expire", "2", "--journal", path)
	s.Observer = e
	c := dial(t, s)
	for i := range 4 {
		if got, err := try(c, Call{Tool: "counter"}); err != nil || got != itoa(i+1) {
			t.Errorf("call %d: %q, %v", i+1, got, err)
		}
	}
	all := journal(t, path)
	if a, b := len(methods(all, "initialize")), len(methods(all, "tools/call")); a != 2 || b != 4 {
		t.Errorf("%d handshakes and %d accepted calls", a, b)
	}
	if e.changed() != 1 {
		t.Errorf("told of changed tools %d times", e.changed())
	}
}

func TestManyCallsShareOneRenewal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	c := dial(t, httpSpec(t, "--expire", "20", "--journal", path))
	var work sync.WaitGroup
	for range 35 {
		work.Go(func() {
			if _, err := try(c, Call{Tool: "echo"}); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if n := len(methods(journal(t, path), "initialize")); n != 2 {
		t.Errorf("%d handshakes", n)
	}
}

//
func TestBrokenStreamFailsItsCallAtOnce(t *testing.T) {
	c := dial(t, httpSpec(t, "--drop", "200"))
	began := time.Now()
	_, err := c.Call(context.Background(), Call{Tool: "sleep", Arguments: args(`{"ms":2000}`), Timeout: time.Minute})
	wantKind(t, err, fault.ServerUnavailable, "disconnected")
	if fate(err) != fateUnknown {
		t.Errorf("fate %s", fate(err))
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("took %v", took)
	}
}

//
func TestBrokenStreamIsResumedWhereOffered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	c := dial(t, httpSpec(t, "--drop", "200", "--resume", "--journal", path))
	if got := text(t, c, Call{Tool: "sleep", Arguments: args(`{"ms":1000}`), Timeout: time.Minute}); got != "slept 1000 ms" {
		t.Errorf("got %q", got)
	}
	if n := len(methods(journal(t, path), "tools/call")); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

//
func TestBrokenSSEStreamEndsTheConnection(t *testing.T) {
	c := dial(t, sseSpec(t, "--drop", "4000"))
	_, err := c.Call(context.Background(), Call{Tool: "blob", Arguments: args(`{"bytes":8000}`), Timeout: time.Minute})
	wantKind(t, err, fault.ServerUnavailable, "disconnected")
	if fate(err) != fateUnknown {
		t.Errorf("fate %s", fate(err))
	}
	<-c.Done()
	_, err = c.Call(context.Background(), Call{Tool: "echo"})
	if !NotSent(err) {
		t.Errorf("a call after the end: %v", err)
	}
}

func TestHeadersGoWithEveryRequest(t *testing.T) {
	for _, spec := range []func(testing.TB, ...string) Spec{httpSpec, sseSpec} {
		s := spec(t, "--token", "s3cret")
		_, err := Connect(context.Background(), nil, s)
		wantKind(t, err, fault.ServerUnavailable, "401")
		s.Headers = map[string]string{"Authorization": "Bearer s3cret"}
		c := dial(t, s)
		text(t, c, Call{Tool: "echo"})
		text(t, c, Call{Tool: "ask-roots"}) // the answer is a request of its own
	}
}

func TestUnreachableServerWasNeverSentAnything(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String() + "/mcp?key=hunter2"
	_ = ln.Close()
	for _, kind := range []string{"http", "sse"} {
		_, err := Connect(context.Background(), nil, Spec{Name: "web", Kind: kind, URL: url, Secrets: []string{"hunter2"}, StartTimeout: 10 * time.Second})
		wantKind(t, err, fault.ServerUnavailable, "cannot be reached")
		if !NotSent(err) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: fate %s: %v", kind, fate(err), err)
		}
	}
}

func TestPageThatIsNoServerIsExplained(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>hello</html>"))
			return
		}
		http.Error(w, "nothing here", http.StatusNotFound)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	defer func() { _ = srv.Close(); <-done }()
	for path, part := range map[string]string{"/page": "did not initialize", "/none": "404 Not Found: nothing here"} {
		_, err := Connect(context.Background(), nil, Spec{Name: "web", Kind: "http", URL: "http://" + ln.Addr().String() + path, StartTimeout: 10 * time.Second})
		wantKind(t, err, fault.ServerUnavailable, part)
	}
}

func TestUnknownKindIsAConfigError(t *testing.T) {
	_, err := Connect(context.Background(), nil, Spec{Name: "x", Kind: "carrier-pigeon"})
	wantKind(t, err, fault.ConfigError, "carrier-pigeon")
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("id: 1\nevent: message\ndata: {\"a\":1}\n\n:comment\nretry: 10\ndata: x\ndata: y\r\n\r\n"), 100)
	f.Add([]byte("data: "+strings.Repeat("x", 9000)+"\n\ndata:ok\n\n"), 50)
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		limit = max(1, limit%5000)
		e := &events{limit: int64(limit), beyond: func(_, _ []byte) {}, each: func(e event) {
			if len(e.data) > limit {
				t.Errorf("event of %d bytes beyond %d", len(e.data), limit)
			}
		}}
		_ = e.run(strings.NewReader(string(b)))
	})
}

func TestEventsAreReadAsTheStandardSays(t *testing.T) {
	var got []string
	var beyond int
	e := &events{limit: 10, beyond: func(_, _ []byte) { beyond++ }, each: func(e event) { got = append(got, e.name+"="+string(e.data)) }}
	_ = e.run(strings.NewReader(": hi\nid: 7\nevent: a\ndata: 1\ndata: 2\n\ndata:x\r\n\r\nid: 8\ndata:\n\ndata: " +
		strings.Repeat("y", 11) + "\n\ndata: aaaaaa\ndata: bbbbbb\ndata: c\n\nretry: 25\n\ndata: incomplete"))
	if strings.Join(got, " ") != "a=1\n2 =x" || beyond != 2 || e.last != "8" || e.retry != 25*time.Millisecond {
		t.Errorf("events %q, beyond %d, last %q, retry %v", got, beyond, e.last, e.retry)
	}
}
