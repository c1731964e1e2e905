package fakeserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"time"
)

// call is one tools/call being worked on.
type call struct {
	s       *server
	p       *peer
	out     writer
	args    arguments
	raw     json.RawMessage            // the arguments as they came
	token   json.RawMessage            // the progress token, if any
	given   map[string]json.RawMessage // answers to an input_required result before
	refusal []byte                     // a JSON-RPC error in place of a result
}

// arguments is the union of what the tools take.
type arguments struct {
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Path    string          `json:"path"`
	V       json.RawMessage `json:"v"`
	Value   json.RawMessage `json:"value"`
	Ms      int             `json:"ms"`
	N       int             `json:"n"`
	Bytes   int             `json:"bytes"`
	Code    int             `json:"code"`
	Empty   bool            `json:"empty"`
	Forever bool            `json:"forever"`
	Steps   int             `json:"progress"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Schema  json.RawMessage `json:"schema"`
	URL     string          `json:"url"`
	Add     bool            `json:"add"`
	Level   string          `json:"level"`
}

type tool struct {
	name, about, props string // props: members of the schema's "properties"
	required           string // members of "required"
	slow               bool   // runs beside the reading loop and can be cancelled
	run                func(ctx context.Context, c *call) []byte
}

const (
	text   = `{"type":"string"}`
	number = `{"type":"integer"}`
)

// honest lists the tools in the order of tools/list.
var honest = []tool{
	{"echo", "gives back text", `"text":` + text, `"text"`, false,
		func(_ context.Context, c *call) []byte { return textResult(c.args.Text) }},
	{"pid", "the server's process id", "", "", false,
		func(context.Context, *call) []byte { return textResult(strconv.Itoa(os.Getpid())) }},
	{"counter", "how many calls this process has served, this one included", "", "", false,
		func(_ context.Context, c *call) []byte { return textResult(strconv.FormatInt(c.s.calls.Load(), 10)) }},
	{"cwd", "the working directory", "", "", false,
		func(context.Context, *call) []byte { dir, _ := os.Getwd(); return textResult(dir) }},
	{"env", "one environment variable", `"name":` + text, `"name"`, false,
		func(_ context.Context, c *call) []byte { return textResult(os.Getenv(c.args.Name)) }},
	{"args", "the arguments exactly as they came", "", "", false,
		func(_ context.Context, c *call) []byte { return textResult(string(c.raw)) }},
	{"json", "gives back value as structured content", `"value":{}`, `"value"`, false,
		func(_ context.Context, c *call) []byte { return structuredResult(c.args.Value) }},
	{"sleep", "waits ms, with that many progress notifications on the way", `"ms":` + number + `,"progress":` + number, `"ms"`, true, sleep},
	{"tick", "reports progress each ms (1000), n times or for ever", `"n":` + number + `,"ms":` + number + `,"forever":{"type":"boolean"}`, "", true, tick},
	{"blob", "that many bytes of text", `"bytes":` + number, `"bytes"`, false,
		func(_ context.Context, c *call) []byte { return textResult(strings.Repeat("x", c.args.Bytes)) }},
	{"write", "writes text to a file", `"path":` + text + `,"text":` + text, `"path"`, false, write},
	{"set", "keeps v", `"v":{}`, `"v"`, false, set},
	{"get", "gives v back", "", "", false,
		func(_ context.Context, c *call) []byte { return structuredResult(c.s.kept()) }},
	{"fail", "a result with isError", `"text":` + text + `,"empty":{"type":"boolean"}`, "", false, fail},
	{"error", "a JSON-RPC error", `"code":` + number + `,"text":` + text, "", false, nil},
	{"image", "text and a PNG of that many bytes", `"bytes":` + number, `"bytes"`, false, image},
	{"load", "adds a tool extra, extra2 … and says that the list changed", "", "", false, load},
	{"ask", "asks the client (method, params) and gives its answer back", `"method":` + text + `,"params":{"type":"object"}`, `"method"`, true,
		func(ctx context.Context, c *call) []byte { return c.ask(ctx, c.args.Method, c.args.Params) }},
	{"ask-roots", "asks roots/list and gives the answer back", "", "", true,
		func(ctx context.Context, c *call) []byte { return c.ask(ctx, "roots/list", nil) }},
	{"elicit", "asks elicitation/create with text as the message, by schema or for url; takes it back after ms", `"text":` + text + `,"schema":{"type":"object"},"url":` + text + `,"ms":` + number, "", true, elicit},
	{"sample", "asks sampling/createMessage with text", `"text":` + text, "", true,
		func(ctx context.Context, c *call) []byte {
			return c.ask(ctx, "sampling/createMessage", sampling(c.args.Text))
		}},
	{"visit", "wants a page to be visited first (-32042); says after ms that it was, or never (ms -1)", `"ms":` + number, "", true, visit},
	{"stderr", "writes a line of text to stderr", `"text":` + text, `"text"`, false,
		func(_ context.Context, c *call) []byte {
			fmt.Fprintln(c.s.stderr, c.args.Text)
			return textResult("ok")
		}},
	{"log", "sends a log notification with text, of level (warning)", `"text":` + text + `,"level":` + text, `"text"`, false, logNotice},
	{"update", "tells that the resource text changed, n times; with add that the lists of resources and prompts did", `"text":` + text + `,"n":` + number + `,"add":{"type":"boolean"}`, "", false, update},
	{"exit", "ends the process with code, without an answer", `"code":` + number, "", false,
		func(_ context.Context, c *call) []byte { c.s.die(c.args.Code); return nil }},
}

func toolHelp() string {
	var b strings.Builder
	for _, t := range honest {
		fmt.Fprintf(&b, "  %-10s %s\n", t.name, t.about)
	}
	return b.String()
}

func find(name string) *tool {
	for i := range honest {
		if honest[i].name == name {
			return &honest[i]
		}
	}
	return nil
}

func (s *server) callTool(p *peer, out writer, m *envelope) {
	s.calls.Add(1)
	var params struct {
		Name      string                     `json:"name"`
		Arguments json.RawMessage            `json:"arguments"`
		Given     map[string]json.RawMessage `json:"inputResponses"`
		State     string                     `json:"requestState"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	c := &call{s: s, p: p, out: out}
	err := json.Unmarshal(m.Params, &params)
	if err == nil && len(params.Arguments) > 0 {
		err = json.Unmarshal(params.Arguments, &c.args)
	}
	if err != nil {
		refuse(out, m.ID, -32602, "invalid params: "+err.Error())
		return
	}
	c.raw, c.token = params.Arguments, params.Meta.Token
	if params.State == requestState {
		c.given = params.Given
	}
	t := find(params.Name)
	if t == nil && !s.has(params.Name) {
		refuse(out, m.ID, -32602, "unknown tool: "+params.Name)
		return
	}
	slow := t != nil && t.slow || s.o.ask["call"] || s.o.question != "" || s.o.delay["call"] > 0
	if !slow {
		s.arrive("call", out)
		c.run(context.Background(), t, m.ID, params.Name)
		return
	}
	ctx, end := p.begin(string(m.ID))
	p.start(func() {
		defer end()
		s.arrive("call", out)
		if s.o.ask["call"] {
			_, _ = p.ask(ctx, out, "roots/list", nil)
		}
		if s.o.question != "" {
			if needs := c.question(ctx, s.o.question); needs != nil {
				answer(out, m.ID, needs)
				return
			}
		}
		c.run(ctx, t, m.ID, params.Name)
	})
}

