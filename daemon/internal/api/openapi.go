package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"tenon/daemon/internal/local"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// document is an OpenAPI document, or a piece of one, as plain values.
type document map[string]any

// serveOpenAPI gives the OpenAPI document of this server.
func (s *Server) serveOpenAPI(w http.ResponseWriter, _ *http.Request, _ *peer.Caller) error {
	return answer(w, s.contents())
}

// schemaFiles are the schemas of proto/schema by the name of their type, with
// references as they read within one document.
func schemaFiles() (map[string]any, error) {
	out := map[string]any{}
	files, err := proto.Schemas.ReadDir("schema")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		raw, err := proto.Schemas.ReadFile("schema/" + f.Name())
		if err != nil {
			return nil, err
		}
		raw = reference.ReplaceAll(raw, []byte(`"$$ref": "#/components/schemas/`))
		var file struct {
			Defs map[string]any `json:"$defs"`
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			return nil, fmt.Errorf("schema/%s: %w", f.Name(), err)
		}
		for name, schema := range file.Defs { // names are told apart across files: proto's tests see to it
			out[name] = schema
		}
	}
	return out, nil
}

// reference is the beginning of a reference of proto/schema: to a type of the
// same file, or of another one.
var reference = regexp.MustCompile(`"\$ref": *"(?:[a-z]+\.json)?#/\$defs/`)

// frameData are the messages that a frame's data may be, which no schema refers to.
var frameData = []any{
	proto.Log{}, proto.CallEvent{}, proto.ScriptRun{}, proto.Progress{}, proto.Ask{}, proto.Question{}, proto.Withdraw{},
	proto.LoginPrompt{}, proto.Artifact{}, proto.RunResult{}, proto.Error{},
}

// describe makes the OpenAPI 3.1 document of routes. Its schemas are those of
// proto/schema that the routes reach.
func describe(routes []Route) (document, error) {
	all, err := schemaFiles()
	if err != nil {
		return nil, err
	}
	b := &describer{all: all, used: document{}}
	paths := document{}
	for _, r := range routes {
		path := strings.ReplaceAll(r.Path, "...}", "}")
		item, _ := paths[path].(document)
		if item == nil {
			item = document{}
			paths[path] = item
		}
		item[strings.ToLower(r.Method)] = b.operation(r)
	}
	for _, data := range frameData {
		b.schema(data)
	}
	failure := b.schema(proto.Problem{})
	if b.err != nil {
		return nil, b.err
	}
	return document{
		"openapi": "3.1.0",
		"info": document{
			"title":   "tenon",
			"version": local.Build().Version,
			"description": "The HTTP interface of the tenon daemon, on its unix socket; over TCP only where listen.address is set, " +
				"with listen.token as bearer token. Which routes a caller may use depends on who it is.",
		},
		"servers":  []any{document{"url": "/"}},
		"security": []any{document{}, document{"token": []any{}}},
		"paths":    paths,
		"components": document{
			"schemas":    b.used,
			"parameters": places,
			"responses": document{"Failure": document{
				"description": "What went wrong (RFC 9457), with its kind and what to do",
				"content":     document{"application/problem+json": document{"schema": failure}},
			}},
			"securitySchemes": document{"token": document{"type": "http", "scheme": "bearer", "description": "listen.token; over TCP only"}},
		},
	}, nil
}

// places are the parameters of every route: who asks, and from where.
var places = document{
	"dir":     place("query", "dir", "the caller's directory, absolute: it decides which servers there are; also the header "+proto.HeaderDir),
	"config":  place("query", "config", "a configuration file in place of the user's; also the header "+proto.HeaderConfig),
	"session": place("header", proto.HeaderSession, "the session to act in"),
	"ticket":  place("header", proto.HeaderTicket, "the proof of that session"),
	"env":     place("header", proto.HeaderEnv, "base64url of a JSON object: the caller's variables"),
}

func place(in, name, about string) document {
	return document{"name": name, "in": in, "description": about, "schema": document{"type": "string"}}
}

// describer gathers the schemas that a document uses.
type describer struct {
	all  map[string]any
	used document
	err  error
}

func (b *describer) operation(r Route) document {
	out := document{
		"operationId": operationID(r),
		"summary":     r.Summary,
		"responses":   b.responses(r),
	}
	var about []string
	if r.may != "" {
		about = append(about, "Only a user may ("+string(r.may)+").")
	}
	if r.work {
		about = append(about, "Refused with 503 and the header "+proto.HeaderDraining+": 1 while the daemon ends.")
	}
	if about != nil {
		out["description"] = strings.Join(about, " ")
	}
	var parameters []any
	for _, hole := range holes.FindAllStringSubmatch(r.Path, -1) {
		parameters = append(parameters, document{"name": hole[1], "in": "path", "required": true, "schema": document{"type": "string"}})
	}
	for _, p := range r.query {
		parameters = append(parameters, p.describe())
	}
	for _, name := range []string{"dir", "config", "session", "ticket", "env"} {
		parameters = append(parameters, document{"$ref": "#/components/parameters/" + name})
	}
	out["parameters"] = parameters
	switch {
	case r.takes != nil:
		out["requestBody"] = document{"required": true, "content": jsonOf(b.schema(r.takes))}
	case r.as == asMCP && r.Method == "POST":
		out["requestBody"] = document{"required": true, "description": "a message of MCP (JSON-RPC 2.0)", "content": jsonOf(document{"type": "object"})}
	}
	return out
}

