package run

import (
	"bytes"
	"encoding/json"
)

// encode is v as JSON without the escapes that encoding/json adds for web pages
// ("<" as \u003c): values and signatures are shown to people and models as they
// stand in it.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