// run answers one call; a cancelled one stays unanswered, as the protocol says.
func (c *call) run(ctx context.Context, t *tool, id json.RawMessage, name string) {
	switch {
	case t == nil:
		answer(c.out, id, textResult(name+" "+string(c.raw)))
	case t.run == nil:
		refuse(c.out, id, c.args.Code, c.args.Text)
	default:
		result := t.run(ctx, c)
		switch {
		case ctx.Err() != nil:
		case c.refusal != nil:
			c.out.message(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, c.refusal))
		default:
			answer(c.out, id, result)
		}
	}
}

func textResult(s string) []byte {
	var b bytes.Buffer
	b.Grow(len(s) + 64)
	b.WriteString(`{"content":[{"type":"text","text":`)
	quoted, _ := json.Marshal(s)
	b.Write(quoted)
	b.WriteString(`}]}`)
	return b.Bytes()
}

func structuredResult(v json.RawMessage) []byte {
	if len(v) == 0 {
		v = json.RawMessage("null")
	}
	quoted, _ := json.Marshal(string(v))
	member := ""
	if v[0] == '{' { // the protocol allows objects only
		member = `,"structuredContent":` + string(v)
	}
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]%s}`, quoted, member)
}

func (c *call) progress(done, total int, message string) {
	if len(c.token) == 0 {
		return
	}
	limit := ""
	if total > 0 {
		limit = `,"total":` + strconv.Itoa(total)
	}
	c.out.message(fmt.Appendf(nil,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d%s,"message":%q}}`,
		c.token, done, limit, message))
}

