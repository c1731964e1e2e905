package outbound

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
)

func TestANameIsResolvedOnceAndItsAddressDialled(t *testing.T) {
	port := server(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s", r.Host, r.URL) })
	// A server of names that answers with a private address the second time.
	r := newRig(t, map[string][][]string{"api.example.com": {{"93.184.216.34"}, {"127.0.0.1"}}})
	a := allow(t, "http://api.example.com:"+port)
	res, err := r.get(a, "http://API.example.com.:"+port+"/a?b=c#d")
	if err != nil || string(res.Body) != "api.example.com:"+port+" /a?b=c" || res.Status != 200 || res.StatusText != "OK" {
		t.Fatalf("%+v %v", res, err)
	}
	if res.URL != "http://api.example.com:"+port+"/a?b=c" || res.Redirected {
		t.Errorf("url %s, redirected %v", res.URL, res.Redirected)
	}
	if got := r.dialled(); len(got) != 1 || got[0] != "93.184.216.34:"+port || len(r.names.asked) != 1 {
		t.Errorf("dialled %v, asked %v", got, r.names.asked)
	}
	// The connection is kept, so nothing is resolved again; without it the
	// second answer is refused.
	if _, err := r.get(a, "http://api.example.com:"+port+"/"); err != nil {
		t.Error(err)
	}
	r.transport(a).CloseIdleConnections()
	if _, err := r.get(a, "http://api.example.com:"+port+"/"); err == nil || err.Kind != fault.PermissionDenied || !strings.Contains(err.Hint, "net.private") {
		t.Errorf("rebound: %v", err)
	}
	if got := r.dialled(); len(got) != 1 {
		t.Errorf("dialled %v", got)
	}
}

func TestOfSeveralAddressesOnlyThoseThatMayBeAreDialled(t *testing.T) {
	port := server(t, func(w http.ResponseWriter, _ *http.Request) {})
	r := newRig(t, map[string][][]string{"mixed.example": {{"10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "1.1.1.1"}}})
	if _, err := r.get(allow(t, "http://mixed.example:"+port), "http://mixed.example:"+port); err != nil {
		t.Fatal(err)
	}
	if got := r.dialled(); len(got) != 1 || got[0] != "1.1.1.1:"+port {
		t.Errorf("dialled %v", got)
	}
}

func TestAConnectionServesOnlyWhoCouldHaveMadeIt(t *testing.T) {
	port := server(t, func(w http.ResponseWriter, _ *http.Request) {})
	r := newRig(t, map[string][][]string{"db.internal": {{"10.0.0.1"}}})
	open, err := ParseAllow([]string{"http://db.internal:" + port}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.get(open, "http://db.internal:"+port); err != nil {
		t.Fatal(err)
	}
	if _, err := r.get(allow(t, "http://db.internal:"+port), "http://db.internal:"+port); err == nil || err.Kind != fault.PermissionDenied {
		t.Errorf("another list used the connection: %v", err)
	}
}

func TestARedirectGoesOnlyWhereARequestCould(t *testing.T) {
	var location string
	port := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/from" {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
			return
		}
		fmt.Fprint(w, "arrived ", r.Host)
	})
	r := newRig(t, map[string][][]string{"a.example": {{"1.1.1.1"}}, "b.example": {{"1.0.0.1"}}, "inside.example": {{"169.254.169.254"}}})
	a := allow(t, "http://a.example:"+port, "http://b.example:"+port, "http://inside.example:"+port)
	for to, kind := range map[string]fault.Kind{
		"/there":                                "",
		"//b.example:" + port + "/there#part":   "",
		"http://c.example:" + port:              fault.PermissionDenied,
		"http://127.0.0.1:" + port:              fault.PermissionDenied,
		"http://2130706433:" + port:             fault.PermissionDenied,
		"http://inside.example:" + port:         fault.PermissionDenied,
		"http://a.example:1/":                   fault.PermissionDenied,
		"https://a.example:" + port:             fault.PermissionDenied,
		"http://u:p@a.example:" + port:          fault.ToolFailure,
		"file:///etc/passwd":                    fault.ToolFailure,
		"http://a.example\\@b.example:" + port:  fault.ToolFailure,
		"http://%61.example:" + port + "/%zz":   fault.ToolFailure,
		"/from":                                 fault.ToolFailure, // for ever
		"http://a.example:" + port + "/\x7fbad": fault.ToolFailure,
	} {
		location = to
		res, err := r.get(a, "http://a.example:"+port+"/from")
		if fault.KindOf(asError(err)) != kind {
			t.Errorf("to %s: %v, want %s", to, err, kind)
		}
		if kind == "" && (!res.Redirected || !strings.HasPrefix(string(res.Body), "arrived") || strings.Contains(res.URL, "#")) {
			t.Errorf("to %s: %+v", to, res)
		}
	}
	for _, d := range r.dialled() {
		if strings.HasPrefix(d, "127.") || strings.HasPrefix(d, "169.") {
			t.Errorf("dialled %s", d)
		}
	}
	location = "/there"
	for mode, want := range map[string]string{"manual": "302", "error": "ToolFailure"} {
		res, err := r.Do(t.Context(), Request{URL: "http://a.example:" + port + "/from", Redirect: mode}, Terms{Allow: a})
		got := string(fault.KindOf(err))
		if err == nil {
			got = fmt.Sprint(res.Status)
		}
		if got != want {
			t.Errorf("redirect %s: %s, want %s", mode, got, want)
		}
	}
}

// asError keeps a nil *fault.Error nil.
func asError(e *fault.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func TestWhatARedirectCarriesAlong(t *testing.T) {
	var got []string
	port := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprintf("%s %s auth=%q cookie=%q key=%q type=%q body=%q", r.Method, r.URL.Path,
			r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.Header.Get("X-Key"), r.Header.Get("Content-Type"), body))
		if to := r.URL.Query().Get("to"); to != "" {
			var status int
			fmt.Sscan(r.URL.Query().Get("status"), &status)
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		}
	})
	r := newRig(t, map[string][][]string{"a.example": {{"1.1.1.1"}}, "b.example": {{"1.0.0.1"}}})
	a := allow(t, "http://a.example:"+port, "http://b.example:"+port)
	for _, c := range []struct {
		method, to string
		status     int
		want       string
	}{
		{"POST", "/x", 302, `GET /x auth="A" cookie="C" key="K" type="" body=""`},
		{"POST", "/x", 303, `GET /x auth="A" cookie="C" key="K" type="" body=""`},
		{"PUT", "/x", 301, `PUT /x auth="A" cookie="C" key="K" type="text/plain" body="b"`},
		{"PUT", "/x", 303, `GET /x auth="A" cookie="C" key="K" type="" body=""`},
		{"POST", "/x", 307, `POST /x auth="A" cookie="C" key="K" type="text/plain" body="b"`},
		{"POST", "http://b.example:" + port + "/x", 308, `POST /x auth="" cookie="" key="K" type="text/plain" body="b"`},
	} {
		got = nil
		_, err := r.Do(t.Context(), Request{
			Method: c.method, URL: fmt.Sprintf("http://a.example:%s/from?status=%d&to=%s", port, c.status, url.QueryEscape(c.to)), Body: []byte("b"),
			Header: [][2]string{{"authorization", "A"}, {"cookie", "C"}, {"x-key", "K"}, {"content-type", "text/plain"}},
		}, Terms{Allow: a})
		if err != nil || len(got) != 2 || got[1] != c.want {
			t.Errorf("%s %d %s: %v\n got %q\nwant %q", c.method, c.status, c.to, err, got, c.want)
		}
	}
}

func TestBeforeHearsOfEveryNewDestinationAndMayRefuse(t *testing.T) {
	port := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/1":
			http.Redirect(w, r, "/2", http.StatusFound)
		case "/2":
			http.Redirect(w, r, "http://b.example:"+r.URL.Port()+"/3", http.StatusFound)
		}
	})
	r := newRig(t, map[string][][]string{"a.example": {{"1.1.1.1"}}, "b.example": {{"1.0.0.1"}}})
	a := allow(t, "http://a.example:"+port, "http://b.example", "http://b.example:"+port)
	var heard []string
	refusal := errors.New("no")
	_, err := r.Do(t.Context(), Request{URL: "http://a.example:" + port + "/1"}, Terms{Allow: a, Before: func(_ context.Context, s Step) error {
		heard = append(heard, s.Method+" "+s.Place)
		if s.URL.Hostname() == "b.example" {
			return refusal
		}
		return nil
	}})
	if want := "GET a.example:" + port + ",GET b.example"; !errors.Is(err, refusal) || strings.Join(heard, ",") != want {
		t.Errorf("%v: %v, want %s", err, heard, want)
	}
	if got := r.dialled(); len(got) != 1 {
		t.Errorf("dialled %v", got)
	}
}

