package mcpserver

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// The resources of code mode.
const (
	catalogURI = "tenon://catalog"
	typesURI   = "tenon://types/"
	typesTempl = "tenon://types/{namespace}"

	artifactsURI   = "tenon://artifacts/"
	artifactsTempl = "tenon://artifacts/{id}"
	artifactPrefix = "art_" // of every artifact's id; whole outputs of runs are no resources
)

// maxArtifact bounds the bytes of an artifact that leave as a resource: they
// travel as base64 in one message.
const maxArtifact = 8 << 20

// catalogBudget is what the resource may cost, in tokens: a client that reads it
// wants to see everything that fits a context.
const catalogBudget = 20_000

// resources answers resources/list: the catalogue, and the types of each
// namespace.
func (x *exchange) resources() (mcp.Result, error) {
	x.remember()
	list := []*mcp.Resource{{
		URI: catalogURI, Name: "catalog", Title: "Catalogue", MIMEType: "text/plain",
		Description: "What the MCP servers of this project offer; the names are for programs (exec) and call.",
	}}
	for _, at := range listable(x.view) {
		list = append(list, &mcp.Resource{
			URI: typesURI + url.PathEscape(at.Namespace), Name: at.Namespace, Title: "Types of " + at.Namespace, MIMEType: "text/x-typescript",
			Description: "TypeScript declarations of the tools of " + at.Namespace + ".",
		})
	}
	return written(map[string]any{"resources": list})
}

func templates() (mcp.Result, error) {
	return written(map[string]any{"resourceTemplates": []*mcp.ResourceTemplate{{
		URITemplate: typesTempl, Name: "types", Title: "Types of a namespace", MIMEType: "text/x-typescript",
		Description: "TypeScript declarations of the tools of one namespace.",
	}, {
		URITemplate: artifactsTempl, Name: "artifact", Title: "Artifact of a run",
		Description: "The bytes of a picture, recording or file that a run of this session left, by the id that its result has.",
	}}})
}

// read answers resources/read.
func (x *exchange) read(uri string) (mcp.Result, error) {
	x.remember()
	if uri == catalogURI {
		found, err := x.c.s.o.Path.Catalog(x.ctx, x.request(""), proto.CatalogQuery{Budget: catalogBudget})
		if err != nil {
			return nil, err
		}
		return contents(uri, "text/plain", found.Text)
	}
	if id, ok := strings.CutPrefix(uri, artifactsURI); ok && x.c.s.o.Artifact != nil {
		return x.artifact(uri, id)
	}
	escaped, ok := strings.CutPrefix(uri, typesURI)
	namespace, err := url.PathUnescape(escaped)
	if !ok || err != nil || namespace == "" {
		return nil, fault.New(fault.NotFound, "there is no resource %s", uri).WithHint("resources are %s, %s and %s", catalogURI, typesTempl, artifactsTempl)
	}
	t, err := x.c.s.o.Path.Types(x.ctx, x.request(""), proto.TypesQuery{Paths: []string{namespace}})
	if err != nil {
		return nil, err
	}
	return contents(uri, "text/x-typescript", t.Text)
}

// artifact reads one: text as text, everything else as bytes.
func (x *exchange) artifact(uri, id string) (mcp.Result, error) {
	if !strings.HasPrefix(id, artifactPrefix) {
		return nil, fault.New(fault.NotFound, "there is no artifact %q", id).WithHint("a result lists its artifacts with their ids")
	}
	data, mimeType, err := x.c.s.o.Artifact(x.ctx, x.caller, id)
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxArtifact:
		return nil, fault.New(fault.UsageError, "artifact %s has %d bytes, more than the %d that a resource may have", id, len(data), maxArtifact).
			WithHint("tenon runs output RUN --artifact %s prints it", id)
	case strings.HasPrefix(mimeType, "text/") && utf8.Valid(data):
		return contents(uri, mimeType, string(data))
	}
	return written(map[string]any{"contents": []map[string]any{{"uri": uri, "mimeType": mimeType, "blob": data}}})
}

func contents(uri, mimeType, text string) (mcp.Result, error) {
	return written(map[string]any{"contents": []map[string]string{{"uri": uri, "mimeType": mimeType, "text": text}}})
}

// maxWatched bounds what one client subscribes to.
const maxWatched = 256

func (c *conn) watch(uri string, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !on {
		delete(c.watched, uri)
	} else if len(c.watched) < maxWatched {
		c.watched[uri] = true
	}
}
