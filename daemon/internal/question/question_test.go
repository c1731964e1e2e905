package question

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const everyField = `{"message":"Who?","requestedSchema":{"type":"object","properties":{
	"name":{"type":"string","minLength":2,"maxLength":5,"title":"Your name"},
	"mail":{"type":"string","format":"email"},
	"day":{"type":"string","format":"date"},
	"code":{"type":"string","pattern":"^[a-z]+$"},
	"age":{"type":"integer","minimum":18,"maximum":99},
	"score":{"type":"number","default":95.5},
	"sure":{"type":"boolean","default":true},
	"colour":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"],"default":"g"},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},
	"many":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]},"minItems":1,"maxItems":1},
	"plain":{"type":"array","items":{"type":"string","enum":["x","y"]}}
},"required":["name"]}}`

func read(t *testing.T, params string) *Question {
	t.Helper()
	q, err := Read(Elicitation, json.RawMessage(params))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestAFormIsReadInTheOrderOfItsSchema(t *testing.T) {
	q := read(t, everyField)
	var names []string
	for _, f := range q.Fields {
		names = append(names, f.Name+":"+string(f.Type))
	}
	want := "name:text mail:text day:text code:text age:integer score:number sure:yes colour:choice size:choice many:choices plain:choices"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s", got)
	}
	if f := q.Fields[7]; f.Options[1] != (Option{"g", "Green"}) || string(f.Default) != `"g"` {
		t.Errorf("got %+v", f)
	}
	if !q.Fields[0].Required || q.Fields[1].Required {
		t.Error("required is wrong")
	}
}

func TestAnAnswerHasWhatWasAskedForAndDefaultsOfTheRest(t *testing.T) {
	q := read(t, everyField)
	got, err := q.Check(json.RawMessage(`{"action":"accept","content":{"age":20,"name":"Ann","many":["a"]},"_meta":{}}`))
	want := `{"action":"accept","content":{"name":"Ann","age":20,"score":95.5,"sure":true,"colour":"g","many":["a"]}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	for action, want := range map[string]string{
		`{"action":"decline","content":{"name":7}}`: `{"action":"decline"}`,
		`{"action":"cancel"}`:                       `{"action":"cancel"}`,
	} {
		if got, err := q.Check(json.RawMessage(action)); err != nil || string(got) != want {
			t.Errorf("%s gave %s, %v", action, got, err)
		}
	}
}

func TestAnAnswerThatDoesNotFitIsRefusedByField(t *testing.T) {
	q := read(t, everyField)
	for content, want := range map[string]string{
		`{}`:                               `field "name" is missing`,
		`{"name":null}`:                    `field "name" is missing`,
		`{"name":7}`:                       `field "name" must be a text`,
		`{"name":"A"}`:                     `at least 2 characters`,
		`{"name":"Anabel"}`:                `at most 5 characters`,
		`{"name":"Ann","mail":"x"}`:        `name@example.com`,
		`{"name":"Ann","mail":"A <a@b>"}`:  `name@example.com`,
		`{"name":"Ann","day":"tomorrow"}`:  `2026-01-31`,
		`{"name":"Ann","code":"A1"}`:       `must match`,
		`{"name":"Ann","age":17}`:          `at least 18`,
		`{"name":"Ann","age":20.5}`:        `whole number`,
		`{"name":"Ann","age":"20"}`:        `must be a number`,
		`{"name":"Ann","score":1e999}`:     `ordinary size`,
		`{"name":"Ann","sure":"yes"}`:      `true or false`,
		`{"name":"Ann","colour":"Red"}`:    `one of the values`,
		`{"name":"Ann","many":[]}`:         `at least 1`,
		`{"name":"Ann","many":["a","b"]}`:  `at most 1`,
		`{"name":"Ann","plain":["x","x"]}`: `each once`,
		`{"name":"Ann","extra":1}`:         `"extra" was not asked for`,
		`[]`:                               `not an object`,
	} {
		if got, err := q.Check(json.RawMessage(`{"action":"accept","content":` + content + `}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %s, %v; want %q", content, got, err, want)
		}
	}
	for _, result := range []string{`{}`, `{"action":"yes"}`, `[]`, `{"action":"accept","content":{"name":"` + strings.Repeat("x", MaxForm) + `"}}`} {
		if got, err := q.Check(json.RawMessage(result)); err == nil {
			t.Errorf("%.60s gave %s", result, got)
		}
	}
}

