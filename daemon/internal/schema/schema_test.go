package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func compiled(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Compile([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func TestViolationsNameThePlace(t *testing.T) {
	for _, c := range []struct{ schema, value, want string }{
		{`{"type":"object"}`, `[]`, ": got array, want object"},
		{`{"type":["object","null"]}`, `1`, ": got number, want object or null"},
		{`{"required":["a","b"]}`, `{}`, ": missing properties 'a', 'b'"},
		{`{"properties":{"a":{"properties":{"b/c":{"type":"string"}}}}}`, `{"a":{"b/c":1}}`, "/a/b~1c: got number, want string"},
		{`{"properties":{"a":{"type":"string"},"b":{"minimum":1.5}}}`, `{"a":1,"b":1}`, "/a: got number, want string; /b: minimum: got 1, want 1.5"},
		{`{"items":{"$ref":"#/$defs/x"},"$defs":{"x":{"maxLength":2}}}`, `["ab","abc"]`, "/1: maxLength: got 3, want 2"},
		{`{"prefixItems":[true,{"type":"boolean"}]}`, `[1,2]`, "/1: got number, want boolean"},
		{`{"additionalProperties":{"type":"integer"}}`, `{"x":1.0,"y":1.5}`, "/y: got number, want integer"},
		{`{"additionalProperties":false,"properties":{"a":true}}`, `{"z":1,"b":1}`, ": additional properties 'b', 'z' not allowed"},
		{`{"properties":{"a":false}}`, `{"a":1}`, "/a: is not allowed"},
		{`{"patternProperties":{"^n":{"exclusiveMinimum":0}}}`, `{"n1":0}`, "/n1: exclusiveMinimum: got 0, want more than 0"},
		{`{"properties":{"v":{"anyOf":[{"type":"string"},{"properties":{"k":{"const":1}}}]}}}`, `{"v":{"k":2}}`, "/v: got object, want string; /v/k: value must be 1"},
		{`{"oneOf":[{"type":"integer"},{"minimum":0}]}`, `5`, ": matches more than one of 2 alternatives"},
		{`{"not":{"required":["a"]}}`, `{"a":1}`, ": matches what it must not match"},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, ": missing property 'b'"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, ": missing property 'b', which 'a' needs"},
		{`{"propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A":1}`, "/A: does not match pattern '^[a-z]+$'"},
		{`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":true}}]}`, `{"a":1,"b":2}`, ": additional properties 'b' not allowed"},
		{`{"enum":["red",null,[1.0,{"a":1}]]}`, `[1,{"a":2}]`, `: value must be one of 'red', null, [1.0,{"a":1}]`},
		{`{"uniqueItems":true}`, `[{"a":1,"b":2},{"b":2.0,"a":1}]`, ": items at 0 and 1 are equal"},
		{`{"contains":{"type":"string"},"maxContains":1}`, `["a","b"]`, ": contains: 2 items match, want no more than 1"},
		{`{"multipleOf":0.01}`, `4.355`, ": multipleOf: got 4.355, want a multiple of 0.01"},
		{`{"maximum":9007199254740992}`, `9007199254740993`, ": maximum: got 9007199254740993, want 9007199254740992"},
		{`{"type":"integer"}`, `{`, ": is not valid JSON"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`, `1`, ": exclusiveMinimum: got 1, want more than 1"},
	} {
		bad, err := compiled(t, c.schema).Check([]byte(c.value))
		if err != nil || bad == nil || bad.Pointer+": "+bad.Message != c.want {
			t.Errorf("%s of %s: %+v, %v; want %q", c.value, c.schema, bad, err, c.want)
		}
	}
}

func TestValuesThatAreFine(t *testing.T) {
	for _, c := range []struct{ schema, value string }{
		{`{"type":"integer"}`, `12345678901234567890123`},
		{`{"type":"integer"}`, `1e2000000000`},
		{`{"const":1e2}`, `100`},
		{`{"enum":["a"],"const":"a"}`, `"a"`},
		{`{"format":"email","contentEncoding":"base64"}`, `"?"`},
		{`{"properties":null,"required":null}`, `{"a":1}`},
		{`{"properties":{"a":{"required":true}}}`, `{"a":{}}`},
		{`{"oneOf":[{"pattern":"^(?!a)"},{"pattern":"^b"}]}`, `"b"`}, // who knows whether the first matches
		{`{"not":{"pattern":"(?=a)"}}`, `"b"`},
		{`{"$id":"T0","properties":{"children":{"items":{"$ref":"T0"}}}}`, `{"children":[{"children":[]}]}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema","$ref":"#/definitions/a","type":"string","definitions":{"a":true}}`, `1`},
	} {
		if bad, err := compiled(t, c.schema).Check([]byte(c.value)); bad != nil || err != nil {
			t.Errorf("%s of %s: %+v, %v", c.value, c.schema, bad, err)
		}
	}
}

func TestSchemasThatCannotBeUsedSayWhy(t *testing.T) {
	for schema, want := range map[string]string{
		`{`:                               "not valid JSON",
		`{} {}`:                           "not valid JSON",
		`"text"`:                          "neither an object nor a boolean",
		`{"type":"strng"}`:                "type in # is not a type",
		`{"properties":{"a":{"type":1}}}`: "type in #/properties/a is not a type",
		`{"properties":[]}`:               "not an object of schemas",
		`{"anyOf":[]}`:                    "not a list of schemas",
		`{"minLength":-1}`:                "not a count",
		`{"$ref":"#/$defs/none"}`:         `"#/$defs/none" is not followed`,
		`{"$ref":"file:///etc/passwd"}`:   "is not followed",
		`{"$dynamicRef":"#a"}`:            "$dynamicRef is not followed",
		`{"$schema":"https://example.invalid/s"}`: "dialect",
	} {
		if _, err := Compile([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", schema, err, want)
		}
	}
}

func TestEveryCheckEnds(t *testing.T) {
	var doubling strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubling, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	value := `{"a":` + strings.Repeat(`[`, 2000) + strings.Repeat(`]`, 2000) + `}`
	for name, schema := range map[string]string{
		"doubling":      `{"$ref":"#/$defs/d0","$defs":{` + doubling.String() + `"d60":true}}`,
		"itself":        `{"$ref":"#"}`,
		"each other":    `{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}`,
		"each part all": `{"additionalProperties":{"$ref":"#"},"items":{"anyOf":[{"$ref":"#"},{"not":{"$ref":"#"}}]},"not":{"type":"string"}}`,
	} {
		start := time.Now()
		bad, err := compiled(t, schema).Check([]byte(value))
		if bad != nil || err != nil && !errors.Is(err, ErrGaveUp) {
			t.Errorf("%s: %+v, %v", name, bad, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}

// FuzzCheck: whatever the schema and the value, there is an answer, and the
// words of a refusal lead to a part of the value.
func FuzzCheck(f *testing.F) {
	f.Add(`{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"a":{"b":1}}`)
	f.Add(`{"items":[{"type":"string"}],"unevaluatedItems":{"multipleOf":3}}`, `["x",4]`)
	f.Add(`{"oneOf":[{"pattern":"a+"},{"const":1e3}],"$anchor":"x"}`, `1000`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := Compile([]byte(schema))
		if err != nil {
			return
		}
		bad, _ := s.Check([]byte(value))
		if bad == nil {
			return
		}
		if bad.Message == "" {
			t.Error("a refusal without words")
		}
		var v any
		if json.Unmarshal([]byte(value), &v) == nil {
			if _, ok := lookUp(v, bad.Pointer); !ok {
				t.Errorf("%q leads nowhere in %s", bad.Pointer, value)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	s, err := Compile([]byte(`{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer","minimum":0}},"required":["text"],"additionalProperties":false}`))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if bad, err := s.Check([]byte(`{"text":"x","n":3}`)); bad != nil || err != nil {
			b.Fatal(bad, err)
		}
	}
}
