package signature

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Function is an exported function as a tool.
type Function struct {
	Name        string
	Description string
	Input       json.RawMessage // JSON Schema of an object
	Output      json.RawMessage // JSON Schema of what it returns; nil: not known
	Parameters  []Parameter     // names in the input; nil with Whole
	Whole       bool            // it takes the input as its one argument
	ReadOnly    bool            // @readOnly
	Destructive bool            // @destructive
	Idempotent  bool            // @idempotent
}

// Parameter is how one argument is taken out of the input.
type Parameter struct {
	Name string `json:"name"`
	Rest bool   `json:"rest,omitempty"` // the items of a list are the remaining arguments
	Big  bool   `json:"big,omitempty"`  // a bigint
}

// Loader gives the source of a module that the file from imports, by the name
// that it is imported under; false: it is not to be had.
type Loader func(from, module string) (path, source string, ok bool)

// files are the sources that types were looked up in.
type files struct {
	load   Loader
	byPath map[string]*file // nil: cannot be read
	names  map[string][]string
}

// maxFiles bounds the files that are read for types.
const maxFiles = 100

// Read describes the functions that the module at path exports under names. For
// one that is not found, or not understood, the schemas allow everything: it
// takes the whole input as its one argument.
func Read(path, source string, names []string, load Loader) map[string]Function {
	fs := &files{load: load, byPath: map[string]*file{}, names: map[string][]string{}}
	f, err := parse(path, source)
	if err == nil {
		fs.byPath[path] = f
	}
	out := make(map[string]Function, len(names))
	for _, name := range names {
		one := Function{Name: name, Whole: true, Input: json.RawMessage(`{"type":"object"}`)}
		if f != nil {
			if fn, in := fs.exported(f, name, 0); fn != nil {
				one = fs.describe(name, fn, in)
			}
		}
		out[name] = one
	}
	return out
}

// Order lists the exported names of a source in the order of writing, as far as
// they are known.
func Order(source string) []string {
	f, err := parse("", source)
	if err != nil {
		return nil
	}
	return f.order
}

func (fs *files) open(from *file, module string) *file {
	if fs.load == nil || len(fs.byPath) >= maxFiles {
		return nil
	}
	path, source, ok := fs.load(from.path, module)
	if !ok {
		return nil
	}
	f, known := fs.byPath[path]
	if !known {
		f, _ = parse(path, source) // nil: it has no types
		fs.byPath[path] = f
	}
	return f
}

// exported finds the function that f exports as name, in whatever file.
func (fs *files) exported(f *file, name string, depth int) (*function, *file) {
	if f == nil || depth > maxDepth {
		return nil, nil
	}
	if local, ok := f.exports[name]; ok {
		if fn, ok := f.functions[local]; ok {
			return fn, f
		}
		if from, ok := f.imports[local]; ok {
			return fs.exported(fs.open(f, from.module), from.name, depth+1)
		}
		return nil, nil
	}
	if from, ok := f.passed[name]; ok {
		return fs.exported(fs.open(f, from.module), from.name, depth+1)
	}
	for _, module := range f.all {
		if fn, in := fs.exported(fs.open(f, module), name, depth+1); fn != nil {
			return fn, in
		}
	}
	return nil, nil
}

// lookup finds the declaration of a name and the scope of its body, with its
// type parameters bound. A nil declaration is one that is not understood.
func (fs *files) lookup(t *typ, in scope) (*declared, scope, bool) {
	if _, shadowed := in.generics[t.name]; shadowed {
		return nil, in, false
	}
	d, f := fs.declaration(in.file, t.name, 0)
	if f == nil {
		return nil, in, false
	}
	at := scope{file: f}
	if d != nil && len(d.parameters) > 0 {
		at.generics = map[string]closure{}
		for i, name := range d.parameters {
			if i < len(t.items) {
				at.generics[name] = closure{t.items[i], in}
			} else {
				at.generics[name] = closure{anything, at}
			}
		}
	}
	return d, at, true
}

func (fs *files) declaration(f *file, name string, depth int) (*declared, *file) {
	if f == nil || depth > maxDepth {
		return nil, f
	}
	if d, ok := f.types[name]; ok {
		return d, f
	}
	from, ok := f.imports[name]
	if !ok && depth > 0 { // of another file: what it passes on
		if local, is := f.exports[name]; is && local != name {
			return fs.declaration(f, local, depth+1)
		}
		from, ok = f.passed[name]
	}
	if ok {
		next := fs.open(f, from.module)
		if next == nil {
			return nil, f
		}
		return fs.declaration(next, from.name, depth+1)
	}
	if depth > 0 {
		for _, module := range f.all {
			if d, at := fs.declaration(fs.open(f, module), name, depth+1); d != nil {
				return d, at
			}
		}
		return nil, f
	}
	return nil, nil
}