// pause reports whether d passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func sleep(ctx context.Context, c *call) []byte {
	whole := time.Duration(c.args.Ms) * time.Millisecond
	for i := range c.args.Steps {
		if !pause(ctx, whole/time.Duration(c.args.Steps+1)) {
			return nil
		}
		c.progress(i+1, c.args.Steps+1, "sleeping")
	}
	if !pause(ctx, whole/time.Duration(c.args.Steps+1)) {
		return nil
	}
	return textResult(fmt.Sprintf("slept %d ms", c.args.Ms))
}

func tick(ctx context.Context, c *call) []byte {
	every := time.Duration(c.args.Ms) * time.Millisecond
	if every <= 0 {
		every = time.Second
	}
	for i := 1; c.args.Forever || i <= c.args.N; i++ {
		if !pause(ctx, every) {
			return nil
		}
		c.progress(i, c.args.N, "tick "+strconv.Itoa(i))
	}
	return textResult("done")
}

func write(_ context.Context, c *call) []byte {
	if err := os.WriteFile(c.args.Path, []byte(c.args.Text), 0o600); err != nil {
		return errorResult(err.Error())
	}
	return textResult("written")
}

func set(_ context.Context, c *call) []byte {
	c.s.mu.Lock()
	c.s.value = c.args.V
	c.s.mu.Unlock()
	return textResult("ok")
}

func (s *server) kept() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

func errorResult(s string) []byte {
	return append([]byte(`{"isError":true,`), textResult(s)[1:]...)
}

func fail(_ context.Context, c *call) []byte {
	if c.args.Empty {
		return []byte(`{"isError":true,"content":[]}`)
	}
	if c.args.Text == "" {
		return errorResult("nope")
	}
	return errorResult(c.args.Text)
}

func load(_ context.Context, c *call) []byte {
	c.s.mu.Lock()
	c.s.loaded++
	c.s.mu.Unlock()
	c.p.out.message([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	return textResult("loaded")
}

func logNotice(_ context.Context, c *call) []byte {
	data, _ := json.Marshal(c.args.Text)
	level := c.args.Level
	if level == "" {
		level = "warning"
	}
	if !c.s.logged(level) {
		return textResult("not logged")
	}
	c.p.out.message(fmt.Appendf(nil,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":%s}}`, level, data))
	return textResult("ok")
}

func image(_ context.Context, c *call) []byte {
	data, _ := json.Marshal(png(c.args.Bytes)) // []byte becomes base64
	return fmt.Appendf(nil,
		`{"content":[{"type":"text","text":"a picture"},{"type":"image","mimeType":"image/png","data":%s}]}`, data)
}

// png makes a valid picture of one pixel, blown up to n bytes by a private
// chunk; less than the smallest picture gives the smallest.
func png(n int) []byte {
	const signature = "\x89PNG\r\n\x1a\n"
	chunk := func(b []byte, kind string, data []byte) []byte {
		b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
		at := len(b)
		b = append(append(b, kind...), data...)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[at:]))
	}
	b := chunk([]byte(signature), "IHDR", []byte{0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0})
	// zlib: stored block of filter byte and one grey pixel, then its Adler sum.
	pixel := chunk(nil, "IDAT", []byte{0x78, 0x01, 0x01, 2, 0, 0xfd, 0xff, 0, 0, 0, 2, 0, 1})
	end := chunk(nil, "IEND", nil)
	const empty = 12 // a chunk without data
	if pad := n - len(b) - len(pixel) - len(end) - empty; pad >= 0 {
		b = chunk(b, "paDd", make([]byte, pad))
	}
	return append(append(b, pixel...), end...)
}
