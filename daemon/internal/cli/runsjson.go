package cli

import (
	"io"
	"unicode/utf8"

	"tenon/daemon/internal/fault"
)

// outputDocument is a run's output as one document: text where it is text,
// base64 where it is not.
func outputDocument(a *app, id, artifact, mimeType string, body io.Reader) error {
	raw, err := io.ReadAll(body)
	if err != nil {
		return fault.New(fault.DaemonUnavailable, "the daemon went away during the answer: %w", err)
	}
	doc := map[string]any{"run": id, "mimeType": mimeType, "bytes": len(raw)}
	if artifact != "" {
		doc["artifact"] = artifact
	}
	if utf8.Valid(raw) {
		doc["text"] = string(raw)
	} else {
		doc["base64"] = raw // encoding/json writes byte slices so
	}
	return a.document(doc)
}