func TestAResponseIsBoundedAlsoOneThatUnpacks(t *testing.T) {
	port := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		zeros := make([]byte, 1<<20)
		for range 64 { // 64 MiB of zeros are 64 KiB on the wire
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
	})
	r := newRig(t, map[string][][]string{"a.example": {{"1.1.1.1"}}})
	_, err := r.get(allow(t, "http://a.example:"+port), "http://a.example:"+port)
	if err == nil || err.Kind != fault.ToolFailure || !strings.Contains(err.Message, "larger than 10 MiB") || !strings.Contains(err.Hint, "net.maxResponse") {
		t.Errorf("%v", err)
	}
	port = server(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 100<<10)) })
	if _, err := r.get(allow(t, "http://a.example:"+port), "http://a.example:"+port); err == nil || err.Kind != fault.ToolFailure {
		t.Errorf("a header of 100 KiB: %v", err)
	}
}

func TestRequestsThatAreNoneAreRefused(t *testing.T) {
	r := newRig(t, nil)
	a := allow(t, "*", "http://localhost")
	for _, c := range []struct {
		has string
		req Request
	}{
		{"cannot be read", Request{URL: "/relative"}},
		{"cannot be read", Request{URL: "https://a b/"}},
		{"not http or https", Request{URL: "file:///etc/passwd"}},
		{"not http or https", Request{URL: "data:text/plain,x"}},
		{"a user or a password", Request{URL: "https://user:pass@api.example.com"}},
		{"has no host", Request{URL: "https:///x"}},
		{"no address", Request{URL: "https://1.2.3.4.5/"}},
		{"no method", Request{URL: "https://a.example", Method: "GET /x HTTP/1.1\r\nX: y"}},
		{"is not allowed", Request{URL: "https://a.example", Method: "connect"}},
		{"has no body", Request{URL: "https://a.example", Body: []byte("x")}},
		{"no name of a header", Request{URL: "https://a.example", Header: [][2]string{{"a b", "c"}}}},
		{"a line break", Request{URL: "https://a.example", Header: [][2]string{{"a", "b\r\nc: d"}}}},
		{"more than", Request{URL: "https://a.example", Header: [][2]string{{"a", strings.Repeat("x", 40<<10)}}}},
		{"redirect is", Request{URL: "https://a.example", Redirect: "maybe"}},
		{"bytes; 16384", Request{URL: "https://a.example/" + strings.Repeat("x", 20<<10)}},
	} {
		_, err := r.Do(t.Context(), c.req, Terms{Allow: a})
		if fault.KindOf(err) != fault.InvalidToolInput || !strings.Contains(err.Error(), c.has) {
			t.Errorf("%+v: %v, want %q", c.req, err, c.has)
		}
	}
}

