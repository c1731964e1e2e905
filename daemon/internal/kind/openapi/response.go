package openapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/kind/stdio"
)

const (
	maxResponse = 16 << 20 // bytes of a body that are read; more is a failure
	maxWords    = 8 << 10  // bytes of a failed request's body that are told
)

// masker takes every proof of who asks out of texts: servers echo what they are
// sent. Short values would be found everywhere.
func masker(spec *config.OpenAPISpec) *strings.Replacer {
	const shortest, shown = 4, "[hidden]"
	var secrets []string
	add := func(values ...string) {
		for _, v := range values {
			if len(v) < shortest {
				continue
			}
			quoted, _ := json.Marshal(v) // texts always marshal
			secrets = append(secrets, v, strings.Trim(string(quoted), `"`), url.QueryEscape(v), escape(v))
		}
	}
	add(spec.Bearer, spec.Password)
	if spec.Password != "" {
		add(base64.StdEncoding.EncodeToString([]byte(spec.User + ":" + spec.Password)))
	}
	for _, v := range spec.Header {
		add(v)
		if _, credentials, ok := strings.Cut(v, " "); ok {
			add(credentials)
		}
	}
	for _, v := range spec.Query {
		add(v)
	}
	// Longest first: of two that begin alike, the rest of one would be left.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range slices.Compact(secrets) {
		pairs = append(pairs, s, shown)
	}
	return strings.NewReplacer(pairs...)
}

// result is an answer as the tool's result.
func (c *client) result(o *operation, r *http.Response) *mcp.CallToolResult {
	defer r.Body.Close()
	data, err := io.ReadAll(io.LimitReader(r.Body, maxResponse+1))
	media := r.Header.Get("Content-Type")
	switch {
	case r.StatusCode < 200 || r.StatusCode > 299:
		return c.failed(o, r, media, data)
	case err != nil:
		return stdio.Failed("%s", c.mask.Replace(fmt.Sprintf("the answer broke off: %v", err)))
	case len(data) > maxResponse:
		return stdio.Failed("the answer has more than %d MiB; ask for less at a time", maxResponse>>20)
	case len(data) == 0:
		return stdio.Text("")
	}
	kind := mediaType(media)
	switch {
	case isJSON(media) || kind == "" && json.Valid(data):
		text := c.mask.Replace(string(data))
		if !json.Valid([]byte(text)) {
			return stdio.Failed("the answer says that it is JSON and is none: %s", clip(text, maxWords))
		}
		return stdio.Value(json.RawMessage(strings.TrimSpace(text)))
	case textual(kind) && utf8.Valid(data):
		text, err := json.Marshal(c.mask.Replace(string(data)))
		if err != nil {
			return stdio.Failed("%v", err)
		}
		return stdio.Value(text)
	case strings.HasPrefix(kind, "image/"):
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: data, MIMEType: kind}}}
	case strings.HasPrefix(kind, "audio/"):
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{Data: data, MIMEType: kind}}}
	}
	if kind == "" {
		kind = "application/octet-stream"
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: c.mask.Replace(publicAddress(r.Request.URL)), MIMEType: kind, Blob: data,
	}}}}
}

// publicAddress is an address without what may prove who asks.
func publicAddress(u *url.URL) string {
	plain := *u
	plain.User, plain.RawQuery, plain.Fragment = nil, "", ""
	return plain.String()
}

func textual(kind string) bool {
	return kind == "" || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "xml") || strings.HasSuffix(kind, "yaml") ||
		kind == "application/javascript" || kind == "application/x-ndjson" || kind == "application/x-www-form-urlencoded"
}

// failed is a status that is no success, with what helps to go on.
func (c *client) failed(o *operation, r *http.Response, media string, data []byte) *mcp.CallToolResult {
	text := fmt.Sprintf("HTTP %s (%s %s)", r.Status, o.method, o.path)
	if after := r.Header.Get("Retry-After"); after != "" {
		text += "\nRetry-After: " + after
	}
	if isJSON(media) || textual(mediaType(media)) && utf8.Valid(data) {
		// Masked before it is cut: of a secret that the cut goes through a part would be left.
		if words := strings.TrimSpace(c.mask.Replace(string(data))); words != "" {
			text += "\n" + clip(words, maxWords)
		}
	} else if len(data) > 0 {
		text += fmt.Sprintf("\n(%d bytes of %s)", len(data), mediaType(media))
	}
	return stdio.Failed("%s", c.mask.Replace(text))
}

func clip(s string, longest int) string {
	if len(s) <= longest {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
