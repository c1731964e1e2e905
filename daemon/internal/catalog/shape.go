package catalog

import "sort"

// Bounds of a learned shape.
const (
	shapeDepth = 8   // levels; below is "unknown"
	shapeNodes = 300 // places of one shape; beyond is "unknown"
	shapeNames = 48  // names of one object; with more it is taken for a map
)

// shape is what stood at one place of a tool's results: kinds of values and
// names of properties, never a value.
type shape struct {
	Kinds  kinds   `json:"k,omitempty"`
	Item   *shape  `json:"i,omitempty"` // what arrays held; nil: all were empty
	Object *fields `json:"o,omitempty"` // what objects held
	Any    bool    `json:"a,omitempty"` // too deep or too much: nothing is said of it
}

// kinds is a set of the kinds of JSON values.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindNumber
	kindString
	kindArray
	kindObject
)

// kindNames are the words of JSON Schema, in the order of the bits but for null,
// which is read best at the end.
var kindNames = []struct {
	kind kinds
	name string
}{
	{kindString, "string"}, {kindNumber, "number"}, {kindBoolean, "boolean"},
	{kindArray, "array"}, {kindObject, "object"}, {kindNull, "null"},
}

// fields are the properties of the objects at one place. Where their names are
// data (ids, addresses, days) they are a map, and no name is kept.
type fields struct {
	Seen  int              `json:"n,omitempty"` // objects that had a property
	Empty bool             `json:"e,omitempty"` // there were objects without any
	Named map[string]*slot `json:"f,omitempty"`
	Map   *shape           `json:"m,omitempty"` // what the names lead to; then Named is nil
}

// slot is one property: what its name leads to.
type slot struct {
	Count int `json:"n"` // objects that had it
	shape
}

// merge adds what another shape has seen.
func (s *shape) merge(o *shape) {
	if o == nil || s.Any {
		return
	}
	if o.Any {
		*s = shape{Any: true}
		return
	}
	s.Kinds |= o.Kinds
	if o.Item != nil {
		if s.Item == nil {
			s.Item = &shape{}
		}
		s.Item.merge(o.Item)
	}
	if o.Object != nil {
		if s.Object == nil {
			s.Object = &fields{}
		}
		s.Object.merge(o.Object)
	}
}

func (f *fields) merge(o *fields) {
	f.Seen += o.Seen
	f.Empty = f.Empty || o.Empty
	switch {
	case o.Map != nil:
		f.becomeMap()
		f.Map.merge(o.Map)
	case f.Map != nil:
		for _, one := range o.Named {
			f.Map.merge(&one.shape)
		}
	default:
		for name, one := range o.Named {
			mine := f.entry(name)
			mine.Count += one.Count
			mine.merge(&one.shape)
		}
		f.settle()
	}
}

func (f *fields) entry(name string) *slot {
	one := f.Named[name]
	if one == nil {
		if f.Named == nil {
			f.Named = map[string]*slot{}
		}
		one = &slot{}
		f.Named[name] = one
	}
	return one
}

// becomeMap forgets the names.
func (f *fields) becomeMap() {
	if f.Map != nil {
		return
	}
	f.Map = &shape{}
	for _, one := range f.Named {
		f.Map.merge(&one.shape)
	}
	f.Named = nil
}

// settle makes a map of properties whose names look like data: there are very
// many, one of them is no word, they differ from object to object, or all of
// several lead to objects that are alike.
func (f *fields) settle() {
	names, total, always := len(f.Named), 0, false
	for name, one := range f.Named {
		total += one.Count
		always = always || one.Count >= f.Seen
		if !isWord(name) {
			f.becomeMap()
			return
		}
	}
	differ := names >= 3 && f.Seen >= 2 && !always && 5*total <= 2*f.Seen*names
	if names > shapeNames || differ || names >= 3 && f.alike() {
		f.becomeMap()
	}
}

// alike reports whether all properties lead to objects of the same names.
func (f *fields) alike() bool {
	var first *fields
	for _, one := range f.Named {
		o := one.Object
		if one.Kinds != kindObject || o == nil || o.Map == nil && len(o.Named) == 0 {
			return false
		}
		if first == nil {
			first = o
			continue
		}
		if (o.Map == nil) != (first.Map == nil) || len(o.Named) != len(first.Named) {
			return false
		}
		for name := range o.Named {
			if first.Named[name] == nil {
				return false
			}
		}
	}
	return true
}

// order is the names of properties: those of every object first, then by name.
func (f *fields) order() []string {
	names := make([]string, 0, len(f.Named))
	for name := range f.Named {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if a, b := f.optional(names[i]), f.optional(names[j]); a != b {
			return b
		}
		return names[i] < names[j]
	})
	return names
}

// optional reports whether there were objects without this property.
func (f *fields) optional(name string) bool {
	return f.Empty || f.Named[name].Count < f.Seen
}

// bound cuts a shape to so many places, the deepest first, and reports how many
// it has. Nothing that is cut is remembered in part.
func (s *shape) bound(depth int, left *int) {
	if s == nil {
		return
	}
	if *left--; depth == 0 || *left < 0 {
		*s = shape{Any: true}
		return
	}
	s.Item.bound(depth-1, left)
	if s.Object == nil {
		return
	}
	s.Object.Map.bound(depth-1, left)
	for _, name := range s.Object.order() {
		s.Object.Named[name].bound(depth-1, left)
	}
}

// names calls f for every name of a property until it says false.
func (s *shape) names(f func(string) bool) bool {
	if s == nil {
		return true
	}
	if s.Object != nil {
		for name, one := range s.Object.Named {
			if !f(name) || !one.names(f) {
				return false
			}
		}
		if !s.Object.Map.names(f) {
			return false
		}
	}
	return s.Item.names(f)
}

// isWord reports whether a name of a property looks like one that a programmer
// chose, and not like data: an address, a path, a day, a number, a digest.
func isWord(name string) bool {
	if name == "" || len(name) > 48 {
		return false
	}
	var letters, digits, hex, lower, run, mixed int
	for i, r := range name {
		switch {
		case r >= '0' && r <= '9':
			if i == 0 {
				return false
			}
			if run++; run > 4 {
				return false
			}
			digits, hex = digits+1, hex+1
			continue
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r > 0x7f && isLetter(r):
			if run > 0 {
				mixed++ // a letter right behind a digit
			}
			letters++
			if r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F' {
				hex++
			}
			if r >= 'a' {
				lower++
			}
		case r == '_', r == '-' && i > 0, r == '$' && i == 0, r == '@' && i == 0:
		default:
			return false
		}
		run = 0
	}
	switch {
	case letters == 0 && digits > 0, mixed >= 3:
		return false
	case digits > 0 && digits+letters >= 8 && hex == digits+letters: // a digest
		return false
	case digits > 0 && digits+letters >= 16 && lower == 0: // a key
		return false
	}
	return true
}
