package question

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenon/proto"
)

// The actions that answer an elicitation.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel" // dismissed without a choice
)

// Refusal is the answer to an elicitation that brings nothing.
func Refusal(action string) json.RawMessage { return json.RawMessage(`{"action":"` + action + `"}`) }

// Accepted is the answer to a form with these values; it has to be held
// against the question with Check.
func Accepted(values map[string]json.RawMessage) (json.RawMessage, error) {
	return proto.Marshal(map[string]any{"action": Accept, "content": values})
}

// Check holds an answer (an MCP result) against the question and gives it as it
// is to be sent: only what was asked for, in order, with the defaults of fields
// that were left out. The error names the field; it holds nothing of the answer.
func (q *Question) Check(result json.RawMessage) (json.RawMessage, error) {
	if q.Kind == Sampling {
		return checkSampling(result)
	}
	if len(result) > MaxForm {
		return nil, fmt.Errorf("the answer is longer than %d bytes", MaxForm)
	}
	var r struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return nil, fmt.Errorf("the answer cannot be read")
	}
	switch r.Action {
	case Decline, Cancel:
		return Refusal(r.Action), nil
	case Accept:
	default:
		return nil, fmt.Errorf("the answer's action is none of accept, decline, cancel")
	}
	if q.URL != "" { // the page takes what there is to say
		return Refusal(Accept), nil
	}
	return q.checkContent(r.Content)
}

func (q *Question) checkContent(content json.RawMessage) (json.RawMessage, error) {
	var given map[string]json.RawMessage
	if present(content) && json.Unmarshal(content, &given) != nil {
		return nil, fmt.Errorf("the answer's content is not an object")
	}
	var b bytes.Buffer
	b.WriteString(`{"action":"accept","content":{`)
	some := false
	for _, f := range q.Fields {
		value, ok := given[f.Name]
		delete(given, f.Name)
		if !ok || string(value) == "null" {
			if value = f.Default; value == nil {
				if f.Required {
					return nil, fmt.Errorf("field %q is missing", f.Name)
				}
				continue
			}
		}
		value, err := f.Check(value)
		if err != nil {
			return nil, fmt.Errorf("field %q %w", f.Name, err)
		}
		name, err := proto.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		if some {
			b.WriteByte(',')
		}
		some = true
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	for name := range given {
		return nil, fmt.Errorf("field %.80q was not asked for", name)
	}
	b.WriteString("}}")
	return b.Bytes(), nil
}

// Check holds one value against the field and gives it in one way of writing.
// Errors read on from the field's name: "must be a number".
func (f *Field) Check(value json.RawMessage) (json.RawMessage, error) {
	switch f.Type {
	case Yes:
		var v bool
		if json.Unmarshal(value, &v) != nil {
			return nil, fmt.Errorf("must be true or false")
		}
		return proto.Marshal(v)
	case Number, Integer:
		return f.checkNumber(value)
	case Choices:
		return f.checkChoices(value)
	}
	var v string
	if json.Unmarshal(value, &v) != nil {
		return nil, fmt.Errorf("must be a text")
	}
	if f.Type == Choice {
		if !f.offers(v) {
			return nil, fmt.Errorf("must be one of the values that are offered")
		}
		return proto.Marshal(v)
	}
	if err := f.checkText(v); err != nil {
		return nil, err
	}
	return proto.Marshal(v)
}

func (f *Field) offers(v string) bool {
	return slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == v })
}

// checkNumber keeps the digits as they were written: a float would lose some of
// a long integer's.
func (f *Field) checkNumber(value json.RawMessage) (json.RawMessage, error) {
	var n json.Number
	if value = bytes.TrimSpace(value); len(value) == 0 || value[0] == '"' || json.Unmarshal(value, &n) != nil {
		return nil, fmt.Errorf("must be a number")
	}
	v, err := n.Float64()
	switch {
	case err != nil:
		return nil, fmt.Errorf("must be a number of ordinary size")
	case f.Type == Integer && v != math.Trunc(v):
		return nil, fmt.Errorf("must be a whole number")
	case f.Minimum != nil && v < *f.Minimum:
		return nil, fmt.Errorf("must be at least %v", *f.Minimum)
	case f.Maximum != nil && v > *f.Maximum:
		return nil, fmt.Errorf("must be at most %v", *f.Maximum)
	}
	return json.RawMessage(n.String()), nil
}

func (f *Field) checkChoices(value json.RawMessage) (json.RawMessage, error) {
	var chosen []string
	if json.Unmarshal(value, &chosen) != nil {
		return nil, fmt.Errorf("must be a list of the values that are offered")
	}
	for i, v := range chosen {
		if !f.offers(v) || slices.Contains(chosen[:i], v) {
			return nil, fmt.Errorf("must hold values that are offered, each once")
		}
	}
	if f.MinItems != nil && len(chosen) < *f.MinItems {
		return nil, fmt.Errorf("must hold at least %d of the values", *f.MinItems)
	}
	if f.MaxItems != nil && len(chosen) > *f.MaxItems {
		return nil, fmt.Errorf("must hold at most %d of the values", *f.MaxItems)
	}
	if chosen == nil {
		chosen = []string{}
	}
	return proto.Marshal(chosen)
}

func (f *Field) checkText(v string) error {
	length := utf8.RuneCountInString(v)
	if f.MinLength != nil && length < *f.MinLength {
		return fmt.Errorf("must have at least %d characters", *f.MinLength)
	}
	if f.MaxLength != nil && length > *f.MaxLength {
		return fmt.Errorf("must have at most %d characters", *f.MaxLength)
	}
	if f.pattern != nil && !f.pattern.MatchString(v) {
		return fmt.Errorf("must match %s", f.pattern)
	}
	var err error
	switch f.Format {
	case "email":
		var a *mail.Address
		if a, err = mail.ParseAddress(v); err == nil && a.Address != v {
			err = fmt.Errorf("it is more than an address")
		}
	case "uri":
		var u *url.URL
		if u, err = url.Parse(v); err == nil && u.Scheme == "" {
			err = fmt.Errorf("it has no scheme")
		}
	case "date":
		_, err = time.Parse(time.DateOnly, v)
	case "date-time":
		_, err = time.Parse(time.RFC3339, strings.ToUpper(v))
	}
	if err != nil {
		return fmt.Errorf("must be written as %s", map[string]string{
			"email": "name@example.com", "uri": "https://example.com", "date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z",
		}[f.Format])
	}
	return nil
}

// checkSampling looks for what every completion has; the content is the host's
// and the server's business.
func checkSampling(result json.RawMessage) (json.RawMessage, error) {
	if len(result) > MaxSampling {
		return nil, fmt.Errorf("the answer is longer than %d bytes", MaxSampling)
	}
	var r struct {
		Role    string          `json:"role"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return nil, fmt.Errorf("the answer cannot be read")
	}
	if r.Role != "assistant" && r.Role != "user" || r.Model == "" || !present(r.Content) {
		return nil, fmt.Errorf("the answer lacks role, model or content")
	}
	return result, nil
}
