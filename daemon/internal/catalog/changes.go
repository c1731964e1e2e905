package catalog

import (
	"bytes"
	"fmt"
	"strings"
)

// maxChanges is how many changed tools a list names.
const maxChanges = 10

// noteChanges names the tools that the server defines otherwise than in the
// list before: whoever allowed a tool, or wrote a program, relied on that.
func (l *List) noteChanges(before *List) {
	if before == nil || before.Fingerprint == l.Fingerprint {
		return
	}
	named := 0
	for _, t := range l.Tools {
		former := before.Named(t.Name)
		if former == nil || former.Fingerprint == t.Fingerprint {
			continue
		}
		if named++; named > maxChanges {
			l.Warnings = append(l.Warnings, "more tools are defined otherwise than before")
			return
		}
		l.Warnings = append(l.Warnings, fmt.Sprintf("the server now defines tool %q otherwise: %s", t.Name, difference(former, t)))
	}
}

// difference names the parts of a tool's definition that changed.
func difference(a, b *Tool) string {
	var parts []string
	for _, part := range []struct {
		name    string
		changed bool
	}{
		{"arguments", !bytes.Equal(a.InputSchema, b.InputSchema)},
		{"result", !bytes.Equal(a.OutputSchema, b.OutputSchema)},
		{"description", a.Description != b.Description},
		{"title", a.Title != b.Title},
		{"annotations", !bytes.Equal(a.Annotations, b.Annotations)},
	} {
		if part.changed {
			parts = append(parts, part.name)
		}
	}
	return strings.Join(parts, ", ")
}