// describe makes a tool of a declared function.
func (fs *files) describe(name string, fn *function, f *file) Function {
	doc := parseDoc(fn.doc)
	out := Function{Name: name, Description: doc.text, ReadOnly: doc.tags["readonly"], Destructive: doc.tags["destructive"], Idempotent: doc.tags["idempotent"]}
	in := scope{file: f, generics: map[string]closure{}}
	for _, generic := range fn.generics {
		in.generics[generic] = closure{anything, in}
	}
	for i := range fn.parameters { // JavaScript: the types stand in the comment
		p := &fn.parameters[i]
		if said, ok := doc.parameters[p.name]; ok && p.value == nil && p.name != "" {
			p.value, p.optional = said.value, p.optional || said.optional
		}
	}
	r := &resolver{files: fs, cycle: map[string]bool{}}
	out.Input, out.Whole, out.Parameters = r.input(fn, doc, in)
	result := fn.result
	if result == nil {
		result = doc.result
	}
	out.Output = fs.output(result, in)
	return out
}

// input is the schema of a function's arguments: its one argument if that is
// certainly an object, else an object with a property for each.
func (r *resolver) input(fn *function, doc docText, in scope) (json.RawMessage, bool, []Parameter) {
	if len(fn.parameters) == 1 && !fn.parameters[0].rest {
		p := fn.parameters[0]
		t := p.value
		if t == nil {
			t = p.pattern
		}
		if t != nil && t != anything {
			if s := r.flat(t, in, 0); s != nil {
				doc.describe(p.name, s)
				if p.value == nil && s.index == nil && p.pattern != nil {
					s.open = false
				}
				return r.finish(r.object(s, 0)), true, nil
			}
		}
	}
	properties, required := object{}, []string{}
	var parameters []Parameter
	for i, p := range fn.parameters {
		name := p.name
		if name == "" {
			name = "arg" + itoa(i+1)
		}
		if slices.ContainsFunc(parameters, func(have Parameter) bool { return have.Name == name }) {
			return json.RawMessage(`{"type":"object"}`), true, nil // no language has that
		}
		value := p.value
		if value == nil && p.pattern != nil {
			value = p.pattern
		}
		var s object
		if value != nil {
			s = r.schema(value, in, 1)
		}
		if p.rest && s.get("type") != "array" {
			s = kindOf("array")
		}
		if s.get("$ref") != nil {
			s = object{{"allOf", []object{s}}}
		}
		s = slices.Clone(s)
		if text := doc.parameters[p.name].text; text != "" {
			s = append(s, pair{"description", text})
		}
		if value == nil && strings.Contains(filepath.Ext(in.file.path), "ts") { // as TypeScript infers
			s = append(s, inferred(p.initial)...)
		}
		if p.initial != "" {
			s = append(s, pair{"default", json.RawMessage(p.initial)})
		}
		if s == nil {
			s = object{}
		}
		properties = append(properties, pair{name, s})
		if !p.optional && !p.rest && r.needed(value, in, 0) {
			required = append(required, name)
		}
		big := value != nil && value.form == named && value.name == "bigint"
		parameters = append(parameters, Parameter{Name: name, Rest: p.rest, Big: big})
	}
	out := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		out = append(out, pair{"required", required})
	}
	return r.finish(append(out, pair{"additionalProperties", false})), false, parameters
}

// output is the schema of a result, where all of it is known.
func (fs *files) output(t *typ, in scope) json.RawMessage {
	for t != nil && t.form == named && len(t.items) == 1 && slices.Contains([]string{"Promise", "PromiseLike"}, t.name) {
		t = t.items[0]
	}
	r := &resolver{files: fs, output: true, cycle: map[string]bool{}}
	if !r.needed(t, in, 0) {
		return nil
	}
	s := r.schema(t, in, 0)
	if s == nil {
		return nil
	}
	return r.finish(s)
}

// finish adds the definitions, and gives up what has grown too large.
func (r *resolver) finish(s object) json.RawMessage {
	if r.size > maxSize && !r.output {
		return json.RawMessage(`{"type":"object"}`)
	}
	if len(r.defs) > 0 {
		s = append(slices.Clone(s), pair{"$defs", r.defs})
	}
	out, err := json.Marshal(s)
	if err != nil || r.size > maxSize {
		return nil
	}
	return out
}

// Names are the names of functions in order: as written, then the others.
func Names(source string, exported []string) []string {
	known := map[string]bool{}
	for _, name := range exported {
		known[name] = true
	}
	var out []string
	for _, name := range Order(source) {
		if known[name] {
			out = append(out, name)
			delete(known, name)
		}
	}
	return append(out, slices.Sorted(maps.Keys(known))...)
}
