package catalog

import (
	"fmt"
	"strings"
	"testing"
)

func TestEveryMistakeIsToldOnceWithItsPlace(t *testing.T) {
	nested := `{"type":"object","properties":{
		"path":{"type":"string"},"head":{"type":"integer","minimum":1},"mode":{"enum":["text","binary"]},
		"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"}},"required":["old","new"],"additionalProperties":false}}},
		"required":["path","mode"],"additionalProperties":false}`
	for _, c := range []struct {
		schema, value string
		want          []string
	}{
		{nested, `{"pth":"x","head":"5","mode":"txt"}`, []string{
			`: missing properties: ["path"] ("pth" is no property: did you mean "path"?)`,
			`/head: got "5", want integer (write 5 without quotes)`,
			`/mode: got "txt", value must be one of ["text","binary"] (did you mean "text"?)`,
			`: additional properties ["pth"] not allowed ("pth": did you mean "path"?)`,
		}},
		{nested, `{"path":"x","mode":"text","edits":[{"old":"a","new":"b"},{"old":1},{"odl":"a","new":"b"}]}`, []string{
			`/edits/1: missing properties: ["new"]`, `/edits/1/old: got 1, want string (write "1")`,
			`/edits/2: missing properties: ["old"] ("odl" is no property: did you mean "old"?)`,
			`/edits/2: additional properties ["odl"] not allowed ("odl": did you mean "old"?)`,
		}},
		{nested, `{"path":null,"mode":"text"}`, []string{`/path: got null, want string (leave it out where there is nothing to say)`}},
		{nested, `{"path":"p","mode":"text","edits":"[{\"old\":\"a\",\"new\":\"b\"}]"}`, []string{
			`/edits: got "[{\"old\":\"a\",\"new\":\"b\"}]", want array (give the array itself, not its text)`}},
		{`{"properties":{"tags":{"type":"array"}}}`, `{"tags":"a"}`, []string{`/tags: got "a", want array (write ["a"])`}},
		{`{"properties":{"on":{"type":"boolean"}}}`, `{"on":"true"}`, []string{`/on: got "true", want boolean (write true without quotes)`}},
		{`{"properties":{"on":{"type":"boolean"}}}`, `{"on":"yes"}`, []string{`/on: got "yes", want boolean`}},
		{`{"properties":{"id":{"type":"string"}}}`, `{"id":90071992547409931}`, []string{`/id: got number, want string (write it in quotes)`}},
		{`{"allOf":[{"required":["a"]},{"properties":{"b":{"type":"null"}}}]}`, `{"b":1}`, []string{`: missing properties: ["a"]`, `/b: got 1, want null`}},
		{`{"$ref":"#/$defs/x","required":["a"],"$defs":{"x":{"required":["b"]}}}`, `{}`, []string{`: missing properties: ["a"]`, `: missing properties: ["b"]`}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/x","required":["a"],"definitions":{"x":{"required":["b"]}}}`, `{}`, []string{`: missing properties: ["b"]`}},
		{`{"additionalProperties":false}`, `{"a":1}`, []string{`: additional properties ["a"] not allowed (it has no properties)`}},
		{`{"properties":{"path":true},"additionalProperties":false}`, `{"zzz":1}`, []string{`: additional properties ["zzz"] not allowed (there are path)`}},
		// what Go's expressions do not have is left to the server; the rest is checked
		{`{"properties":{"mail":{"type":"string","pattern":"^(?!\\.)(?!.*\\.\\.).+$"},"n":{"type":"number"}}}`, `{"mail":"x","n":"1"}`, []string{`/n: got "1", want number (write 1 without quotes)`}},
	} {
		bad, err := compiled(t, c.schema).check([]byte(c.value))
		var told []string
		for _, b := range bad {
			line := b.Pointer + ": " + b.Message
			if b.Advice != "" {
				line += " (" + b.Advice + ")"
			}
			told = append(told, line)
		}
		if err != nil || strings.Join(told, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n%s\n%v; want\n%s", c.value, strings.Join(told, "\n"), err, strings.Join(c.want, "\n"))
		}
	}
}

func TestManyMistakesAreBounded(t *testing.T) {
	var properties, value strings.Builder
	for i := range 30 {
		fmt.Fprintf(&properties, `"p%03d":{"type":"object","properties":{"x":{"type":"string"}}},`, i)
		fmt.Fprintf(&value, `"p%03d":{"x":%d},`, i, i)
	}
	bad, err := compiled(t, `{"properties":{`+strings.TrimSuffix(properties.String(), ",")+`}}`).check([]byte(`{` + strings.TrimSuffix(value.String(), ",") + `}`))
	// On a busy machine the time to look may be over before so many are found.
	if err != nil || len(bad) == 0 || len(bad) > maxMistakes || bad[0].Pointer != "/p000/x" {
		t.Errorf("%d mistakes: %+v, %v", len(bad), bad, err)
	}
}
