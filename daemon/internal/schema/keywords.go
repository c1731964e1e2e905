package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// keywords compile what is known; whatever else stands in a schema is a remark.
var keywords map[string]func(k *keyword, v any) error

func init() { // a keyword compiles the schemas in it
	keywords = map[string]func(k *keyword, v any) error{
		"type": (*keyword).types, "enum": (*keyword).enum, "const": (*keyword).constant,

		"allOf": listOf(func(n *node) *[]*node { return &n.allOf }),
		"anyOf": listOf(func(n *node) *[]*node { return &n.anyOf }),
		"oneOf": listOf(func(n *node) *[]*node { return &n.oneOf }),
		"not":   one(func(n *node) **node { return &n.not }),
		"if":    one(func(n *node) **node { return &n.when }),
		"then":  one(func(n *node) **node { return &n.then }),
		"else":  one(func(n *node) **node { return &n.else_ }),

		"minimum":          bound("exclusiveMinimum", func(n *node) (with, without **big.Rat) { return &n.minimum, &n.above }),
		"maximum":          bound("exclusiveMaximum", func(n *node) (with, without **big.Rat) { return &n.maximum, &n.below }),
		"exclusiveMinimum": exclusive(func(n *node) **big.Rat { return &n.above }),
		"exclusiveMaximum": exclusive(func(n *node) **big.Rat { return &n.below }),
		"multipleOf":       (*keyword).multiple,

		"minLength":     count(func(n *node) *int { return &n.minLength }),
		"maxLength":     count(func(n *node) *int { return &n.maxLength }),
		"minItems":      count(func(n *node) *int { return &n.minItems }),
		"maxItems":      count(func(n *node) *int { return &n.maxItems }),
		"minContains":   count(func(n *node) *int { return &n.minContains }),
		"maxContains":   count(func(n *node) *int { return &n.maxContains }),
		"minProperties": count(func(n *node) *int { return &n.minProps }),
		"maxProperties": count(func(n *node) *int { return &n.maxProps }),
		"pattern":       (*keyword).pattern,

		"prefixItems":      listOf(func(n *node) *[]*node { return &n.prefix }),
		"items":            (*keyword).items,
		"additionalItems":  (*keyword).additionalItems,
		"contains":         one(func(n *node) **node { return &n.contains }),
		"uniqueItems":      (*keyword).unique,
		"unevaluatedItems": last(func(n *node) **node { return &n.unevaluatedItems }),

		"properties":            (*keyword).properties,
		"patternProperties":     (*keyword).patternProperties,
		"additionalProperties":  one(func(n *node) **node { return &n.additional }),
		"propertyNames":         one(func(n *node) **node { return &n.names }),
		"required":              (*keyword).required,
		"dependentRequired":     (*keyword).dependencies,
		"dependentSchemas":      (*keyword).dependencies,
		"dependencies":          (*keyword).dependencies,
		"unevaluatedProperties": last(func(n *node) **node { return &n.unevaluated }),

		"definitions": (*keyword).definitions, "$defs": (*keyword).definitions,
		"$dynamicRef": (*keyword).unknown, "$recursiveRef": (*keyword).unknown,
	}
}

func one(field func(*node) **node) func(*keyword, any) error {
	return func(k *keyword, v any) (err error) {
		*field(k.n), err = k.sub(v)
		return err
	}
}

// last is one for the keywords that ask what others have looked at.
func last(field func(*node) **node) func(*keyword, any) error {
	return func(k *keyword, v any) error {
		k.unevaluated = true
		return one(field)(k, v)
	}
}

func listOf(field func(*node) *[]*node) func(*keyword, any) error {
	return func(k *keyword, v any) (err error) {
		*field(k.n), err = k.list(v)
		return err
	}
}

func count(field func(*node) *int) func(*keyword, any) error {
	return func(k *keyword, v any) (err error) {
		*field(k.n), err = k.limit(v)
		return err
	}
}

// bound is minimum or maximum. Draft-04 has the exclusive form as a flag.
func bound(flag string, field func(*node) (with, without **big.Rat)) func(*keyword, any) error {
	return func(k *keyword, v any) error {
		r, err := k.number(v)
		if err != nil {
			return err
		}
		with, without := field(k.n)
		if k.schema[flag] == true {
			with = without
		}
		*with = r
		return nil
	}
}

func exclusive(field func(*node) **big.Rat) func(*keyword, any) error {
	return func(k *keyword, v any) (err error) {
		if _, flag := v.(bool); flag {
			return nil // belongs to minimum or maximum
		}
		*field(k.n), err = k.number(v)
		return err
	}
}