func TestAPageIsConsentedToWithoutContent(t *testing.T) {
	q := read(t, `{"mode":"url","message":"Sign in","url":"https://example.com/login?x=1","elicitationId":"e1"}`)
	if q.ID != "e1" || q.Host() != "example.com" || q.Fields != nil {
		t.Errorf("got %+v", q)
	}
	if got, err := q.Check(json.RawMessage(`{"action":"accept","content":{"secret":"x"}}`)); err != nil || string(got) != `{"action":"accept"}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestAQuestionThatCannotBePutIsRefused(t *testing.T) {
	for params, want := range map[string]string{
		`[]`:                             "cannot be read",
		`{"message":"m","mode":"voice"}`: `"voice" is neither`,
		`{"message":"m","mode":"url"}`:   "whole address",
		`{"message":"m","mode":"url","url":"javascript:alert(1)"}`:                                                          "whole address",
		`{"message":"m","mode":"url","url":"file://host/etc/passwd"}`:                                                       `"file"`,
		`{"message":"m","mode":"url","url":"https://bank.com@evil.example/"}`:                                               "names a user",
		`{"message":"m","mode":"url","url":"https://a.example/\u001b[2J"}`:                                                  "whole address",
		`{"message":"m","requestedSchema":{"type":"string"}}`:                                                               "type object",
		`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}`:                          `"a": type "object"`,
		`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}}`: `"a": only a list`,
		`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":["string","null"]}}}}`:                 "flat ones",
		`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"number"}}}}`:    "twice",
		`{"message":"m","requestedSchema":{"type":"object","properties":{},"required":["b"]}}`:                              `"b" is required and not described`,
	} {
		if q, err := Read(Elicitation, json.RawMessage(params)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %+v, %v; want %q", params, q, err, want)
		}
	}
	if _, err := Read(Elicitation, json.RawMessage(`{"message":"`+strings.Repeat("x", MaxForm)+`"}`)); err == nil {
		t.Error("a question beyond the limit was read")
	}
}

func TestADefaultThatDoesNotFitIsNone(t *testing.T) {
	q := read(t, `{"message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","default":"many"}}}}`)
	if q.Fields[0].Default != nil {
		t.Errorf("got %s", q.Fields[0].Default)
	}
	if got, err := q.Check(json.RawMessage(`{"action":"accept"}`)); err != nil || string(got) != `{"action":"accept","content":{}}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestSamplingIsReadAndItsAnswerChecked(t *testing.T) {
	q, err := Read(Sampling, json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}`))
	if err != nil {
		t.Fatal(err)
	}
	good := `{"role":"assistant","content":{"type":"text","text":"ho"},"model":"m"}`
	if got, err := q.Check(json.RawMessage(good)); err != nil || string(got) != good {
		t.Errorf("got %s, %v", got, err)
	}
	for _, bad := range []string{`{}`, `[]`, `{"role":"system","content":{},"model":"m"}`, `{"role":"assistant","model":"m"}`} {
		if _, err := q.Check(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	for _, params := range []string{`{}`, `{"messages":[{}]}`, `{"messages":[{}],"maxTokens":1,"tools":[]}`, `{"messages":[],"maxTokens":1}`} {
		if _, err := Read(Sampling, json.RawMessage(params)); err == nil {
			t.Errorf("%s was read", params)
		}
	}
}

// Whatever a server sends, an answer that passes fits its own question again.
func FuzzAnswersFitTheirQuestion(f *testing.F) {
	f.Add(everyField, `{"action":"accept","content":{"name":"Ann","age":20}}`)
	f.Add(`{"message":"m"}`, `{"action":"accept"}`)
	f.Fuzz(func(t *testing.T, params, result string) {
		q, err := Read(Elicitation, json.RawMessage(params))
		if err != nil {
			return
		}
		once, err := q.Check(json.RawMessage(result))
		if err != nil {
			return
		}
		twice, err := q.Check(once)
		if err != nil || string(twice) != string(once) {
			t.Errorf("%s became %s, %v", once, twice, err)
		}
	})
}
