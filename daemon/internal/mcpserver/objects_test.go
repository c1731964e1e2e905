package mcpserver

import (
	"encoding/json"
	"testing"
)

func TestOlderClientsGetObjectsWhereTheyExpectThem(t *testing.T) {
	for result, want := range map[string]string{
		`{"content":[],"structuredContent":{"a":1}}`:          `{"content":[],"structuredContent":{"a":1}}`,
		`{"content":[],"structuredContent":[1],"x":1}`:        `{"content":[],"x":1}`,
		`{"content":[],"structuredContent": "text"}`:          `{"content":[]}`,
		`{"content":[{"text":"\"structuredContent\""}] }`:     `{"content":[{"text":"\"structuredContent\""}] }`,
		`{"content":[{"type":"text","structuredContent":1}]}`: `{"content":[{"type":"text","structuredContent":1}]}`,
	} {
		if got := string(objectResult(json.RawMessage(result))); got != want {
			t.Errorf("%s: %s", result, got)
		}
	}
	for schema, keep := range map[string]bool{`{"type":"object"}`: true, `{"type":"string"}`: false, `{"anyOf":[]}`: false, `true`: false, ``: false, `{"type":["object","null"]}`: false} {
		if got := objectSchema(json.RawMessage(schema)); (got != nil) != keep {
			t.Errorf("%s: %s", schema, got)
		}
	}
}
