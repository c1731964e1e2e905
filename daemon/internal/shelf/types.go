package shelf

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

type kind int

const (
	kindAny kind = iota // JSON when it reads as JSON, else a text
	kindString
	kindNumber
	kindInteger
	kindBoolean
	kindObject
	kindJSON
	kindArray
	kindEnum
)

// Type is the type of a parameter. The zero value takes anything.
type Type struct {
	kind  kind
	of    *Type             // of an array's elements
	words []json.RawMessage // of an enum
}

// ParseType reads a type as JSDoc and TypeScript write it; empty is string.
// known is false for one that is not known, which then takes anything.
func ParseType(text string) (t Type, known bool) {
	text = strings.TrimSpace(text)
	for strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		text = strings.TrimSpace(text[1 : len(text)-1])
	}
	switch strings.TrimPrefix(text, "!") {
	case "", "string", "String":
		return Type{kind: kindString}, true
	case "number", "Number", "float":
		return Type{kind: kindNumber}, true
	case "integer", "int", "bigint":
		return Type{kind: kindInteger}, true
	case "boolean", "Boolean", "bool":
		return Type{kind: kindBoolean}, true
	case "object", "Object":
		return Type{kind: kindObject}, true
	case "json", "JSON":
		return Type{kind: kindJSON}, true
	case "array", "Array":
		return Type{kind: kindArray, of: &Type{}}, true
	case "any", "unknown", "*":
		return Type{}, true
	}
	inner, isArray := strings.CutSuffix(text, "[]")
	if !isArray && strings.HasPrefix(text, "Array<") && strings.HasSuffix(text, ">") {
		inner, isArray = text[len("Array<"):len(text)-1], true
	}
	if isArray {
		of, ok := ParseType(inner)
		return Type{kind: kindArray, of: &of}, ok && inner != ""
	}
	return parseEnum(text)
}

// parseEnum reads a union of literals: "a"|'b'|3|true.
func parseEnum(text string) (Type, bool) {
	t := Type{kind: kindEnum}
	for rest := text; ; {
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return Type{}, false
		}
		var word string
		if q := rest[0]; q == '"' || q == '\'' {
			end := strings.IndexByte(rest[1:], q)
			if end < 0 {
				return Type{}, false
			}
			quoted, _ := json.Marshal(rest[1 : 1+end]) // a string always marshals
			word, rest = string(quoted), rest[end+2:]
		} else {
			end := strings.IndexByte(rest, '|')
			if end < 0 {
				end = len(rest)
			}
			word, rest = strings.TrimSpace(rest[:end]), rest[end:]
			if !json.Valid([]byte(word)) || strings.ContainsAny(word[:1], "{[") {
				return Type{}, false
			}
		}
		t.words = append(t.words, json.RawMessage(word))
		if rest = strings.TrimSpace(rest); rest == "" {
			return t, true
		}
		var more bool
		if rest, more = strings.CutPrefix(rest, "|"); !more {
			return Type{}, false
		}
	}
}

// TS is the type as TypeScript writes it.
func (t Type) TS() string {
	switch t.kind {
	case kindString:
		return "string"
	case kindNumber, kindInteger:
		return "number"
	case kindBoolean:
		return "boolean"
	case kindObject:
		return "object"
	case kindArray:
		if inner := t.of.TS(); t.of.kind != kindEnum {
			return inner + "[]"
		}
		return "(" + t.of.TS() + ")[]"
	case kindEnum:
		words := make([]string, len(t.words))
		for i, w := range t.words {
			words[i] = string(w)
		}
		return strings.Join(words, " | ")
	}
	return "any"
}

// Words say what a value must be, for a message.
func (t Type) Words() string {
	switch t.kind {
	case kindString:
		return "a string"
	case kindNumber:
		return "a number"
	case kindInteger:
		return "a whole number"
	case kindBoolean:
		return "true or false"
	case kindObject:
		return "a JSON object"
	case kindJSON:
		return "JSON"
	case kindArray:
		return "a JSON array (" + t.TS() + ")"
	case kindEnum:
		return "one of " + t.TS()
	}
	return "a value"
}

var errUnfit = errors.New("it does not fit")

// Read makes a word of a command line a value, as JSON.
func (t Type) Read(word string) (json.RawMessage, error) {
	text := json.RawMessage(strings.TrimSpace(word))
	switch t.kind {
	case kindString:
		return quoted(word), nil
	case kindAny:
		if json.Valid(text) {
			return text, nil
		}
		return quoted(word), nil
	case kindEnum:
		for _, w := range t.words {
			if bytes.Equal(w, text) || bytes.Equal(w, quoted(word)) {
				return w, nil
			}
		}
		return nil, errUnfit
	}
	if !json.Valid(text) || !t.Fits(text) {
		return nil, errUnfit
	}
	return text, nil
}

func quoted(word string) json.RawMessage {
	text, _ := json.Marshal(word) // a string always marshals
	return text
}

// Fits reports whether a value, as valid JSON, is of the type.
func (t Type) Fits(value json.RawMessage) bool {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return false
	}
	switch first := value[0]; t.kind {
	case kindString:
		return first == '"'
	case kindNumber, kindInteger:
		n, err := strconv.ParseFloat(string(value), 64)
		return err == nil && (t.kind == kindNumber || n == math.Trunc(n)) && (first == '-' || first >= '0' && first <= '9')
	case kindBoolean:
		return first == 't' || first == 'f'
	case kindObject:
		return first == '{'
	case kindArray:
		var elements []json.RawMessage
		if first != '[' || json.Unmarshal(value, &elements) != nil {
			return false
		}
		for _, e := range elements {
			if !t.of.Fits(e) {
				return false
			}
		}
		return true
	case kindEnum:
		for _, w := range t.words {
			if bytes.Equal(w, value) {
				return true
			}
		}
		// The same string may be written in several ways.
		var text string
		if first != '"' || json.Unmarshal(value, &text) != nil {
			return false
		}
		_, err := t.Read(text)
		return err == nil
	}
	return true
}
