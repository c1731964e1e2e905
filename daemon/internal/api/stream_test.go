package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func askHost(t *testing.T, h http.Handler, method, path string, headers []string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader("{}"))
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func threeFrames() []proto.Frame {
	return []proto.Frame{
		{Seq: 0, Type: "start", Run: "r"},
		{Seq: 1, Type: "result", Run: "r", Data: json.RawMessage(`{"ok":true}`)},
		{Seq: 2, Type: "end", Run: "r"},
	}
}

func TestExecAnswersAsItWasAsked(t *testing.T) {
	for _, c := range []struct{ accept, contentType, want string }{
		{"application/json", "application/json", `"id":"r"`},
		{"", "application/json", `"id":"r"`},
		{"application/x-ndjson", "application/x-ndjson", `{"seq":2,"type":"end","run":"r"}` + "\n"},
		{"text/event-stream", "text/event-stream", "event: end\nid: 2\ndata: {\"seq\":2,\"type\":\"end\",\"run\":\"r\"}\n\n"},
	} {
		t.Run(c.accept, func(t *testing.T) {
			d := &double{exec: func(context.Context, proto.ExecRequest) Run {
				return &fakeRun{frames: threeFrames(), result: &proto.RunResult{ID: "r"}}
			}}
			w := ask(t, newServer(d), "POST", "/v1/exec", `{"code":"1"}`, "Accept", c.accept)
			if got := w.Header().Get("Content-Type"); got != c.contentType {
				t.Errorf("content type %q", got)
			}
			if !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("body %s", w.Body)
			}
		})
	}
}

// Frames of progress may wait for others, but not for ever.
func TestFramesOfProgressArriveWithoutOthers(t *testing.T) {
	over := make(chan struct{})
	d := &double{exec: func(context.Context, proto.ExecRequest) Run {
		return &fakeRun{frames: []proto.Frame{{Seq: 0, Type: "start", Run: "r"}, {Seq: 1, Type: "call", Run: "r"}}, result: &proto.RunResult{}, hold: over}
	}}
	srv := httptest.NewServer(newServer(d))
	defer srv.Close()
	defer close(over)
	req, err := http.NewRequest("POST", srv.URL+"/v1/exec", strings.NewReader(`{"code":"1"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/x-ndjson")
	began := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for _, want := range []string{`"start"`, `"call"`} {
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("got %q, %v", lines.Text(), lines.Err())
		}
	}
	if took := time.Since(began); took > keepAlive/2 {
		t.Errorf("after %s: only the sign of life carried it", took)
	}
}

// Values are read by people and models: nothing is escaped for web pages.
func TestAnglesAndAmpersandsStayAsTheyAre(t *testing.T) {
	for _, accept := range []string{"application/json", "application/x-ndjson", "text/event-stream"} {
		d := &double{exec: func(context.Context, proto.ExecRequest) Run {
			result := &proto.RunResult{ID: "r", Value: json.RawMessage(`"<b>&"`)}
			raw, err := proto.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			return &fakeRun{frames: []proto.Frame{{Type: "result", Run: "r", Data: raw}}, result: result}
		}}
		if w := ask(t, newServer(d), "POST", "/v1/exec", `{"code":"1"}`, "Accept", accept); !strings.Contains(w.Body.String(), `"<b>&"`) {
			t.Errorf("%s: %s", accept, w.Body)
		}
	}
	if w := ask(t, newServer(&double{}), "GET", "/v1/health?a<b=1", ""); strings.Contains(w.Body.String(), `\u003c`) {
		t.Errorf("problem: %s", w.Body)
	}
}

// R-04, CODE-26: hanging up cancels the run, with the true reason.
func TestHangingUpCancelsTheRun(t *testing.T) {
	for _, accept := range []string{"application/json", "application/x-ndjson", "text/event-stream"} {
		t.Run(accept, func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan error, 1)
			d := &double{exec: func(ctx context.Context, _ proto.ExecRequest) Run {
				close(began)
				over := make(chan struct{})
				go func() {
					<-ctx.Done()
					ended <- context.Cause(ctx)
					close(over)
				}()
				return &fakeRun{frames: threeFrames()[:1], result: &proto.RunResult{}, hold: over}
			}}
			srv := httptest.NewServer(newServer(d))
			defer srv.Close()
			ctx, hangUp := context.WithCancel(context.Background())
			req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+"/v1/exec", strings.NewReader(`{"code":"1"}`))
			req.Header.Set("Accept", accept)
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				res, err := http.DefaultTransport.RoundTrip(req)
				if err == nil {
					<-ctx.Done()
					_ = res.Body.Close()
				}
			}()
			<-began
			hangUp()
			<-gone
			select {
			case err := <-ended:
				if fault.KindOf(err) != fault.Cancelled || !strings.Contains(err.Error(), "hung up") {
					t.Errorf("cause %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the run went on")
			}
			http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		})
	}
}

func TestEventsAreStreamedAndCountAsWatching(t *testing.T) {
	d := &double{}
	s := newServer(d)
	srv := httptest.NewServer(s)
	defer srv.Close()
	req, _ := http.NewRequest("GET", srv.URL+"/v1/events?types=approval,run", nil)
	req.Header.Set("Accept", "application/x-ndjson")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	if _, err := lines.ReadString('\n'); err != nil { // the sign that it stands
		t.Fatal(err)
	}
	d.mu.Lock()
	if d.watched != 1 {
		t.Errorf("watched by %d", d.watched)
	}
	d.mu.Unlock()
	s.o.Events.Publish("session", "not asked for")
	s.o.Events.Publish("run", map[string]string{"id": "r"})
	line, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(line, `"type":"run"`) || !strings.Contains(line, `"seq":2`) {
		t.Errorf("got %s, %v", line, err)
	}
	s.o.Events.Close()
	if rest, err := lines.ReadString('\n'); err == nil {
		t.Errorf("more came: %s", rest)
	}
}

func TestASlowListenerLosesEventsAndNobodyWaits(t *testing.T) {
	h := NewHub(2)
	sub := h.Subscribe()
	defer sub.Close()
	for range 5 {
		h.Publish("run", 1)
	}
	if got := len(sub.C); got != 2 {
		t.Errorf("%d events are waiting", got)
	}
}

func TestACallStreamsItsQuestionsWhenAskedTo(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, `"type":"result"`},
		{fault.New(fault.ToolFailure, "nope"), `"kind":"ToolFailure"`},
	} {
		s := newServer(&double{})
		if c.err != nil {
			s.failing(c.err)
			s.o.Runs.(doubleRuns).err = c.err
		}
		w := ask(t, s, "POST", "/v1/call", `{"server":"s","tool":"t"}`, "Accept", "application/x-ndjson")
		got := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
		if len(got) != 2 || !strings.Contains(got[0], `"id":"ask_1"`) || !strings.Contains(got[1], c.want) {
			t.Errorf("got %q", got)
		}
	}
}

func TestAResultThatWasDroppedFromTheFramesIsSentAllTheSame(t *testing.T) {
	d := &double{exec: func(context.Context, proto.ExecRequest) Run {
		return &fakeRun{frames: []proto.Frame{{Seq: 9, Type: "end", Run: "r"}}, result: &proto.RunResult{ID: "r"}}
	}}
	w := ask(t, newServer(d), "POST", "/v1/exec", `{"code":"1"}`, "Accept", "application/x-ndjson")
	if got := w.Body.String(); !strings.Contains(got, `"type":"result"`) || !strings.HasSuffix(got, `"type":"end","run":"r"}`+"\n") {
		t.Errorf("got %s", got)
	}
}
