package fakeserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// material is what the server offers besides tools, with --material: resources,
// templates, prompts, completions, and a level for its log messages.
//
//	demo://text         text, "hello"
//	demo://json         {"n":1}, application/json
//	demo://blob         four bytes, application/octet-stream
//	demo://broken       bytes that are no base64
//	demo://two          two contents
//	demo://big/{bytes}  that much text (template)
//	demo://counter      how often it was read
type material struct {
	level      string // what the client set; empty: nothing
	reads      int
	subscribed map[string]bool
	added      int // resources added by the tool load
}

// levels in the order of their severity.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// capabilities of the server beside its tools.
func (s *server) capabilities() map[string]any {
	all := map[string]any{"tools": map[string]any{"listChanged": true}, "logging": map[string]any{}}
	if s.o.material {
		all["resources"] = map[string]any{"subscribe": true, "listChanged": true}
		all["prompts"] = map[string]any{"listChanged": true}
		all["completions"] = map[string]any{}
	}
	return all
}

// materialRequest answers what is none of tools; false: there is no such method.
func (s *server) materialRequest(p *peer, out writer, m *envelope) bool {
	if m.Method == "logging/setLevel" {
		var params struct {
			Level string `json:"level"`
		}
		_ = json.Unmarshal(m.Params, &params) // an unknown level is refused below
		if !slices.Contains(levels, params.Level) {
			refuse(out, m.ID, -32602, "no such level")
			return true
		}
		s.mu.Lock()
		s.material.level = params.Level
		s.mu.Unlock()
		answer(out, m.ID, []byte(`{}`))
		return true
	}
	if !s.o.material {
		return false
	}
	switch m.Method {
	case "resources/list":
		s.arrive("list", out)
		answer(out, m.ID, s.listResources(m.Params))
	case "resources/templates/list":
		answer(out, m.ID, []byte(`{"resourceTemplates":[{"uriTemplate":"demo://big/{bytes}","name":"big","mimeType":"text/plain"}]}`))
	case "resources/read":
		p.start(func() { s.readResource(p, out, m) })
	case "resources/subscribe", "resources/unsubscribe":
		s.mu.Lock()
		if s.material.subscribed == nil {
			s.material.subscribed = map[string]bool{}
		}
		s.material.subscribed[uriOf(m.Params)] = m.Method == "resources/subscribe"
		s.mu.Unlock()
		answer(out, m.ID, []byte(`{}`))
	case "prompts/list":
		answer(out, m.ID, s.listPrompts(m.Params))
	case "prompts/get":
		s.getPrompt(out, m)
	case "completion/complete":
		s.complete(out, m)
	default:
		return false
	}
	return true
}

func uriOf(params json.RawMessage) string {
	var p struct {
		URI string `json:"uri"`
	}
	_ = json.Unmarshal(params, &p) // without one nothing is found
	return p.URI
}

// fixed are the resources that are always listed.
var fixed = []string{
	`{"uri":"demo://text","name":"text","mimeType":"text/plain","description":"says hello"}`,
	`{"uri":"demo://json","name":"json","mimeType":"application/json"}`,
	`{"uri":"demo://blob","name":"blob","mimeType":"application/octet-stream","size":4}`,
	`{"uri":"demo://broken","name":"broken","mimeType":"image/png"}`,
	`{"uri":"demo://two","name":"two"}`,
	`{"uri":"demo://counter","name":"counter"}`,
}

func (s *server) listResources(params json.RawMessage) []byte {
	all := slices.Clone(fixed)
	s.mu.Lock()
	more := s.o.resources + s.material.added
	s.mu.Unlock()
	for i := range more {
		all = append(all, fmt.Sprintf(`{"uri":"demo://r/%d","name":"r%d"}`, i+1, i+1))
	}
	cut, next := s.pageOf(params, all)
	return []byte(`{"resources":[` + strings.Join(cut, ",") + `]` + next + `}`)
}

func (s *server) listPrompts(params json.RawMessage) []byte {
	all := []string{`{"name":"greet","description":"greets","arguments":[{"name":"who","required":true}]}`, `{"name":"picture"}`}
	for i := range s.o.prompts {
		all = append(all, fmt.Sprintf(`{"name":"p%d"}`, i+1))
	}
	cut, next := s.pageOf(params, all)
	return []byte(`{"prompts":[` + strings.Join(cut, ",") + `]` + next + `}`)
}

