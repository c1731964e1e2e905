package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/question"
	"tenon/proto"
)

// Words that answer a form instead of a field.
const (
	wordDecline = "/decline"
	wordCancel  = "/cancel"
)

// filling is one question of a server on the terminal. All that the server says
// passes clean.
type filling struct {
	app  *app
	ctx  context.Context
	t    *typist
	over <-chan struct{}
}

// refusal is a question that was answered with a word.
type refusal string

func (r refusal) Error() string { return string(r) }

func isUsage(err error) bool { return fault.KindOf(err) == fault.UsageError }

// fill puts a question and gives the answer (an MCP result). The errors are
// those of the input.
func (f *filling) fill(q proto.Question) (json.RawMessage, error) {
	read, err := question.Read(q.Kind, q.Params)
	if err != nil {
		f.app.note("server %s asks what cannot be shown here: %v", q.Server, err)
		return question.Refusal(question.Decline), nil
	}
	f.app.note("server %s asks (tool %s; the answer is due %s): %s", q.Server, q.Tool, in(q.Deadline), quoted(read.Message))
	var result json.RawMessage
	switch {
	case read.URL != "":
		result, err = f.page(read)
	case len(read.Fields) == 0:
		result, err = f.agree()
	default:
		result, err = f.form(read)
	}
	if action, ok := err.(refusal); ok {
		return question.Refusal(string(action)), nil
	}
	return result, err
}

// page asks for consent to a visit. Nothing is opened from here: the person
// sees the whole address and goes there, or not.
func (f *filling) page(q *question.Question) (json.RawMessage, error) {
	f.app.note("it wants you to visit a page at %s, which is not opened for you:", q.Host())
	f.app.note("  %s", q.URL)
	if strings.Contains(q.Host(), "xn--") {
		f.app.note("  the name has letters of another script: look twice")
	}
	switch word, err := f.word("will you? [y]es, [n]o; nothing dismisses it:"); {
	case err != nil:
		return nil, err
	case yes(word):
		return question.Refusal(question.Accept), nil
	case word == "":
		return question.Refusal(question.Cancel), nil
	default:
		return question.Refusal(question.Decline), nil
	}
}

func (f *filling) agree() (json.RawMessage, error) {
	switch word, err := f.word("agree? [y]es, [n]o; nothing dismisses it:"); {
	case err != nil:
		return nil, err
	case yes(word):
		return question.Accepted(map[string]json.RawMessage{})
	case word == "":
		return question.Refusal(question.Cancel), nil
	default:
		return question.Refusal(question.Decline), nil
	}
}

// form asks for one field after the other, then for leave to send them: nothing
// leaves before it was looked at as a whole.
func (f *filling) form(q *question.Question) (json.RawMessage, error) {
	f.app.note("what you type goes to that server. nothing takes what stands in [brackets]; %s or %s ends the form", wordDecline, wordCancel)
	given := map[string]json.RawMessage{}
	for {
		for i := range q.Fields {
			field := &q.Fields[i]
			value, err := f.field(field, first(string(given[field.Name]), string(field.Default)))
			if err != nil {
				return nil, err
			}
			delete(given, field.Name)
			if value != nil {
				given[field.Name] = value
			}
		}
		for _, field := range q.Fields {
			if value, ok := given[field.Name]; ok {
				f.app.note("  %s: %s", short(field.Name, 60), short(string(value), 200))
			}
		}
		switch send, err := f.send(); {
		case err != nil:
			return nil, err
		case send:
			return question.Accepted(given)
		}
	}
}

// send asks whether the form leaves as it is, or is gone through once more. It
// asks until one of its words is the answer: an Enter too many, which took the
// last default, must not throw away what was filled in.
func (f *filling) send() (bool, error) {
	for {
		word, err := f.word("send? [y]es, [e]dit, [n]o:")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(word) {
		case "y", "yes":
			return true, nil
		case "e", "edit":
			return false, nil
		case "n", "no":
			return false, refusal(question.Decline)
		}
	}
}

