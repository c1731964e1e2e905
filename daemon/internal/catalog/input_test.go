package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/upstream"
)

func TestInputIsCheckedInTheSchemasWords(t *testing.T) {
	l, _ := build([]upstream.Tool{tool("echo", `{"type":"object","properties":{
		"text":{"type":"string","description":"what to say"},"n":{"type":"integer","minimum":1},"a/b":{"type":"string"},
		"color":{"enum":["red",null,42,true]}},"required":["text"],"additionalProperties":false}`)})
	one := l.Named("echo")
	for _, c := range []struct{ args, pointer, words string }{
		{`{"text":"x"}`, "", ""},
		{`{"text":"x","n":12345678901234567890}`, "", ""},
		{`{"text":"x","color":null}`, "", ""},
		{`{"text":"x","color":42}`, "", ""},
		{`{"text":"x","color":"blue"}`, "/color", "value must be one of"},
		{`{}`, "", `missing properties: ["text"]`},
		{`{"text":5}`, "/text", "got 5, want string"},
		{`{"text":"x","n":0}`, "/n", "minimum"},
		{`{"text":"x","a/b":1}`, "/a~1b", "want string"},
		{`{"text":"x","txt":"y"}`, "", `additional properties ["txt"] not allowed`},
		{`{"text":`, "", "not valid JSON"},
	} {
		bad, note := one.CheckInput([]byte(c.args))
		if note != "" {
			t.Fatalf("note: %s", note)
		}
		if c.words == "" {
			if bad != nil {
				t.Errorf("%s: %+v, want it accepted", c.args, bad)
			}
			continue
		}
		if len(bad) != 1 || bad[0].Pointer != c.pointer || !strings.Contains(bad[0].Message, c.words) {
			t.Errorf("%s: %+v, want %q at %q", c.args, bad, c.words, c.pointer)
		}
	}
	if got := one.Property("/text/x"); got != "what to say" {
		t.Errorf("Property = %q", got)
	}
}

func TestOddSchemasNeverFailACall(t *testing.T) {
	chain := strings.Builder{}
	chain.WriteString(`{"$defs":{`)
	for i := 0; i < 10_000; i++ {
		fmt.Fprintf(&chain, `"r%d":{"$ref":"#/$defs/r%d"},`, i, i+1)
	}
	chain.WriteString(`"r10000":{"type":"string"}},"properties":{"v":{"$ref":"#/$defs/r0"}}}`)
	doubling := strings.Builder{} // each level is held against the value twice as often as the one above
	doubling.WriteString(`{"$defs":{`)
	for i := 0; i < 60; i++ {
		fmt.Fprintf(&doubling, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	doubling.WriteString(`"d60":{"type":"string"}},"properties":{"v":{"$ref":"#/$defs/d0"}}}`)
	schemas := map[string]string{
		"doubling":             doubling.String(),
		"boolean properties":   `{"type":"object","properties":{"x":true}}`,
		"null properties":      `{"type":"object","properties":null}`,
		"empty":                `{}`,
		"none":                 ``,
		"nullable object":      `{"type":["object","null"]}`,
		"endless references":   `{"$defs":{"A":{"allOf":[{"$ref":"#/$defs/B"}]},"B":{"allOf":[{"$ref":"#/$defs/A"}]}},"properties":{"v":{"$ref":"#/$defs/A"}}}`,
		"itself":               `{"$ref":"#"}`,
		"reference to nowhere": `{"properties":{"v":{"$ref":"#/$defs/none"}}}`,
		"remote reference":     `{"properties":{"v":{"$ref":"https://example.invalid/s.json"}}}`,
		"local file":           `{"properties":{"v":{"$ref":"file:///etc/passwd"}}}`,
		"unknown dialect":      `{"$schema":"https://example.invalid/schema","properties":{"v":{"type":"string"}}}`,
		"look-ahead":           `{"properties":{"v":{"type":"string","pattern":"^(?!x).*$"}}}`,
		"tree":                 `{"$defs":{"T":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/T"}}}}},"properties":{"t":{"$ref":"#/$defs/T"}}}`,
		"wrong type word":      `{"type":"strng"}`,
		"not a schema":         `"text"`,
		"not JSON":             `{`,
		"long chain":           chain.String(),
	}
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			l, problem := build([]upstream.Tool{tool("t", schema)})
			if problem != "" {
				t.Fatal(problem)
			}
			start := time.Now()
			bad, _ := l.Named("t").CheckInput([]byte(`{"v":"text","x":1}`))
			if bad != nil {
				t.Errorf("refused: %+v", bad)
			}
			_ = Signature("ns", l.Named("t"))
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
	l, _ := build([]upstream.Tool{tool("t", schemas["reference to nowhere"])})
	if _, note := l.Named("t").CheckInput([]byte(`{}`)); !strings.Contains(note, "cannot be used") {
		t.Errorf("note = %q; want a warning", note)
	}
	many, _ := build([]upstream.Tool{tool("t", `{"properties":{"v":{"anyOf":[`+strings.Repeat(`{"const":1},`, 500)+`{"const":2}]}}}`)})
	if bad, _ := many.Named("t").CheckInput([]byte(`{"v":3}`)); bad == nil {
		t.Error("hundreds of alternatives are still checked")
	}
	tree, _ := build([]upstream.Tool{tool("t", schemas["tree"])})
	if bad, _ := tree.Named("t").CheckInput([]byte(`{"t":{"children":[{"children":[5]}]}}`)); len(bad) != 1 || bad[0].Pointer != "/t/children/0/children/0" {
		t.Errorf("a recursive schema is still checked: %+v", bad)
	}
}