func (k *keyword) multiple(v any) error {
	r, err := k.number(v)
	if err == nil && r.Sign() <= 0 {
		err = k.ill("more than 0")
	}
	k.n.multipleOf = r
	return err
}

func (k *keyword) types(v any) error {
	list := []string{}
	if word, ok := v.(string); ok {
		list = append(list, word)
	} else {
		var err error
		if list, err = k.names(v); err != nil {
			return k.ill("a type")
		}
	}
	for _, word := range list {
		if !slices.Contains(typeNames, word) {
			return k.ill("a type")
		}
	}
	k.n.types = list
	return nil
}

// maxChoices bounds how many values of an enum a message lists.
const maxChoices = 10

func (k *keyword) enum(v any) error {
	list, ok := v.([]any)
	if !ok {
		return k.ill("a list of values")
	}
	texts := make(map[string]bool, len(list))
	var words []string
	for i, each := range list {
		texts[canonical(each)] = true
		if i < maxChoices {
			words = append(words, choice(each))
		}
	}
	if len(list) > maxChoices {
		words = append(words, "…")
	}
	k.choose(texts, "one of "+strings.Join(words, ", "))
	return nil
}

func (k *keyword) constant(v any) error {
	k.choose(map[string]bool{canonical(v): true}, choice(v))
	return nil
}

// choose adds a set of allowed values; where enum and const meet, both hold.
func (k *keyword) choose(texts map[string]bool, words string) {
	if k.n.enum != nil {
		maps.DeleteFunc(texts, func(text string, _ bool) bool { return !k.n.enum[text] })
		words = k.n.words + " and " + words
	}
	k.n.enum, k.n.words = texts, words
}

func choice(v any) string {
	if s, ok := v.(string); ok {
		return "'" + s + "'"
	}
	raw, _ := json.Marshal(v) // it came from JSON
	return string(raw)
}

func (k *keyword) pattern(v any) error {
	text, ok := v.(string)
	if !ok {
		return k.ill("a pattern")
	}
	k.n.pattern = newPattern(text)
	return nil
}

// items is a schema for all items after prefixItems; until 2019-09 it can be
// the list that prefixItems is now.
func (k *keyword) items(v any) (err error) {
	if _, list := v.([]any); list {
		k.n.prefix, err = k.list(v)
		return err
	}
	k.n.items, err = k.sub(v)
	return err
}

func (k *keyword) additionalItems(v any) error {
	n, err := k.sub(v)
	if _, list := k.schema["items"].([]any); list {
		k.n.items = n
	}
	return err
}

func (k *keyword) unique(v any) error {
	var ok bool
	if k.n.unique, ok = v.(bool); !ok {
		return k.ill("true or false")
	}
	return nil
}

func (k *keyword) properties(v any) (err error) {
	k.n.properties, err = k.table(v)
	k.n.order = slices.Sorted(maps.Keys(k.n.properties))
	return err
}

func (k *keyword) patternProperties(v any) error {
	table, err := k.table(v)
	for text, n := range sorted(table) {
		k.n.patterns = append(k.n.patterns, patternProperty{newPattern(text), n})
	}
	return err
}

func (k *keyword) required(v any) (err error) {
	if _, flag := v.(bool); flag {
		return nil // draft-03, and a common slip: it asks nothing of this value
	}
	k.n.required, err = k.names(v)
	return err
}

// dependencies are schemas or lists of names; the newer dialects have a keyword
// for each.
func (k *keyword) dependencies(v any) error {
	table, ok := v.(map[string]any)
	if !ok {
		return k.ill("an object")
	}
	for name, each := range sorted(table) {
		var err error
		if _, list := each.([]any); list {
			if k.n.dependentRequired == nil {
				k.n.dependentRequired = map[string][]string{}
			}
			k.n.dependentRequired[name], err = k.names(each)
		} else {
			if k.n.dependent == nil {
				k.n.dependent = map[string]*node{}
			}
			k.n.dependent[name], err = k.sub(each, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// definitions are there to be named, by their place or by their own $id.
func (k *keyword) definitions(v any) error {
	table, _ := v.(map[string]any)
	for name, each := range sorted(table) {
		if _, err := k.sub(each, name); err != nil {
			return fmt.Errorf("definition %s: %w", clip(name), err)
		}
	}
	return nil
}

func (k *keyword) unknown(any) error {
	return errors.New(k.key + " is not followed")
}