// responses are what a route answers.
func (b *describer) responses(r Route) document {
	events := func(content document, schema any) document {
		content["text/event-stream"] = document{"schema": schema}
		return content
	}
	out := document{"default": document{"$ref": "#/components/responses/Failure"}}
	ok := func(status, description string, content document) {
		answer := document{"description": description}
		if content != nil {
			answer["content"] = content
		}
		out[status] = answer
	}
	switch {
	case r.as == asUpgrade:
		ok("101", "The connection is the protocol's", nil)
	case r.as == asMCP && r.Method == "POST":
		ok("200", "The answer, or a stream of messages that ends with it", events(jsonOf(document{"type": "object"}), document{"type": "string"}))
		ok("202", "A message that has no answer was taken", nil)
	case r.as == asMCP && r.Method == "GET":
		ok("200", "Messages until the client goes", events(document{}, document{"type": "string"}))
		ok("101", "With Upgrade: "+proto.UpgradeMCP+", a message a line", nil)
	case r.as == asBytes:
		ok("200", "The bytes, of the type that they were kept with", document{"*/*": document{}})
	case r.as == asText:
		ok("200", "The answer", document{"text/plain": document{"schema": document{"type": "string"}}})
	case r.as == asEvents:
		each := b.schema(r.gives)
		ok("200", "One after the other", events(document{"application/x-ndjson": document{"schema": each}}, each))
	case r.as == asFrames:
		content := jsonOf(b.schema(r.gives))
		frame := b.schema(proto.Frame{})
		content["application/x-ndjson"] = document{"schema": frame}
		ok("200", "The result; or frames, where Accept asks for them", events(content, frame))
	case r.gives == nil:
		ok("204", "Done", nil)
	default:
		ok("200", "The answer", jsonOf(b.schema(r.gives)))
	}
	return out
}

func jsonOf(schema any) document {
	return document{"application/json": document{"schema": schema}}
}

// schema is that of a message, or of a list of messages; what it refers to
// comes into the document.
func (b *describer) schema(message any) any {
	t := reflect.TypeOf(message)
	switch t.Kind() {
	case reflect.Map:
		return document{"type": "object"}
	case reflect.Slice:
		return document{"type": "array", "items": b.schema(reflect.Zero(t.Elem()).Interface())}
	}
	b.use(t.Name())
	return document{"$ref": "#/components/schemas/" + t.Name()}
}

// use takes a schema and all that it refers to into the document.
func (b *describer) use(name string) {
	if b.used[name] != nil || b.err != nil {
		return
	}
	schema, ok := b.all[name]
	if !ok {
		b.err = fmt.Errorf("proto/schema has no %s", name)
		return
	}
	b.used[name] = schema
	b.follow(schema)
}

func (b *describer) follow(value any) {
	switch v := value.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			name, _, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/schemas/"), "/")
			b.use(name)
		}
		for _, member := range v {
			b.follow(member)
		}
	case []any:
		for _, item := range v {
			b.follow(item)
		}
	}
}

// describe is a parameter as the document has it.
func (p param) describe() document {
	schema := map[string]document{
		"text":   {"type": "string"},
		"number": {"type": "integer", "minimum": 0},
		"flag":   {"type": "boolean"},
		"time":   {"type": "string", "format": "date-time"},
		"texts":  {"type": "array", "items": document{"type": "string"}},
	}[p.kind]
	return document{"name": p.name, "in": "query", "description": p.about, "schema": schema}
}

// holes are the variable parts of a path.
var holes = regexp.MustCompile(`\{([a-z]+)(?:\.\.\.)?\}`)

// operationID names an operation by its route: getServersByName.
func operationID(r Route) string {
	out := strings.ToLower(r.Method)
	for part := range strings.FieldsFuncSeq(strings.TrimPrefix(r.Path, "/v1"), func(c rune) bool { return c == '/' || c == '.' }) {
		if name, hole := strings.CutPrefix(part, "{"); hole {
			part = "by" + strings.ToUpper(name[:1]) + strings.TrimSuffix(name[1:], "}")
		}
		out += strings.ToUpper(part[:1]) + part[1:]
	}
	return out
}
