package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// methods are the HTTP methods that become tools, in the order of naming.
var methods = []string{"get", "head", "post", "put", "patch", "delete"}

// operation is one operation as a tool.
type operation struct {
	name        string // of the tool
	id          string // operationId; may be empty
	method      string // upper case
	path        string // with {parameters}
	tags        []string
	title       string
	description string
	servers     any // its own list, or its path's; nil: the document's
	parameters  []parameter
	body        *body
	input       json.RawMessage
	output      json.RawMessage // nil: not known
	accept      string
}

// parameter is one parameter and the property of the input that it is.
type parameter struct {
	name, in string
	property string
	required bool
	style    string
	explode  bool
	reserved bool // allowReserved
	json     bool // its content is JSON
}

// body is the one form of a request's body that is used.
type body struct {
	media    string
	required bool
	schema   map[string]any            // of forms: their properties
	encoding map[string]map[string]any // of forms: contentType and style of single properties
}

const bodyProperty = "body"

// operations reads every operation of the document. What cannot be one is told in
// notes and left out.
func (d *document) operations(hidden func(p parameter) bool) (out []*operation, notes []string) {
	untold, beyond := 0, 0
	leave := func(at []string, format string, args ...any) {
		if len(notes) == maxNotes {
			untold++
			return
		}
		notes = append(notes, d.wrong(at, format, args...).Message)
	}
	paths, _ := d.root["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := d.object(paths[path])
		if item == nil && !strings.HasPrefix(path, "x-") {
			leave([]string{"paths", path}, "is no object, or refers to another document")
		}
		for _, method := range methods {
			if item[method] == nil {
				continue
			}
			at := []string{"paths", path, method}
			op := d.object(item[method])
			if op == nil {
				leave(at, "is no object")
				continue
			}
			if len(out) == maxOperations {
				beyond++
				continue
			}
			one, err := d.operation(path, method, item, op, hidden)
			if err != nil {
				leave(at, "%v", err)
				continue
			}
			out = append(out, one)
		}
	}
	if untold > 0 {
		notes = append(notes, fmt.Sprintf("%d more", untold))
	}
	if beyond > 0 {
		notes = append(notes, fmt.Sprintf("%d operations, for there are more than %d", beyond, maxOperations))
	}
	name(out)
	return out, notes
}

func (d *document) operation(path, method string, item, op map[string]any, hidden func(p parameter) bool) (*operation, error) {
	o := &operation{method: strings.ToUpper(method), path: path, servers: op["servers"]}
	if o.servers == nil {
		o.servers = item["servers"]
	}
	o.id, _ = op["operationId"].(string)
	for _, tag := range anyList(op["tags"]) {
		if text, ok := tag.(string); ok {
			o.tags = append(o.tags, text)
		}
	}
	o.title, _ = op["summary"].(string)
	o.describe(op)
	in := newSchemas(d, false)
	properties, required := map[string]any{}, []string{}
	var err error
	if o.parameters, err = d.parameters(item, op); err != nil {
		return nil, err
	}
	for _, wanted := range placeholders(path) {
		if !slices.ContainsFunc(o.parameters, func(p parameter) bool { return p.in == "path" && p.name == wanted }) {
			return nil, fmt.Errorf("the path's {%s} is no parameter", wanted)
		}
	}
	o.parameters = slices.DeleteFunc(o.parameters, func(p parameter) bool {
		return p.in != "path" && hidden(p)
	})
	taken := map[string]bool{bodyProperty: op["requestBody"] != nil}
	for i := range o.parameters {
		p := &o.parameters[i]
		p.property = p.name
		for n := 2; taken[p.property]; n++ {
			if p.property = p.in + "_" + p.name; taken[p.property] {
				p.property += "_" + itoa(n)
			}
		}
		taken[p.property] = true
	}
	for _, raw := range d.rawParameters(item, op) {
		i := slices.IndexFunc(o.parameters, func(p parameter) bool { return p.name == raw["name"] && p.in == raw["in"] })
		if i < 0 {
			continue
		}
		schema := raw["schema"]
		if schema == nil {
			_, media := first(d.object(raw["content"]))
			schema = media["schema"]
		}
		properties[o.parameters[i].property] = described(in.of(schema, 0), raw["description"])
		if o.parameters[i].required {
			required = append(required, o.parameters[i].property)
		}
	}
	if request := d.object(op["requestBody"]); request != nil {
		schema := o.readBody(d, in, request)
		if o.body == nil {
			return nil, fmt.Errorf("requestBody has no content")
		}
		properties[bodyProperty] = described(schema, request["description"])
		if o.body.required {
			required = append(required, bodyProperty)
		}
	}
	input := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		slices.Sort(required)
		input["required"] = slices.Compact(required)
	}
	o.input, _ = in.whole(input) // what is too much is anything
	o.answers(d, op)
	return o, nil
}

// describe is what a reader is told: what the document says, and which request
// it is.
func (o *operation) describe(op map[string]any) {
	const longest = 1500
	text, _ := op["description"].(string)
	text = strings.TrimSpace(text)
	if o.title != "" && !strings.HasPrefix(text, o.title) {
		text = strings.TrimSpace(o.title + "\n\n" + text)
	}
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	if op["deprecated"] == true {
		text = strings.TrimSpace("Deprecated. " + text)
	}
	o.description = strings.TrimSpace(text + "\n\n" + o.method + " " + o.path)
}

func described(schema any, description any) any {
	text, ok := description.(string)
	m, isObject := schema.(map[string]any)
	if !ok || text == "" || !isObject {
		return schema
	}
	if m["$ref"] != nil {
		return map[string]any{"allOf": []any{m}, "description": text}
	}
	m = maps.Clone(m)
	m["description"] = text
	return m
}

