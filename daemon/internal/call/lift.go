package call

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Lifted says which text of a raw result became an artifact, so that it can be
// told when it comes back as a program's output.
type Lifted struct {
	Prefix   string // the first LiftedPrefix characters of the base64 text
	Length   int    // of the whole text
	Artifact proto.Artifact
}

// LiftedPrefix is the length of a Lifted's prefix. A text shorter than that is
// no burden to anybody.
const LiftedPrefix = 64

// leastBytes is from what length on the data of a content block of a kind that
// is not known is taken for bytes, in characters of base64.
const leastBytes = 1 << 10

// holdsBytes is a cheap look whether lift may have anything to do; a name may be
// written with escapes.
func holdsBytes(content []byte) bool {
	return bytes.Contains(content, []byte(`"data"`)) || bytes.Contains(content, []byte(`"blob"`)) || bytes.Contains(content, []byte(`\u00`))
}

// lift replaces bytes in a content array by handles of artifacts. All else is
// kept as it is, kinds of blocks that nobody has heard of and their members too.
func (c *call) lift(content []byte) []byte {
	out := make([]byte, 0, min(len(content), 64<<10))
	out = append(out, '[')
	elements(content, func(e []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if small := c.handle(e); small != nil {
			e = small
		}
		out = append(out, e...)
	})
	return append(out, ']')
}

// block is a content block as far as bytes are concerned.
type block struct {
	Type     string          `json:"type"`
	MimeType string          `json:"mimeType"`
	URI      string          `json:"uri"`
	Data     json.RawMessage `json:"data"`
	Blob     json.RawMessage `json:"blob"`
	Resource json.RawMessage `json:"resource"`
}

// handle is what stands in place of a block that holds bytes, or nil: the
// block's other members, with those of an embedded resource, the number of bytes
// and the artifact's id.
func (c *call) handle(element []byte) []byte {
	var b block
	if json.Unmarshal(element, &b) != nil {
		return nil
	}
	if b.Type == "resource" && b.Resource != nil {
		var inner block
		if json.Unmarshal(b.Resource, &inner) != nil {
			return nil
		}
		encoded, ok := textIn(inner.Blob, 0)
		if !ok {
			return nil
		}
		a := c.store("blob", inner.MimeType, inner.URI, encoded)
		return a.fill(without(b.Resource, "blob", without(element, "resource", nil)))
	}
	least := leastBytes
	if b.Type == "image" || b.Type == "audio" {
		least = 0
	}
	if encoded, ok := textIn(b.Data, least); ok && b.Type != "text" {
		return c.store(b.Type, b.MimeType, b.URI, encoded).fill(without(element, "data", nil))
	}
	if encoded, ok := textIn(b.Blob, leastBytes); ok && b.Type != "text" {
		return c.store(b.Type, b.MimeType, b.URI, encoded).fill(without(element, "blob", nil))
	}
	return nil
}

// textIn is a JSON string of at least that many characters; one that is only
// taken for bytes because of its length must be base64.
func textIn(raw json.RawMessage, least int) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil || len(s) < least {
		return "", false
	}
	if least > 0 {
		if _, err := decode(s); err != nil {
			return "", false
		}
	}
	return s, true
}

// without appends the members of an object to out, but for one: names that out
// has already keep their value.
func without(object []byte, left string, out []member) []member {
	members(object, func(name, value []byte) bool {
		if called(name, left) {
			return true
		}
		for _, m := range out {
			if bytes.Equal(m.name, name) {
				return true
			}
		}
		out = append(out, member{name, value})
		return true
	})
	return out
}

// called reports whether a quoted name is that name as encoding/json reads it,
// which takes escapes and any case.
func called(quoted []byte, name string) bool {
	var s string
	return json.Unmarshal(quoted, &s) == nil && strings.EqualFold(s, name)
}

// member is one of an object: its name, quoted, and its value.
type member struct{ name, value []byte }

// held are bytes that were kept.
type held struct {
	bytes    int
	mimeType string // where the server gave none
	artifact string // empty: they could not be kept
}

// fill is the object of these members and the handle.
func (h held) fill(list []member) []byte {
	own := map[string]string{`"bytes"`: strconv.Itoa(h.bytes), `"artifact"`: strconv.Quote(h.artifact)}
	if h.mimeType != "" {
		own[`"mimeType"`] = strconv.Quote(h.mimeType)
	}
	out := []byte{'{'}
	for _, m := range list {
		if _, ours := own[string(m.name)]; !ours {
			out = append(append(append(append(out, m.name...), ':'), m.value...), ',')
		}
	}
	for _, name := range []string{`"mimeType"`, `"bytes"`, `"artifact"`} {
		if value, ok := own[name]; ok {
			out = append(append(append(append(out, name...), ':'), value...), ',')
		}
	}
	out[len(out)-1] = '}'
	return out
}

// decode reads base64 in any of the forms in which servers write it.
func decode(encoded string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		data, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(encoded), "="))
	}
	return data, err
}

// store keeps the bytes of one block.
func (c *call) store(kind, mimeType, uri, encoded string) held {
	data, err := decode(encoded)
	if err != nil {
		c.warn(string(fault.InvalidToolOutput), fmt.Sprintf("%s/%s: the bytes of its %s are not valid base64", c.server.Name, c.toolName, kind))
		data = []byte(encoded)
	}
	h := held{bytes: len(data)}
	if mimeType == "" {
		mimeType = http.DetectContentType(data)
		h.mimeType = mimeType
	}
	if c.p.o.History == nil {
		return h
	}
	name := uri
	if name == "" {
		name = c.server.Name + "_" + c.toolName
	}
	a, err := c.p.o.History.Put(c.req.Run, name, mimeType, data)
	if err != nil {
		c.warn("ArtifactNotKept", fmt.Sprintf("%s/%s: its %s of %d bytes could not be kept", c.server.Name, c.toolName, kind, len(data)))
		return h
	}
	h.artifact = a.ID
	c.artifacts = append(c.artifacts, a)
	if len(encoded) >= LiftedPrefix {
		c.lifted = append(c.lifted, Lifted{Prefix: encoded[:LiftedPrefix], Length: len(encoded), Artifact: a})
	}
	return h
}
