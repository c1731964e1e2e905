package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// member is one member of an object, in the order of writing.
type member struct {
	name  string
	value json.RawMessage
}

// members reads an object; nil for anything else.
func members(value json.RawMessage) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(value))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, err
	}
	out := []member{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var m member
		m.name, _ = name.(string)
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// scalar is a value as text: a string as it is, all else as JSON.
func scalar(value json.RawMessage) (string, error) {
	var text string
	if len(value) > 0 && value[0] == '"' {
		err := json.Unmarshal(value, &text)
		return text, err
	}
	if string(value) == "null" {
		return "", nil
	}
	var out bytes.Buffer
	err := json.Compact(&out, value)
	return out.String(), err
}

// parts are a value's pieces: of a list its items, of an object its names and
// values in turn, else the one text.
func parts(value json.RawMessage) (texts []string, isObject, isList bool, err error) {
	if len(value) > 0 && value[0] == '[' {
		var items []json.RawMessage
		if err := json.Unmarshal(value, &items); err != nil {
			return nil, false, false, err
		}
		for _, item := range items {
			text, err := scalar(item)
			if err != nil {
				return nil, false, false, err
			}
			texts = append(texts, text)
		}
		return texts, false, true, nil
	}
	list, err := members(value)
	if list != nil && err == nil {
		for _, m := range list {
			text, err := scalar(m.value)
			if err != nil {
				return nil, false, false, err
			}
			texts = append(texts, m.name, text)
		}
		return texts, true, false, nil
	}
	text, err := scalar(value)
	return []string{text}, false, false, err
}

// joined writes pieces with a separator; exploded objects have "=" in the pairs.
func joined(texts []string, pairs bool, separator string, escape func(string) string) string {
	var b strings.Builder
	for i, t := range texts {
		switch {
		case i == 0:
		case pairs && i%2 == 1:
			b.WriteByte('=')
		default:
			b.WriteString(separator)
		}
		b.WriteString(escape(t))
	}
	return b.String()
}

// inPath is a path parameter as it is written: simple, label or matrix.
func (p parameter) inPath(value json.RawMessage) (string, error) {
	if p.json {
		text, err := compact(value)
		return escape(text), err
	}
	texts, isObject, isList, err := parts(value)
	if err != nil {
		return "", err
	}
	pairs := isObject && p.explode
	switch p.style {
	case "label":
		separator := ","
		if p.explode {
			separator = "."
		}
		return "." + joined(texts, pairs, separator, escape), nil
	case "matrix":
		switch {
		case pairs:
			return ";" + joined(texts, true, ";", escape), nil
		case isList && p.explode:
			return ";" + escape(p.name) + "=" + joined(texts, false, ";"+escape(p.name)+"=", escape), nil
		}
		return ";" + escape(p.name) + "=" + joined(texts, false, ",", escape), nil
	}
	out := joined(texts, pairs, ",", escape)
	if out == "" || out == "." || out == ".." {
		return "", fmt.Errorf("%q cannot be a part of a path: it would be another request", out)
	}
	return out, nil
}

// query is a query parameter as pairs, ready to be joined by &.
func (p parameter) query(value json.RawMessage) ([]string, error) {
	name, esc := escape(p.name), escape
	if p.reserved {
		esc = escapeReserved
	}
	if p.json {
		text, err := compact(value)
		return []string{name + "=" + escape(text)}, err
	}
	if p.style == "deepObject" {
		return p.deep(name, value, 0)
	}
	texts, isObject, isList, err := parts(value)
	if err != nil {
		return nil, err
	}
	separator := map[string]string{"spaceDelimited": "%20", "pipeDelimited": "|"}[p.style]
	if separator == "" {
		separator = ","
	}
	switch {
	case isObject && p.explode:
		var out []string
		for i := 0; i+1 < len(texts); i += 2 {
			out = append(out, escape(texts[i])+"="+esc(texts[i+1]))
		}
		return out, nil
	case isList && p.explode:
		out := make([]string, len(texts))
		for i, t := range texts {
			out[i] = name + "=" + esc(t)
		}
		return out, nil
	case isList && len(texts) == 0:
		return nil, nil
	}
	return []string{name + "=" + joined(texts, false, separator, esc)}, nil
}

// deep writes name[key]=value, further levels likewise.
func (p parameter) deep(name string, value json.RawMessage, depth int) ([]string, error) {
	list, err := members(value)
	if err != nil {
		return nil, err
	}
	if list == nil || depth > 16 {
		texts, _, isList, err := parts(value)
		if err != nil {
			return nil, err
		}
		if isList {
			out := make([]string, len(texts))
			for i, t := range texts {
				out[i] = name + "=" + escape(t)
			}
			return out, nil
		}
		text, err := scalar(value)
		return []string{name + "=" + escape(text)}, err
	}
	var out []string
	for _, m := range list {
		more, err := p.deep(name+"%5B"+escape(m.name)+"%5D", m.value, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// inHeader is a header's or a cookie's value.
func (p parameter) inHeader(value json.RawMessage, esc func(string) string) (string, error) {
	if p.json {
		text, err := compact(value)
		return esc(text), err
	}
	texts, isObject, _, err := parts(value)
	if err != nil {
		return "", err
	}
	out := joined(texts, isObject && p.explode, ",", esc)
	if strings.ContainsAny(out, "\r\n\x00") {
		return "", fmt.Errorf("a header cannot hold a line end")
	}
	return out, nil
}

func compact(value json.RawMessage) (string, error) {
	var out bytes.Buffer
	err := json.Compact(&out, value)
	return out.String(), err
}

// escape is percent encoding of all but the unreserved characters.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// escapeReserved leaves what RFC 3986 reserves as it is, except what would end
// the value.
func escapeReserved(s string) string {
	out := escape(s)
	for _, c := range ":/?@!$'()*,;[]" {
		out = strings.ReplaceAll(out, escape(string(c)), string(c))
	}
	return out
}

func same(s string) string { return s }