// field asks for one field until the value fits; nil means that it is left out.
func (f *filling) field(field *question.Field, before string) (json.RawMessage, error) {
	label := short(first(field.Title, field.Name), 100)
	if field.Description != "" {
		label += " (" + short(field.Description, 200) + ")"
	}
	label += ", " + kindOf(field)
	for i, o := range field.Options {
		if i == 0 {
			f.app.note("%s:", label)
			label = short(first(field.Title, field.Name), 100)
		}
		f.app.note("  %d) %s", i+1, option(o))
	}
	if before != "" {
		label += " [" + short(before, 60) + "]"
	}
	for {
		line, err := f.ask(label + ":")
		if err != nil {
			return nil, err
		}
		if line == "" && before != "" {
			return json.RawMessage(before), nil
		}
		if line == "" && !field.Required {
			return nil, nil
		}
		value, err := field.Check(valueOf(field, line))
		if err == nil && (line != "" || field.Type == question.Choices) {
			return value, nil
		}
		if line == "" {
			err = fmt.Errorf("is needed")
		}
		f.app.note("  it %v", err)
	}
}

// kindOf says what may be typed.
func kindOf(f *question.Field) string {
	kind := map[question.Type]string{
		question.Text: "text", question.Number: "number", question.Integer: "whole number",
		question.Yes: "yes or no", question.Choice: "one of", question.Choices: "any of, with commas",
	}[f.Type]
	if f.Format != "" {
		kind = short(f.Format, 40)
	}
	if !f.Required {
		kind += ", optional"
	}
	return kind
}

func option(o question.Option) string {
	if o.Title == "" || o.Title == o.Value {
		return short(o.Value, 200)
	}
	return short(o.Title, 200) + " (" + short(o.Value, 100) + ")"
}

// valueOf is a typed line as the JSON that the field takes, if it is any.
func valueOf(f *question.Field, line string) json.RawMessage {
	switch f.Type {
	case question.Number, question.Integer:
		return json.RawMessage(strings.TrimSpace(line))
	case question.Yes:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes", "true":
			return json.RawMessage("true")
		case "n", "no", "false":
			return json.RawMessage("false")
		}
	case question.Choice:
		return quote(chosen(f, line))
	case question.Choices:
		list := []string{}
		for part := range strings.SplitSeq(line, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, chosen(f, part))
			}
		}
		raw, _ := marshal(list) // strings always marshal
		return raw
	}
	return quote(line)
}

// chosen is the value that was meant: by itself, by its title, or by its number.
func chosen(f *question.Field, word string) string {
	word = strings.TrimSpace(word)
	for _, o := range f.Options {
		if o.Value == word {
			return word
		}
	}
	for _, o := range f.Options {
		if o.Title != "" && strings.EqualFold(o.Title, word) {
			return o.Value
		}
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(f.Options) {
		return f.Options[n-1].Value
	}
	return word
}

// word asks for one word.
func (f *filling) word(prompt string) (string, error) {
	line, err := f.ask(prompt)
	return strings.TrimSpace(line), err
}

// ask puts a prompt and reads the line behind it; a word that ends the question
// is a refusal.
func (f *filling) ask(prompt string) (string, error) {
	fmt.Fprint(f.app.Err, clean(prompt)+" ")
	line, err := f.t.line(f.ctx, f.over)
	if err != nil {
		fmt.Fprintln(f.app.Err)
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch strings.TrimSpace(line) {
	case wordDecline:
		return "", refusal(question.Decline)
	case wordCancel:
		return "", refusal(question.Cancel)
	}
	return line, nil
}

func yes(word string) bool {
	word = strings.ToLower(word)
	return word == "y" || word == "yes"
}

// quoted is a server's message as it stands on the terminal: its lines are
// marked, so that none looks like one of ours.
func quoted(s string) string {
	const most = 4000
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.ReplaceAll(s, "\n", "\n  | ")
}