func placeholders(path string) (names []string) {
	for {
		_, rest, ok := strings.Cut(path, "{")
		if !ok {
			return names
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return names
		}
		names, path = append(names, name), after
	}
}

// rawParameters are an operation's parameters; its own take the place of its
// path's.
func (d *document) rawParameters(item, op map[string]any) (out []map[string]any) {
	for _, list := range []any{item["parameters"], op["parameters"]} {
		for _, v := range anyList(list) {
			p := d.object(v)
			if p == nil {
				p = map[string]any{}
			}
			i := slices.IndexFunc(out, func(have map[string]any) bool { return have["name"] == p["name"] && have["in"] == p["in"] })
			if i >= 0 {
				out[i] = p
			} else {
				out = append(out, p)
			}
		}
	}
	return out
}

// ignored are headers that a request has anyway: the specification says so.
var ignored = []string{"accept", "content-type", "authorization"}

func (d *document) parameters(item, op map[string]any) (out []parameter, err error) {
	for _, raw := range d.rawParameters(item, op) {
		var p parameter
		p.name, _ = raw["name"].(string)
		p.in, _ = raw["in"].(string)
		p.required = raw["required"] == true || p.in == "path"
		p.style, _ = raw["style"].(string)
		p.reserved = raw["allowReserved"] == true
		switch p.in {
		case "path", "header":
			if p.style == "" {
				p.style = "simple"
			}
		case "query", "cookie":
			if p.style == "" {
				p.style = "form"
			}
		default:
			return nil, fmt.Errorf("a parameter refers to another document, or has no place: in is %q", p.in)
		}
		if p.name == "" {
			return nil, fmt.Errorf("a parameter has no name")
		}
		if p.in == "header" && slices.Contains(ignored, strings.ToLower(p.name)) {
			continue
		}
		p.explode = p.style == "form"
		if explode, ok := raw["explode"].(bool); ok {
			p.explode = explode
		}
		if media, _ := first(d.object(raw["content"])); isJSON(media) {
			p.json = true
		}
		out = append(out, p)
	}
	order := []string{"path", "query", "header", "cookie"}
	slices.SortStableFunc(out, func(a, b parameter) int { return slices.Index(order, a.in) - slices.Index(order, b.in) })
	return out, nil
}

// first is the entry of a map of media types that is read here: JSON if there is
// one, else forms, else the first by name.
func first(content map[string]any) (media string, entry map[string]any) {
	names := slices.Sorted(maps.Keys(content))
	for _, fits := range []func(string) bool{
		func(m string) bool { return mediaType(m) == "application/json" }, isJSON,
		func(m string) bool { return mediaType(m) == "multipart/form-data" },
		func(m string) bool { return mediaType(m) == "application/x-www-form-urlencoded" },
		func(string) bool { return true },
	} {
		if i := slices.IndexFunc(names, fits); i >= 0 {
			entry, _ = content[names[i]].(map[string]any)
			return names[i], entry
		}
	}
	return "", nil
}

func mediaType(m string) string {
	m, _, _ = strings.Cut(m, ";")
	return strings.ToLower(strings.TrimSpace(m))
}

func isJSON(m string) bool {
	m = mediaType(m)
	return m == "application/json" || strings.HasSuffix(m, "+json")
}

// answers reads what a success looks like, and what to ask for.
func (o *operation) answers(d *document, op map[string]any) {
	responses, _ := op["responses"].(map[string]any)
	out := newSchemas(d, true)
	var schemas []any
	var accept []string
	known := true
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		response := d.object(responses[status])
		content := d.object(response["content"])
		media, entry := first(content)
		for _, name := range slices.Sorted(maps.Keys(content)) {
			if !slices.Contains(accept, name) {
				accept = append(accept, name)
			}
		}
		switch {
		case !isJSON(media):
			known = known && len(content) == 0 // no content is no value
		case entry["schema"] == nil:
			known = false
		default:
			schemas = append(schemas, out.of(entry["schema"], 0))
		}
	}
	slices.SortStableFunc(accept, func(a, b string) int {
		rank := map[bool]int{true: 0, false: 1}
		return rank[isJSON(a)] - rank[isJSON(b)]
	})
	o.accept = strings.Join(append(accept, "*/*;q=0.1"), ", ")
	if len(accept) == 0 {
		o.accept = "application/json, */*;q=0.1"
	}
	if !known || len(schemas) == 0 {
		return
	}
	schema := schemas[0]
	if len(schemas) > 1 {
		schema = map[string]any{"anyOf": schemas}
	}
	// A description of an answer that is longer than most answers helps nobody.
	const longest = 32 << 10
	if text, whole := out.whole(schema); whole && len(text) <= longest {
		o.output = text
	}
}

// name gives every operation the name of its tool: its id, else method and path;
// of several of one name, the later ones are numbered.
func name(list []*operation) {
	const longest = 100
	taken := map[string]bool{}
	for _, o := range list {
		base := o.id
		if base == "" {
			base = strings.ToLower(o.method) + strings.NewReplacer("{", "", "}", "").Replace(o.path)
		}
		base = strings.Trim(strings.Map(func(r rune) rune {
			if r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '_'
		}, base), "_")
		if base == "" {
			base = strings.ToLower(o.method)
		}
		base = base[:min(len(base), longest)]
		o.name = base
		for i := 2; taken[o.name]; i++ {
			o.name = base + "_" + itoa(i)
		}
		taken[o.name] = true
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
