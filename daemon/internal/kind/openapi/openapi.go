// Package openapi serves the operations of an OpenAPI document (3.0, 3.1) as
// tools: arguments become a request, the answer the result. What proves who asks
// comes from the configuration and leaves in no text.
package openapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/kind/stdio"
	"tenon/daemon/internal/kind/watch"
	"tenon/daemon/internal/outbound"
)

// Options of a Source.
type Options struct {
	Spec      *config.KindSpec
	Stderr    io.Writer
	Transport http.RoundTripper // nil: the default one, with the environment's proxies, and a guard
}

// Source serves one document. It is a stdio.Source.
type Source struct {
	o       Options
	spec    *config.OpenAPISpec
	client  *client
	guard   *outbound.Guard // nil with a Transport of Options
	changed chan struct{}
	watch   *watch.Watcher // nil for a document that is fetched

	load    sync.Mutex  // one reading at a time; guards seen
	seen    os.FileInfo // of the file when it was looked at last
	mu      sync.Mutex  // guards what follows
	current *loaded     // the last good one; nil: none was
	problem error
	stamp   string // digest of the file when it was read last
}

// loaded is a good document.
type loaded struct {
	doc    *document
	byName map[string]*operation
	listed []stdio.Tool
}

// New makes a Source; the document is read when it is first needed. Close pairs
// with it.
func New(o Options) *Source {
	s := &Source{o: o, spec: o.Spec.OpenAPI, changed: make(chan struct{}, 1)}
	transport := o.Transport
	if transport == nil {
		s.guard = outbound.NewGuard(http.DefaultTransport.(*http.Transport))
		s.guard.Name(s.spec.Document)
		s.guard.Name(s.spec.BaseURL)
		transport = s.guard
	}
	s.client = newClient(s.spec, transport)
	if !config.IsAddress(s.spec.Document) {
		s.watch = watch.New(func() { s.refresh(context.Background()) })
	}
	return s
}

// Close ends the watch and idle connections.
func (s *Source) Close() {
	if s.watch != nil {
		s.watch.Close()
	}
	s.client.http.CloseIdleConnections()
}

