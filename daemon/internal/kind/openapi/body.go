package openapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// file is the schema of bytes in a request: a text, or bytes with their name.
func file() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"type": "string", "description": "text"},
		map[string]any{"type": "object", "properties": map[string]any{
			"base64": map[string]any{"type": "string"}, "filename": map[string]any{"type": "string"}, "contentType": map[string]any{"type": "string"},
		}, "required": []any{"base64"}, "additionalProperties": false},
	}}
}

// readBody takes over the form of the body that is used, and gives its schema.
func (o *operation) readBody(d *document, in *schemas, request map[string]any) any {
	media, entry := first(d.object(request["content"]))
	if media == "" {
		return nil
	}
	o.body = &body{media: media, required: request["required"] == true, encoding: map[string]map[string]any{}}
	switch kind := mediaType(media); {
	case isJSON(media):
		return in.of(entry["schema"], 0)
	case kind == "multipart/form-data", kind == "application/x-www-form-urlencoded":
		o.body.schema = d.object(entry["schema"])
		for name, e := range d.object(entry["encoding"]) {
			o.body.encoding[name] = d.object(e)
		}
		out, _ := in.of(o.body.schema, 0).(map[string]any)
		written, _ := out["properties"].(map[string]any)
		properties, _ := o.body.schema["properties"].(map[string]any)
		for name := range written {
			if binary(d.object(properties[name])) {
				written[name] = described(file(), d.object(properties[name])["description"])
			} else if items := d.object(d.object(properties[name])["items"]); binary(items) {
				written[name] = map[string]any{"type": "array", "items": file()}
			}
		}
		return out
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "xml"):
		return map[string]any{"type": "string"}
	}
	return file()
}

// binary reports whether a schema is of bytes.
func binary(schema map[string]any) bool {
	return schema["format"] == "binary" ||
		schema["contentMediaType"] != nil && schema["contentEncoding"] == nil
}

// bytesOf reads what file describes.
func bytesOf(value json.RawMessage) (data []byte, name, contentType string, err error) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return []byte(text), "", "", nil
	}
	var f struct {
		Base64      string `json:"base64"`
		Filename    string `json:"filename"`
		ContentType string `json:"contentType"`
	}
	if err := json.Unmarshal(value, &f); err != nil {
		return nil, "", "", fmt.Errorf("bytes are a text, or { base64, filename?, contentType? }")
	}
	if data, err = base64.StdEncoding.DecodeString(f.Base64); err != nil {
		return nil, "", "", fmt.Errorf("base64: %w", err)
	}
	return data, f.Filename, f.ContentType, nil
}

// encode writes the body of a request.
func (b *body) encode(value json.RawMessage) (data []byte, contentType string, err error) {
	switch kind := mediaType(b.media); {
	case isJSON(b.media):
		return value, concrete(b.media, "application/json"), nil
	case kind == "application/x-www-form-urlencoded":
		text, err := b.form(value)
		return []byte(text), b.media, err
	case kind == "multipart/form-data":
		return b.multipart(value)
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "xml"):
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, "", fmt.Errorf("body must be a text")
		}
		return []byte(text), concrete(b.media, "text/plain"), nil
	}
	data, _, contentType, err = bytesOf(value)
	if contentType == "" {
		contentType = concrete(b.media, "application/octet-stream")
	}
	return data, contentType, err
}

// concrete is a media type that is no range.
func concrete(media, otherwise string) string {
	if strings.Contains(media, "*") {
		return otherwise
	}
	return media
}

// fields are the members of a form, in the order of their names.
func fields(value json.RawMessage) (map[string]json.RawMessage, []string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return nil, nil, fmt.Errorf("body must be an object")
	}
	return members, slices.Sorted(maps.Keys(members)), nil
}

func (b *body) form(value json.RawMessage) (string, error) {
	members, names, err := fields(value)
	if err != nil {
		return "", err
	}
	var pairs []string
	for _, name := range names {
		p := parameter{name: name, in: "query", style: "form", explode: true}
		if e := b.encoding[name]; e != nil {
			if style, ok := e["style"].(string); ok {
				p.style, p.explode = style, style == "form"
			}
			if explode, ok := e["explode"].(bool); ok {
				p.explode = explode
			}
			media, _ := e["contentType"].(string)
			p.json = isJSON(media)
		}
		more, err := p.query(members[name])
		if err != nil {
			return "", fmt.Errorf("body.%s: %w", name, err)
		}
		pairs = append(pairs, more...)
	}
	return strings.ReplaceAll(strings.Join(pairs, "&"), "%20", "+"), nil
}

func (b *body) multipart(value json.RawMessage) ([]byte, string, error) {
	members, names, err := fields(value)
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	properties, _ := b.schema["properties"].(map[string]any)
	for _, name := range names {
		schema, _ := properties[name].(map[string]any)
		items := []json.RawMessage{members[name]}
		if inner, ok := schema["items"].(map[string]any); ok {
			if json.Unmarshal(members[name], &items) != nil {
				return nil, "", fmt.Errorf("body.%s must be a list", name)
			}
			schema = inner
		}
		for _, item := range items {
			if err := b.part(w, name, schema, item); err != nil {
				return nil, "", fmt.Errorf("body.%s: %w", name, err)
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), w.FormDataContentType(), nil
}

func (b *body) part(w *multipart.Writer, name string, schema map[string]any, value json.RawMessage) error {
	header := textproto.MIMEHeader{}
	disposition := `form-data; name="` + escapeName(name) + `"`
	said, _ := b.encoding[name]["contentType"].(string)
	said, _, _ = strings.Cut(said, ",")
	said = concrete(said, "")
	var data []byte
	switch {
	case binary(schema) || isFile(value):
		var filename, contentType string
		var err error
		if data, filename, contentType, err = bytesOf(value); err != nil {
			return err
		}
		if filename == "" {
			filename = name
		}
		disposition += `; filename="` + escapeName(filename) + `"`
		if contentType == "" {
			contentType = said
		}
		if contentType == "" {
			contentType = "application/octet-stream"
		}
		said = contentType
	case len(value) > 0 && (value[0] == '{' || value[0] == '['):
		data = value
		if said == "" {
			said = "application/json"
		}
	default:
		text, err := scalar(value)
		if err != nil {
			return err
		}
		data = []byte(text)
	}
	header.Set("Content-Disposition", disposition)
	if said != "" {
		if strings.ContainsAny(said, "\r\n") {
			return fmt.Errorf("the content type holds a line end")
		}
		header.Set("Content-Type", said)
	}
	p, err := w.CreatePart(header)
	if err == nil {
		_, err = io.Copy(p, bytes.NewReader(data))
	}
	return err
}

// isFile tells an object that file describes.
func isFile(value json.RawMessage) bool {
	var f map[string]json.RawMessage
	return json.Unmarshal(value, &f) == nil && f["base64"] != nil && (len(f) == 1 || f["filename"] != nil || f["contentType"] != nil)
}

func escapeName(s string) string {
	return strings.NewReplacer("\\", "\\\\", `"`, "%22", "\r", "%0D", "\n", "%0A").Replace(s)
}

func unescape(s string) string {
	if out, err := url.PathUnescape(s); err == nil {
		return out
	}
	return s
}