func (s *server) readResource(p *peer, out writer, m *envelope) {
	uri := uriOf(m.Params)
	ctx, end := p.begin(string(m.ID))
	defer end()
	s.arrive("read", out)
	if ctx.Err() != nil {
		return
	}
	one := func(mime, member, value string) {
		quoted, _ := json.Marshal(value)
		u, _ := json.Marshal(uri)
		answer(out, m.ID, fmt.Appendf(nil, `{"contents":[{"uri":%s,"mimeType":%q,%q:%s}]}`, u, mime, member, quoted))
	}
	switch kind, rest, _ := strings.Cut(strings.TrimPrefix(uri, "demo://"), "/"); kind {
	case "text":
		one("text/plain", "text", "hello")
	case "json":
		one("application/json", "text", `{"n":1,"from":"`+s.o.name+`"}`)
	case "blob":
		one("application/octet-stream", "blob", base64.StdEncoding.EncodeToString([]byte{0, 1, 2, 255}))
	case "broken":
		one("image/png", "blob", "%%%")
	case "two":
		answer(out, m.ID, []byte(`{"contents":[{"uri":"demo://two","text":"a"},{"uri":"demo://two/b","mimeType":"application/json","text":"[2]"}]}`))
	case "counter":
		s.mu.Lock()
		s.material.reads++
		n := s.material.reads
		s.mu.Unlock()
		one("text/plain", "text", strconv.Itoa(n))
	case "big":
		n, _ := strconv.Atoi(rest)
		one("text/plain", "text", strings.Repeat("x", n))
	case "r":
		one("text/plain", "text", rest)
	default:
		refuse(out, m.ID, -32002, "Resource not found")
	}
}

func (s *server) getPrompt(out writer, m *envelope) {
	var p struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	err := json.Unmarshal(m.Params, &p)
	switch {
	case err != nil:
		refuse(out, m.ID, -32602, "invalid params: "+err.Error())
	case p.Name == "greet" && p.Arguments["who"] == "":
		refuse(out, m.ID, -32602, "who is missing")
	case p.Name == "greet":
		text, _ := json.Marshal("Say hello to " + p.Arguments["who"])
		answer(out, m.ID, fmt.Appendf(nil, `{"description":"a greeting","messages":[{"role":"user","content":{"type":"text","text":%s}}]}`, text))
	case p.Name == "picture":
		data, _ := json.Marshal(png(100)) // []byte becomes base64
		answer(out, m.ID, fmt.Appendf(nil, `{"messages":[{"role":"user","content":{"type":"image","mimeType":"image/png","data":%s}}]}`, data))
	case s.generatedPrompt(p.Name):
		answer(out, m.ID, fmt.Appendf(nil, `{"messages":[{"role":"user","content":{"type":"text","text":"this is %s"}}]}`, p.Name))
	default:
		refuse(out, m.ID, -32602, "Unknown prompt: "+p.Name)
	}
}

// generatedPrompt reports whether a prompt is one of p1 to pN.
func (s *server) generatedPrompt(name string) bool {
	number, ok := strings.CutPrefix(name, "p")
	n, err := strconv.Atoi(number)
	return ok && err == nil && n >= 1 && n <= s.o.prompts && number == strconv.Itoa(n)
}

func (s *server) complete(out writer, m *envelope) {
	var p struct {
		Argument struct {
			Value string `json:"value"`
		} `json:"argument"`
	}
	_ = json.Unmarshal(m.Params, &p) // no value completes to everything
	var values []string
	for _, name := range []string{"ada", "alan", "grace"} {
		if strings.HasPrefix(name, p.Argument.Value) {
			values = append(values, strconv.Quote(name))
		}
	}
	answer(out, m.ID, []byte(`{"completion":{"values":[`+strings.Join(values, ",")+`],"hasMore":false}}`))
}

// update is the tool update: it tells those who subscribed that a resource
// changed, as often as n says, and with add that there is one more.
func update(_ context.Context, c *call) []byte {
	c.s.mu.Lock()
	on := c.s.material.subscribed[c.args.Text]
	if c.args.Add {
		c.s.material.added++
	}
	c.s.mu.Unlock()
	uri, _ := json.Marshal(c.args.Text)
	for range max(c.args.N, 1) {
		if on {
			c.p.out.message(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%s}}`, uri))
		}
		if c.args.Add {
			c.p.out.message([]byte(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`))
			c.p.out.message([]byte(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`))
		}
	}
	return textResult(strconv.FormatBool(on))
}

// logged reports whether a message of a level is sent: of those that the client
// wants, or all while it has wanted none.
func (s *server) logged(level string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Index(levels, level) >= slices.Index(levels, s.material.level)
}