func TestHeadersOfTheConnectionAreNotTheProgramsToSet(t *testing.T) {
	port := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		fmt.Fprintf(w, "%s %q %q %q %d %q %q %q", r.Host, r.Header["Connection"], r.Header["Proxy-Authorization"], r.Header["Te"], r.ContentLength,
			r.Header["X-Two"], r.Header["User-Agent"], r.Header["Cookie"])
	})
	r := newRig(t, map[string][][]string{"a.example": {{"1.1.1.1"}}})
	a := allow(t, "http://a.example:"+port)
	for range 2 { // no cookie comes back the second time
		res, err := r.Do(t.Context(), Request{Method: "POST", URL: "http://a.example:" + port, Body: []byte("four"), Header: [][2]string{
			{"Host", "evil"}, {"Connection", "close"}, {"Content-Length", "1"}, {"Proxy-Authorization", "x"}, {"TE", "x"}, {"x-two", "1"}, {"X-Two", "2"},
		}}, Terms{Allow: a})
		if want := "a.example:" + port + ` [] [] [] 4 ["1" "2"] ["tenon"] []`; err != nil || string(res.Body) != want {
			t.Errorf("%q %v, want %q", res.Body, err, want)
		}
	}
}

func TestTheEndOfTheRunEndsTheRequest(t *testing.T) {
	stop := make(chan struct{})
	var begun atomic.Int32
	port := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		begun.Add(1)
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	defer close(stop)
	r := newRig(t, map[string][][]string{"a.example": {{"1.1.1.1"}}})
	a := allow(t, "http://a.example:"+port)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := fault.New(fault.Cancelled, "the user pressed Ctrl-C")
	go func() {
		for begun.Load() == 0 {
			time.Sleep(time.Millisecond) // the interval of the poll
		}
		cancel(why)
	}()
	if _, err := r.Do(ctx, Request{URL: "http://a.example:" + port}, Terms{Allow: a}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	_, err := r.Do(t.Context(), Request{URL: "http://a.example:" + port}, Terms{Allow: a, Idle: 50 * time.Millisecond})
	if fault.KindOf(err) != fault.TimeoutExceeded {
		t.Errorf("nothing comes: %v", err)
	}
}

func TestFailuresOfTheNetworkSayWhatHappened(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer secure.Close()
	at, err := url.Parse(secure.URL)
	if err != nil {
		t.Fatal(err)
	}
	broken := server(t, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	r := newRig(t, map[string][][]string{"a.example": {{"1.1.1.1"}}})
	a := allow(t, "https://a.example:*", "http://a.example:*", "nowhere.example")
	for to, has := range map[string]string{
		"https://nowhere.example/?token=hunter2":           "there is no such host",
		"https://a.example:" + at.Port() + "/?key=hunter2": "certificate is not valid",
		"http://a.example:1/?key=hunter2":                  "connection refused",
		"http://a.example:" + broken + "/?key=hunter2":     "the connection",
	} {
		_, err := r.get(a, to)
		if err == nil || err.Kind != fault.ToolFailure || !strings.Contains(err.Message, has) || strings.Contains(err.Message, "hunter2") {
			t.Errorf("%s: %v, want %q", to, err, has)
		}
	}
	// With the certificate trusted, the name must still be the one that is asked for.
	r.o.Roots = secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	r.names.answers["example.com"] = [][]string{{"1.1.1.1"}}
	if _, err := r.get(allow(t, "https://example.com:*"), "https://example.com:"+at.Port()); err != nil {
		t.Errorf("httptest's certificate is for example.com: %v", err)
	}
}

func TestNothingIsAskedOfAProxy(t *testing.T) {
	proxied := false
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied = true }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	port := server(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "direct") })
	r := newRig(t, map[string][][]string{"a.example": {{"1.1.1.1"}}})
	if res, err := r.get(allow(t, "http://a.example:"+port), "http://a.example:"+port); err != nil || string(res.Body) != "direct" || proxied {
		t.Errorf("%+v %v", res, err)
	}
}
