package api

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenon/proto"
)

// serveShort is a server with a short bound on its peers, and a connection to it.
func serveShort(t *testing.T, d *double, limit time.Duration) (net.Conn, *bufio.Reader) {
	t.Helper()
	s := newServer(d)
	s.o.PeerLimit = limit
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	return c, bufio.NewReader(c)
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func status(t *testing.T, r *bufio.Reader) (int, string) {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// Work that has begun holds up the end of the daemon, so that half a request
// must not stay.
func TestABodyThatDoesNotArriveIsGivenUp(t *testing.T) {
	c, r := serveShort(t, &double{}, 50*time.Millisecond)
	write(t, c, "POST /v1/exec HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	if code, body := status(t, r); code != 400 || !strings.Contains(body, "did not arrive in time") {
		t.Errorf("%d %s", code, body)
	}
}

func TestABodyThatIsTooLargeIsRefusedUnread(t *testing.T) {
	c, r := serveShort(t, &double{}, time.Minute)
	write(t, c, "POST /v1/exec HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
	if code, body := status(t, r); code != 400 || !strings.Contains(body, "more than") {
		t.Errorf("%d %s", code, body)
	}
}

// The bound is that of one request: neither the time a program takes nor the
// pause before the next request counts. That nothing is given up while time
// passes can only be seen by letting it pass: there is no condition to wait for.
func TestABoundEndsWithItsRequest(t *testing.T) {
	const limit = 50 * time.Millisecond
	d := &double{exec: func(context.Context, proto.ExecRequest) Run {
		time.Sleep(3 * limit)
		return &fakeRun{result: &proto.RunResult{ID: "r", OK: true}, frames: threeFrames()}
	}}
	c, r := serveShort(t, d, limit)
	for _, accept := range []string{"application/x-ndjson", "application/json", "text/event-stream"} {
		write(t, c, "POST /v1/exec HTTP/1.1\r\nHost: x\r\nAccept: "+accept+"\r\nContent-Length: 12\r\n\r\n{\"code\":\"1\"}")
		if code, body := status(t, r); code != 200 {
			t.Errorf("%s: %d %s", accept, code, body)
		}
		time.Sleep(3 * limit)
		write(t, c, "DELETE /v1/leases/l1 HTTP/1.1\r\nHost: x\r\n\r\n")
		if code, body := status(t, r); code != 204 {
			t.Errorf("after %s: %d %s", accept, code, body)
		}
		time.Sleep(3 * limit)
	}
}

func TestAnAnswerThatIsNotReadIsGivenUp(t *testing.T) {
	over := make(chan struct{})
	s := newServer(&double{exec: func(context.Context, proto.ExecRequest) Run {
		return &fakeRun{result: &proto.RunResult{ID: "r", Stdout: strings.Repeat("x", 64<<20)}}
	}})
	s.o.PeerLimit = 50 * time.Millisecond
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(over)
		s.ServeHTTP(w, r)
	}))
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	write(t, c, "POST /v1/exec HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{\"code\":\"1\"}")
	select {
	case <-over:
	case <-time.After(2 * time.Minute):
		t.Fatal("the handler waits for a peer that reads nothing")
	}
}
