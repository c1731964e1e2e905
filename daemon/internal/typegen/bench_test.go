package typegen

import (
	"fmt"
	"testing"
)

// realistic is a schema of the size that servers write: ten properties, some of
// them nested, all described.
const realistic = `{"type":"object","properties":{
"owner":{"type":"string","description":"Repository owner."},"repo":{"type":"string","description":"Repository name."},
"title":{"type":"string","description":"Title of the issue."},"body":{"type":"string","description":"What it says."},
"labels":{"type":"array","items":{"type":"string"},"description":"Labels to apply."},
"state":{"type":"string","enum":["open","closed","all"],"default":"open","description":"State to filter by."},
"page":{"type":"number","minimum":1,"description":"Page number."},"perPage":{"type":"number","minimum":1,"maximum":100,"default":30},
"author":{"$ref":"#/$defs/user"},"assignee":{"$ref":"#/$defs/user"},
"range":{"type":"object","properties":{"from":{"type":"string","format":"date-time"},"to":{"type":"string","format":"date-time"}}}},
"required":["owner","repo","title"],"additionalProperties":false,
"$defs":{"user":{"type":"object","properties":{"login":{"type":"string"},"id":{"type":"integer"}},"required":["login"]}}}`

func BenchmarkDeclare1000Tools(b *testing.B) {
	tools := make([]Tool, 1000)
	for i := range tools {
		name := fmt.Sprintf("tool_%d", i)
		tools[i] = Tool{Name: name, Ident: name, Description: "Creates an issue in a repository.", Input: []byte(realistic), Output: []byte(realistic)}
	}
	spaces := []Namespace{{Server: "s", Name: "s", Bare: true, Listed: true, Tools: tools}}
	b.ReportAllocs()
	for b.Loop() {
		text, _ := Declare(spaces, Options{})
		b.SetBytes(int64(len(text)))
	}
}

func BenchmarkSignature(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Short([]byte(realistic), nil)
	}
}
