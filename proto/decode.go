package proto

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
)

// FieldError says which field of a message is wrong. Path is written as in
// JavaScript ("rules.rules[2].action"); it is empty for the message itself.
type FieldError struct {
	Path    string
	Problem string
}

func (e *FieldError) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

// Decode reads one message into v, a pointer to a message type of this package.
// Unlike encoding/json it holds the message against its schema first: unknown
// fields, missing required fields, nulls, wrong types and words outside a
// closed list are named instead of read as zero, and names match exactly.
// Errors are *FieldError.
func Decode(data []byte, v any) error {
	name := reflect.TypeOf(v).Elem().Name()
	schema, ok := types()[name]
	if !ok {
		return fmt.Errorf("proto: %s is not a message type", name)
	}
	if !json.Valid(data) {
		return &FieldError{Problem: "is not JSON"}
	}
	if err := schema.check(data, ""); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &FieldError{Problem: "cannot be read: " + err.Error()}
	}
	return nil
}

// DecodeFrom is Decode for a stream that holds exactly one message. The caller
// bounds the reader.
func DecodeFrom(r io.Reader, v any) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	return Decode(data, v)
}
