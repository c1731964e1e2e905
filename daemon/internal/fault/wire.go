package fault

import (
	"encoding/json"

	"tenon/proto"
)

// Wire is e as it crosses an edge: the cause stays behind. A nil *Error gives
// nil.
func (e *Error) Wire() *proto.Error {
	if e == nil {
		return nil
	}
	w := &proto.Error{
		Kind: string(e.Kind), Message: e.Message, Hint: e.Hint,
		Server: e.Server, Tool: e.Tool, Pointer: e.Pointer, Feedback: e.Feedback,
	}
	if e.Position != nil {
		at := proto.Position(*e.Position)
		w.Position = &at
	}
	// Bytes that are not JSON would make the whole answer unreadable.
	if json.Valid(e.Content) {
		w.Content = e.Content
	}
	if json.Valid(e.Data) {
		w.Data = e.Data
	}
	return w
}

// FromWire is the *Error that the other side sent; nil stays nil. A kind that
// is not of the closed list becomes InternalError, its name kept in the message.
func FromWire(w *proto.Error) *Error {
	if w == nil {
		return nil
	}
	e := &Error{
		Kind: Kind(w.Kind), Message: w.Message, Hint: w.Hint,
		Server: w.Server, Tool: w.Tool, Pointer: w.Pointer, Feedback: w.Feedback,
		Content: w.Content, Data: w.Data,
	}
	if w.Position != nil {
		at := Position(*w.Position)
		e.Position = &at
	}
	if !e.Kind.Valid() {
		e.Kind, e.Message = InternalError, w.Kind+": "+w.Message
	}
	if e.Message == "" { // of our own making none is
		e.Message = "a failure without a message"
	}
	return e
}

// Problem is e as an RFC 9457 problem document.
func (e *Error) Problem() proto.Problem {
	return proto.Problem{
		Type: e.Kind.Page(), Title: string(e.Kind), Status: e.Kind.HTTPStatus(), Detail: e.Message,
		Error: *e.Wire(),
	}
}
