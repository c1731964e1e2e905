package catalog

import (
	"bytes"
	"encoding/json"
	"unicode"
)

// Bounds of one look at a result: it is linear in the bytes, and less.
const (
	maxObserved = 256 << 10 // bytes; nothing is learned of a larger result
	maxItems    = 16        // of an array that are looked at; the others are skipped
)

func isLetter(r rune) bool { return unicode.IsLetter(r) }

// shapeOf is the shape of a JSON value that a transport has already checked; nil
// for one that is no JSON after all, or too large.
func shapeOf(raw []byte) *shape {
	if len(raw) > maxObserved {
		return nil
	}
	r := &reader{text: raw}
	s := &shape{}
	if r.value(s, shapeDepth); r.blank() && !r.bad {
		return nil // there is more than one value
	}
	if r.bad {
		return nil
	}
	left := shapeNodes
	s.bound(shapeDepth, &left)
	return s
}

// reader walks JSON and keeps no value of it.
type reader struct {
	text []byte
	at   int
	bad  bool
}

// blank skips white space and reports whether there is anything behind it.
func (r *reader) blank() bool {
	for r.at < len(r.text) && (r.text[r.at] == ' ' || r.text[r.at] == '\t' || r.text[r.at] == '\n' || r.text[r.at] == '\r') {
		r.at++
	}
	return r.at < len(r.text)
}

// take skips white space and, if it stands there, one mark.
func (r *reader) take(mark byte) bool {
	if r.blank() && r.text[r.at] == mark {
		r.at++
		return true
	}
	return false
}

// value adds the value that begins here to a shape; nil: it is only skipped.
func (r *reader) value(s *shape, depth int) {
	if !r.blank() || depth < -1000 {
		r.bad = true
		return
	}
	var kind kinds
	switch r.text[r.at] {
	case '"':
		kind = kindString
		r.string()
	case '[':
		kind = kindArray
		r.array(s, depth)
	case '{':
		kind = kindObject
		r.object(s, depth)
	default:
		kind = r.literal()
	}
	if s != nil && !s.Any {
		s.Kinds |= kind
	}
}

// literal is a number, true, false or null.
func (r *reader) literal() kinds {
	begin := r.at
	for r.at < len(r.text) && bytes.IndexByte([]byte(",]} \t\r\n"), r.text[r.at]) < 0 {
		r.at++
	}
	switch word := r.text[begin:r.at]; {
	case string(word) == "null":
		return kindNull
	case string(word) == "true", string(word) == "false":
		return kindBoolean
	case len(word) > 0 && (word[0] == '-' || word[0] >= '0' && word[0] <= '9'):
		return kindNumber
	}
	r.bad = true
	return 0
}

// string skips a string and gives it as it is written, quotes included.
func (r *reader) string() []byte {
	begin := r.at
	for r.at++; ; {
		end := bytes.IndexByte(r.text[min(r.at, len(r.text)):], '"')
		if end < 0 {
			r.bad = true
			r.at = len(r.text)
			return nil
		}
		end += r.at
		slashes := 0
		for i := end - 1; i >= r.at && r.text[i] == '\\'; i-- {
			slashes++
		}
		if r.at = end + 1; slashes%2 == 0 {
			return r.text[begin:r.at]
		}
	}
}

func (r *reader) array(s *shape, depth int) {
	r.at++
	if r.take(']') {
		return
	}
	for n := 0; !r.bad; n++ {
		var item *shape
		if s != nil && !s.Any && n < maxItems {
			if s.Item == nil {
				s.Item = &shape{Any: depth <= 1}
			}
			item = s.Item
		}
		r.value(item, depth-1)
		if r.take(']') {
			return
		}
		if !r.take(',') {
			r.bad = true
		}
	}
}

func (r *reader) object(s *shape, depth int) {
	r.at++
	var f *fields
	if s != nil && !s.Any {
		if s.Object == nil {
			s.Object = &fields{}
		}
		f = s.Object
	}
	if r.take('}') {
		if f != nil {
			f.Empty = true
		}
		return
	}
	if f != nil {
		f.Seen++
	}
	var once map[string]bool // names of this object, where one is written twice
	for !r.bad {
		if !r.blank() || r.text[r.at] != '"' {
			r.bad = true
			return
		}
		quoted := r.string()
		if !r.take(':') {
			r.bad = true
			return
		}
		var into *shape
		if f != nil {
			if once == nil {
				once = map[string]bool{}
			}
			into = f.place(unquote(quoted), once, depth)
		}
		r.value(into, depth-1)
		if r.take('}') {
			if f != nil && f.Map == nil {
				f.settle()
			}
			return
		}
		if !r.take(',') {
			r.bad = true
		}
	}
}

// place is where the value of a property of one object is noted.
func (f *fields) place(name string, once map[string]bool, depth int) *shape {
	if f.Map == nil && len(f.Named) > shapeNames {
		f.becomeMap()
	}
	if f.Map != nil {
		f.Map.Any = f.Map.Any || depth <= 1
		return f.Map
	}
	one := f.entry(name)
	one.Any = depth <= 1
	if !once[name] {
		once[name] = true
		one.Count++
	}
	return &one.shape
}

func unquote(quoted []byte) string {
	if len(quoted) >= 2 && bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var name string
	_ = json.Unmarshal(quoted, &name) // what is no string is no word either
	return name
}
