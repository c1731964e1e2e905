package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"

	"tenon/daemon/internal/call"
	"tenon/proto"
)

// lifted knows the bytes that the run's calls gave and that were kept apart. A
// program may have them: they are in the raw result. But what it returns, logs
// or emits is read by a model, to whom a picture as base64 is worth nothing and
// costs its whole context; so there the handle stands in their place, as it does
// in the value of the call. Text that a program makes of the bytes by itself is
// its own.
type lifted struct {
	mu    sync.Mutex
	known map[string][]call.Lifted // guarded by mu: by the beginning of the text
}

func (l *lifted) add(list []call.Lifted) {
	if len(list) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string][]call.Lifted{}
	}
	for _, one := range list {
		l.known[one.Prefix] = append(l.known[one.Prefix], one)
	}
}

// redact puts handles in place of bytes in a text, or in JSON, which stays
// valid: base64 has no character that a string in JSON would escape.
func (l *lifted) redact(text []byte) []byte {
	if len(text) < call.LiftedPrefix {
		return text
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) == 0 {
		return text
	}
	var out []byte
	done := 0
	for i := 0; i < len(text); {
		if text[i] == '\\' { // of an escape in JSON: what follows is a part of it
			i += 2
			continue
		}
		if !isBase64[text[i]] {
			i++
			continue
		}
		end := i
		for end < len(text) && isBase64[text[end]] {
			end++
		}
		if end-i >= call.LiftedPrefix {
			if list := l.known[string(text[i:i+call.LiftedPrefix])]; list != nil {
				for end < len(text) && text[end] == '=' {
					end++
				}
				out = append(append(out, text[done:i]...), handleOf(list, end-i)...)
				done = end
			}
		}
		i = end
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// handleOf is what stands in place of n characters: of several artifacts with
// the same beginning, as pictures of one size have, the one of that length.
func handleOf(list []call.Lifted, n int) string {
	one := list[0]
	for _, other := range list {
		if other.Length == n {
			one = other
		}
	}
	a := one.Artifact
	return fmt.Sprintf("[%s, %d bytes: artifact %s]", notPlain.ReplaceAllString(a.MimeType, "?"), a.Bytes, a.ID)
}

// notPlain is what a media type, which a server chose, does not bring into JSON.
var notPlain = regexp.MustCompile(`[^A-Za-z0-9/;=.+_ -]`)

var isBase64 = func() (is [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
		is[c] = true
	}
	return is
}()

func (l *lifted) text(s string) string {
	if len(s) < call.LiftedPrefix {
		return s
	}
	return string(l.redact([]byte(s)))
}

// result redacts everything of a result that a program can have written.
func (l *lifted) result(res *proto.RunResult) {
	l.mu.Lock()
	none := len(l.known) == 0
	l.mu.Unlock()
	if none {
		return
	}
	res.Value = l.redact(res.Value)
	res.Stdout, res.Stderr = l.text(res.Stdout), l.text(res.Stderr)
	for i := range res.Logs {
		res.Logs[i].Message, res.Logs[i].Attrs = l.text(res.Logs[i].Message), l.redact(res.Logs[i].Attrs)
	}
	for i := range res.Emits {
		res.Emits[i] = l.redact(res.Emits[i])
	}
	if e := res.Error; e != nil {
		e.Message, e.Stack = l.text(e.Message), l.text(e.Stack)
		if data := l.redact(e.Data); json.Valid(data) && !bytes.Equal(data, e.Data) {
			e.Data = data
		}
	}
}
