package outbound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
)

// Bounds of one fetch.
const (
	DefaultResponse = 10 << 20 // bytes of a response's body, decoded
	maxURL          = 16 << 10
	maxRequest      = 32 << 10 // bytes of a request's header
	maxRedirects    = 10
)

const (
	redirectError  = "error"
	redirectManual = "manual"
)

// Request is what a program asks for; its fields are those of
// engine.FetchRequest.
type Request struct {
	Method   string
	URL      string      // absolute
	Header   [][2]string // in order; a name may come twice
	Body     []byte      // nil: none
	Redirect string      // follow, error or manual; empty: follow
}

// Response is the whole answer; its fields are those of engine.FetchResponse.
type Response struct {
	Status     int
	StatusText string
	URL        string      // the last one, without a fragment
	Redirected bool        // URL is not what was asked for
	Header     [][2]string // names in lower case, sorted
	Body       []byte      // decoded as Content-Encoding says
}

// Step is one request as it is about to go out.
type Step struct {
	Method string
	URL    *url.URL // without a fragment
	Place  string   // host, and its port where it does not go without saying
}

// Terms are what holds for one fetch.
type Terms struct {
	Allow *Allow
	Limit int64         // bytes of the response's body; 0: DefaultResponse
	Idle  time.Duration // how long nothing may come; 0: no limit but the context's
	// Before hears of each request that goes somewhere else than the one before
	// it, or is the first, and may refuse it. It may wait: Idle does not run.
	Before func(ctx context.Context, s Step) error
}

// Do makes a request and follows where it is redirected, as the Fetch standard
// says (https://fetch.spec.whatwg.org/#http-redirect-fetch), but for at most 10
// times. Errors: InvalidToolInput for what is no request, PermissionDenied for a
// host that is not allowed, ToolFailure when the network fails or the response is
// too large, TimeoutExceeded, what Before says, else the cause of ctx's end.
func (n *Network) Do(ctx context.Context, r Request, terms Terms) (*Response, error) {
	s, err := begin(r)
	if err != nil {
		return nil, err
	}
	if terms.Limit <= 0 {
		terms.Limit = DefaultResponse
	}
	asked := s.url
	for hop := 0; ; hop++ {
		if err := s.leave(ctx, terms); err != nil {
			return nil, err
		}
		res, location, err := n.once(ctx, s, terms, r.Redirect)
		if err != nil {
			return nil, err
		}
		if location == "" {
			res.URL, res.Redirected = s.url.String(), hop > 0 && s.url.String() != asked.String()
			return res, nil
		}
		switch {
		case r.Redirect == redirectError:
			return nil, fault.New(fault.ToolFailure, "fetch %s: it redirects, and redirect is %q", s.to.origin(), r.Redirect)
		case hop == maxRedirects:
			return nil, fault.New(fault.ToolFailure, "fetch %s: it redirects more than %d times", s.to.origin(), maxRedirects)
		}
		if err := s.follow(res.Status, location); err != nil {
			return nil, err
		}
	}
}

// once makes one request. Location is where it redirects, if it does and that is
// not left to the program; the body is not kept then.
func (n *Network) once(ctx context.Context, s *step, terms Terms, redirect string) (res *Response, location string, err error) {
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, targetKey{}, s.to))
	defer cancel(nil)
	watch := idle{limit: terms.Idle}
	watch.start(func() {
		cancel(fault.New(fault.TimeoutExceeded, "fetch %s: nothing came for %s", s.to.origin(), terms.Idle).
			WithHint("give it more with --call-timeout"))
	})
	defer watch.stop()

	var body io.Reader
	if s.body != nil {
		body = bytes.NewReader(s.body)
	}
	req, err := http.NewRequestWithContext(ctx, s.method, s.url.String(), body)
	if err != nil {
		return nil, "", fault.New(fault.InvalidToolInput, "fetch: the request cannot be made").Because(err)
	}
	req.Header = s.header.Clone()
	answer, err := n.transport(terms.Allow).RoundTrip(req)
	if err != nil {
		return nil, "", explain(ctx, s.to, err)
	}
	defer answer.Body.Close()
	watch.reset()
	res = &Response{Status: answer.StatusCode, StatusText: reasonOf(answer), Header: headerOf(answer)}
	switch answer.StatusCode {
	case 301, 302, 303, 307, 308:
		location = answer.Header.Get("Location")
		if location != "" && redirect != redirectManual {
			_, _ = io.CopyN(io.Discard, answer.Body, 2<<10) // what is read to its end leaves its connection to the next
			return res, location, nil
		}
	}
	res.Body, err = read(answer.Body, terms.Limit, &watch)
	if err == errTooLarge {
		return nil, "", fault.New(fault.ToolFailure, "fetch %s: the response is larger than %s", s.to.origin(), sizeText(terms.Limit)).
			WithHint("ask for less of it (pages, a Range header), or raise net.maxResponse")
	}
	if err != nil {
		return nil, "", explain(ctx, s.to, err)
	}
	return res, "", nil
}

var errTooLarge = errors.New("too large")

// read takes a body of at most limit bytes. What is compressed counts as it
// comes out, so a small response that unpacks to a large one ends here too.
func read(body io.Reader, limit int64, watch *idle) ([]byte, error) {
	var out bytes.Buffer
	chunk := make([]byte, 32<<10)
	for {
		n, err := body.Read(chunk)
		watch.reset()
		if int64(out.Len()+n) > limit {
			return nil, errTooLarge
		}
		out.Write(chunk[:n])
		if err == io.EOF {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// idle ends a request when nothing comes for a while.
type idle struct {
	limit time.Duration
	timer *time.Timer
}

func (w *idle) start(expire func()) {
	if w.limit > 0 {
		w.timer = time.AfterFunc(w.limit, expire)
	}
}

func (w *idle) reset() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

func (w *idle) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// reasonOf is the status without its number; empty over HTTP/2, which has none.
func reasonOf(answer *http.Response) string {
	if answer.ProtoMajor > 1 {
		return ""
	}
	_, reason, _ := strings.Cut(answer.Status, " ")
	return reason
}

// headerOf lists the headers as fetch shows them.
func headerOf(answer *http.Response) [][2]string {
	var out [][2]string
	for name, values := range answer.Header {
		name = strings.ToLower(name)
		if name == "set-cookie" {
			for _, v := range values {
				out = append(out, [2]string{name, v})
			}
			continue
		}
		out = append(out, [2]string{name, strings.Join(values, ", ")})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i][0] < out[j][0] })
	return out
}

// sizeText is a number of bytes for people.
func sizeText(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