// Changed tells that the document was read anew.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// refresh reads the document if it changed: a file whenever it does, one that is
// fetched until it was good once. The last good one stays in use.
func (s *Source) refresh(ctx context.Context) {
	s.load.Lock()
	defer s.load.Unlock()
	s.mu.Lock()
	was, first, have := s.stamp, s.stamp == "", s.current != nil
	s.mu.Unlock()
	fetched := config.IsAddress(s.spec.Document)
	if fetched && have || !fetched && s.same() {
		return
	}
	text, err := s.text(ctx)
	if ctx.Err() != nil {
		return // the next one who asks reads it
	}
	sum := sha256.Sum256(text)
	stamp := hex.EncodeToString(sum[:])
	if err != nil {
		stamp = err.Error()
	}
	if s.watch != nil {
		s.watch.Follow([]string{s.spec.Document})
	}
	if stamp == was {
		return
	}
	var next *loaded
	if err == nil {
		next, err = s.read(text)
	}
	s.mu.Lock()
	s.stamp, s.problem = stamp, err
	if err == nil {
		s.current = next
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		s.say(config.KindProblem + stdio.Say(err))
	case !first:
		s.say(config.KindReloaded)
	}
	if !first {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// same reports whether the file was certainly not written since it was read: one
// that was written in the same moment could be once more without a trace.
func (s *Source) same() bool {
	info, err := os.Stat(s.spec.Document)
	if err != nil {
		s.seen = nil
		return false
	}
	was := s.seen
	s.seen = info
	return was != nil && os.SameFile(was, info) && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime()) &&
		time.Since(info.ModTime()) > time.Second
}

func (s *Source) say(line string) {
	fmt.Fprintln(s.o.Stderr, s.client.mask.Replace(strings.ReplaceAll(line, "\n", " ")))
}

// text is the document as it is now.
func (s *Source) text(ctx context.Context) ([]byte, error) {
	name := s.spec.Document
	if !config.IsAddress(name) {
		f, err := os.Open(name)
		if err != nil {
			return nil, fault.New(fault.ConfigError, "%w", err)
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, fault.New(fault.ConfigError, "%s is no file", name)
		}
		text, err := capped(f, name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		if pins := s.o.Spec.Pins; pins != nil && pins[name] != hex.EncodeToString(sum[:]) {
			return nil, fault.New(fault.ConfigError, "%s changed since it was trusted", name).WithHint("look at it, then run tenon trust")
		}
		return text, nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, name, nil)
	if err != nil {
		return nil, fault.New(fault.ConfigError, "document: %w", err)
	}
	r.Header.Set("Accept", "application/json, application/yaml, */*;q=0.5")
	if base, err := url.Parse(s.spec.BaseURL); err == nil && s.spec.BaseURL != "" && origin(base) == origin(r.URL) {
		s.client.authorize(r)
	}
	answer, err := s.client.http.Do(r)
	if err != nil {
		return nil, fault.New(fault.ToolFailure, "the document cannot be fetched: %s", s.client.cause(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fault.New(fault.ToolFailure, "the document cannot be fetched: HTTP %s from %s", answer.Status, publicAddress(r.URL))
	}
	return capped(answer.Body, publicAddress(r.URL))
}

func capped(r io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(text) > maxDocument {
		err = fmt.Errorf("more than %d MiB", maxDocument>>20)
	}
	if err != nil {
		return nil, fault.New(fault.ConfigError, "%s: %w", name, err)
	}
	return text, nil
}

// cause is why a request failed, without its address: that may prove who asks.
func (c *client) cause(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, outbound.ErrTooNear) {
		err = fmt.Errorf("%w (if it is meant: set \"baseUrl\" in the server's entry)", err)
	}
	return c.mask.Replace(err.Error())
}

func (s *Source) read(text []byte) (*loaded, error) {
	name := s.spec.Document
	if from, err := url.Parse(name); err == nil && config.IsAddress(name) {
		name = publicAddress(from) // messages have it, and its query may be a proof
	}
	doc, err := parseDocument(name, text)
	if err != nil {
		return nil, err
	}
	defer doc.forget()
	operations, notes := doc.operations(hidden(s.spec))
	for _, note := range notes {
		s.say("left out: " + note)
	}
	next := &loaded{doc: doc, byName: map[string]*operation{}}
	for _, o := range operations {
		if !s.wanted(o) {
			continue
		}
		next.byName[o.name] = o
		next.listed = append(next.listed, o.tool())
	}
	if len(next.listed) == 0 {
		return nil, doc.wrong([]string{"paths"}, "no operation is left: the document has %d, and operations chooses among them", len(operations))
	}
	base, _, err := doc.base(s.spec, nil)
	if err != nil {
		return nil, err
	}
	if s.guard != nil && !config.IsAddress(s.spec.Document) { // a file is the user's word, or was trusted as it is
		s.guard.Name(base)
		for _, o := range next.byName {
			if own, _, err := doc.base(s.spec, o.servers); err == nil {
				s.guard.Name(own)
			}
		}
	}
	// Whoever writes a document that is fetched does not choose who gets the proof.
	if config.IsAddress(s.spec.Document) && s.spec.BaseURL == "" && proves(s.spec) {
		from, _ := url.Parse(s.spec.Document)
		to, _ := url.Parse(base)
		if from == nil || to == nil || origin(from) != origin(to) {
			return nil, fault.New(fault.ConfigError, "the document says that requests go to %s, which is not where it comes from", publicAddress(to)).
				WithHint(`set "baseUrl" to the address that may learn what auth says`)
		}
	}
	return next, nil
}

// wanted is whether the entry's operations choose o.
func (s *Source) wanted(o *operation) bool {
	if s.spec.ReadOnly && o.method != http.MethodGet && o.method != http.MethodHead {
		return false
	}
	matches := func(pattern string) bool {
		if tag, ok := strings.CutPrefix(pattern, "tag:"); ok {
			return slices.ContainsFunc(o.tags, func(t string) bool { return glob(tag, t) })
		}
		return glob(pattern, o.name) || o.id != "" && glob(pattern, o.id) || glob(pattern, o.method+" "+o.path)
	}
	if slices.ContainsFunc(s.spec.Exclude, matches) {
		return false
	}
	return len(s.spec.Include) == 0 || slices.ContainsFunc(s.spec.Include, matches)
}

// glob matches a whole text: * is any run, ? any one byte.
func glob(pattern, text string) bool {
	p, i, star, from := 0, 0, -1, 0
	for i < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[i]):
			p++
			i++
		case star >= 0:
			from++
			p, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

func (o *operation) tool() stdio.Tool {
	yes := true
	a := &mcp.ToolAnnotations{Title: o.title, OpenWorldHint: &yes}
	switch o.method {
	case http.MethodGet, http.MethodHead:
		a.ReadOnlyHint = true
	case http.MethodPut:
		a.IdempotentHint = true
	case http.MethodDelete:
		a.IdempotentHint, a.DestructiveHint = true, &yes
	}
	return stdio.Tool{Name: o.name, Title: o.title, Description: o.description, Input: o.input, Output: o.output, Annotations: a}
}

// Tools lists the operations of the last good document. While there was none,
// the error is what is wrong with it.
func (s *Source) Tools(ctx context.Context) ([]stdio.Tool, error) {
	s.refresh(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.current != nil:
		return s.current.listed, nil
	case s.problem != nil:
		return nil, s.problem
	}
	return nil, context.Cause(ctx)
}

// Call makes one request. A status that is no success is a result with isError.
func (s *Source) Call(ctx context.Context, tool string, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	s.refresh(ctx)
	s.mu.Lock()
	current, problem := s.current, s.problem
	s.mu.Unlock()
	if current == nil {
		if problem == nil {
			return nil, context.Cause(ctx)
		}
		return stdio.Failed("the document cannot be used: %s", s.client.mask.Replace(stdio.Say(problem))), nil
	}
	o := current.byName[tool]
	if o == nil {
		return stdio.Failed("the document has no operation %q", tool), nil
	}
	base, trusted, err := current.doc.base(s.spec, o.servers)
	if err != nil {
		return stdio.Failed("%s", stdio.Say(err)), nil
	}
	r, err := o.request(ctx, base, arguments)
	if err != nil {
		return stdio.Failed("%v", err), nil
	}
	if trusted {
		s.client.authorize(r)
	}
	answer, err := s.client.http.Do(r)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return stdio.Failed("%s %s: %s", o.method, o.path, s.client.cause(err)), nil
	}
	return s.client.result(o, answer), nil
}
