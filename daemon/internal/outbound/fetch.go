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

// Describe gives a request the name "METHOD host" and its URL without what may
// be a secret: the values of its query. Where the URL cannot be read, the name is
// the method alone and the URL empty.
func Describe(r Request) (name, shown string) {
	s, err := begin(Request{Method: r.Method, URL: r.URL})
	if err != nil {
		return clip(r.Method, 40), ""
	}
	u := *s.url
	var query []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if key, _, ok := strings.Cut(pair, "="); ok {
			query = append(query, key+"=…")
		} else if pair != "" {
			query = append(query, "…")
		}
	}
	u.RawQuery = ""
	shown = u.String()
	if text := strings.Join(query, "&"); text != "" {
		shown += "?" + text
	}
	return s.method + " " + s.to.place(), shown
}

// step is the request that goes out next.
type step struct {
	method string
	url    *url.URL
	to     target
	header http.Header
	body   []byte
	before string // what Before has heard of
}

// begin reads a request.
func begin(r Request) (*step, error) {
	s := &step{method: r.Method, header: http.Header{}, body: r.Body}
	if s.method == "" {
		s.method = http.MethodGet
	}
	bad := func(format string, a ...any) error {
		return fault.New(fault.InvalidToolInput, "fetch: "+format, a...)
	}
	switch {
	case !isToken(s.method):
		return nil, bad("%q is no method", clip(s.method, 40))
	case strings.EqualFold(s.method, "CONNECT"), strings.EqualFold(s.method, "TRACE"), strings.EqualFold(s.method, "TRACK"):
		return nil, bad("the method %s is not allowed", s.method)
	case s.body != nil && (s.method == http.MethodGet || s.method == http.MethodHead):
		return nil, bad("a %s has no body", s.method)
	case r.Redirect != "" && r.Redirect != "follow" && r.Redirect != redirectError && r.Redirect != redirectManual:
		return nil, bad("redirect is follow, error or manual, not %q", clip(r.Redirect, 40))
	case len(r.URL) > maxURL:
		return nil, bad("the URL has %d bytes; %d are allowed", len(r.URL), maxURL)
	}
	u, err := url.Parse(r.URL)
	if err != nil || !u.IsAbs() {
		return nil, bad("the URL cannot be read")
	}
	if err := s.aim(u); err != nil {
		return nil, bad("%w", err)
	}
	size := 0
	for _, h := range r.Header {
		name, value := h[0], strings.Trim(h[1], " \t\r\n")
		switch {
		case !isToken(name):
			return nil, bad("%q is no name of a header", clip(name, 60))
		case strings.ContainsAny(value, "\x00\r\n"):
			return nil, bad("the value of the header %s has a line break in it", name)
		case forbidden(name):
			continue // as in a browser: they are the connection's, not the program's
		}
		if size += len(name) + len(value); size > maxRequest {
			return nil, bad("the headers have more than %d bytes", maxRequest)
		}
		s.header.Add(name, value)
	}
	for name, value := range map[string]string{"Accept": "*/*", "User-Agent": "tenon"} {
		if s.header.Get(name) == "" {
			s.header.Set(name, value)
		}
	}
	return s, nil
}

// aim sets where the request goes.
func (s *step) aim(u *url.URL) error {
	to, err := targetOf(u)
	if err != nil {
		return err
	}
	own := *u // in the one form in which it was checked
	own.Scheme, own.Host, own.Fragment, own.RawFragment = to.scheme, to.place(), "", ""
	if own.Path == "" {
		own.Path = "/"
	}
	s.url, s.to = &own, to
	return nil
}

// leave asks whether the request may go out.
func (s *step) leave(ctx context.Context, terms Terms) error {
	if err := terms.Allow.check(s.to); err != nil {
		return err
	}
	where := s.method + " " + s.to.origin()
	if terms.Before == nil || s.before == where {
		return nil
	}
	s.before = where
	return terms.Before(ctx, Step{Method: s.method, URL: s.url, Place: s.to.place()})
}

// credentials are the headers that go to no other origin than the one they were
// given for.
var credentials = []string{"Authorization", "Cookie", "Proxy-Authorization"}

// follow turns the request into the one that a redirect asks for.
func (s *step) follow(status int, location string) error {
	from := s.to
	fail := func(reason string) error {
		return fault.New(fault.ToolFailure, "fetch %s: it redirects to a place that cannot be reached: %s", from.origin(), reason)
	}
	if len(location) > maxURL {
		return fail("the URL is too long")
	}
	u, err := s.url.Parse(location)
	if err != nil {
		return fail("the URL cannot be read")
	}
	if err := s.aim(u); err != nil {
		return fail(err.Error())
	}
	if (status == 301 || status == 302) && s.method == http.MethodPost ||
		status == 303 && s.method != http.MethodGet && s.method != http.MethodHead {
		s.method, s.body = http.MethodGet, nil
		for _, name := range []string{"Content-Encoding", "Content-Language", "Content-Location", "Content-Type"} {
			s.header.Del(name)
		}
	}
	if s.to.origin() != from.origin() {
		for _, name := range credentials {
			s.header.Del(name)
		}
	}
	return nil
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

// forbidden are the headers that a program does not set: they belong to the
// connection or the body (the standard's forbidden request-headers, without those
// that only mean something in a page).
func forbidden(name string) bool {
	switch name = strings.ToLower(name); name {
	case "accept-charset", "accept-encoding", "connection", "content-length", "date", "expect", "host", "keep-alive",
		"te", "trailer", "transfer-encoding", "upgrade", "via":
		return true
	}
	return strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "sec-")
}

// isToken is whether s is a token of HTTP, as methods and names of headers are.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// sizeText is a number of bytes for people.
func sizeText(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
