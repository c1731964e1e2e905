// Package question reads what a server asks in the middle of a call, a form, a
// page to visit or a completion of a model, and holds the answer against it.
// Both sides are data: whatever is not understood is refused by name, and
// nothing here is shown or evaluated. The shapes are those of the protocol's
// versions 2025-06-18 to 2026-07-28.
package question

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// The kinds of a question, as proto.Question has them.
const (
	Elicitation = "elicitation"
	Sampling    = "sampling"
)

// Methods of the protocol that ask.
const (
	MethodElicitation = "elicitation/create"
	MethodSampling    = "sampling/createMessage"
)

// Limits of one question and its answer. They are facts, not settings:
// docs/upstreams.md prints them.
const (
	MaxForm     = 256 << 10 // bytes of an elicitation's params, and of its answer
	MaxSampling = 4 << 20   // bytes of a sampling request, which may hold pictures, and of its answer
	MaxFields   = 100       // of one form
	MaxChoices  = 1000      // of one field
)

// Question is one question, read. Which members are set depends on its kind.
type Question struct {
	Kind    string
	Message string          // elicitation: why it is asked; upstream text
	URL     string          // elicitation: the page to visit; empty for a form
	ID      string          // elicitation by URL: what a completion refers to
	Fields  []Field         // elicitation by form, in the order of the schema; none: only consent is asked for
	Params  json.RawMessage // as the server sent them
}

// KindOf is the kind that a method of the protocol asks for, or empty.
func KindOf(method string) string {
	switch method {
	case MethodElicitation:
		return Elicitation
	case MethodSampling:
		return Sampling
	}
	return ""
}

// Read reads the params of a question of a kind. The error says what is wrong
// with them, in words for the server's author.
func Read(kind string, params json.RawMessage) (*Question, error) {
	switch kind {
	case Elicitation:
		return readElicitation(params)
	case Sampling:
		return readSampling(params)
	}
	return nil, fmt.Errorf("nobody answers questions of kind %q", kind)
}

func readElicitation(params json.RawMessage) (*Question, error) {
	if len(params) > MaxForm {
		return nil, fmt.Errorf("the question is longer than %d bytes", MaxForm)
	}
	var p struct {
		Mode    *string         `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
		URL     string          `json:"url"`
		ID      string          `json:"elicitationId"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fmt.Errorf("the params cannot be read: %w", err)
	}
	q := &Question{Kind: Elicitation, Message: p.Message, ID: p.ID, Params: params}
	mode := "form"
	if p.Mode != nil {
		mode = *p.Mode
	}
	switch mode {
	case "form":
		var err error
		q.Fields, err = readFields(p.Schema)
		return q, err
	case "url":
		q.URL = p.URL
		return q, checkURL(p.URL)
	}
	return nil, fmt.Errorf("mode %.40q is neither form nor url", mode)
}

// checkURL admits addresses of pages only: anything else (a file, a program's
// own scheme, javascript) is not for a person to open because a server says so.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("url is not a whole address")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("url begins with %.40q, not with http or https", u.Scheme)
	case u.User != nil:
		return fmt.Errorf("url names a user before its host")
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("url holds blanks or control characters")
	}
	return nil
}

func readSampling(params json.RawMessage) (*Question, error) {
	if len(params) > MaxSampling {
		return nil, fmt.Errorf("the question is longer than %d bytes", MaxSampling)
	}
	var p struct {
		Messages  []json.RawMessage `json:"messages"`
		MaxTokens *float64          `json:"maxTokens"`
		Tools     json.RawMessage   `json:"tools"`
		Choice    json.RawMessage   `json:"toolChoice"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fmt.Errorf("the params cannot be read: %w", err)
	}
	switch {
	case len(p.Messages) == 0:
		return nil, fmt.Errorf("messages is missing or empty")
	case p.MaxTokens == nil:
		return nil, fmt.Errorf("maxTokens is missing")
	case present(p.Tools) || present(p.Choice): // the protocol wants an error where sampling.tools was not declared
		return nil, fmt.Errorf("tools and toolChoice need the capability sampling.tools, which was not declared")
	}
	return &Question{Kind: Sampling, Params: params}, nil
}

func present(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

// Host is the host of the page, for a person to judge; empty for other
// questions. An international name is shown as it is sent: xn--….
func (q *Question) Host() string {
	u, err := url.Parse(q.URL)
	if err != nil {
		return ""
	}
	return u.Host
}
