package catalog

import (
	"fmt"
	"testing"

	"tenon/proto"
)

// thousand is a view of twenty servers with fifty tools each.
func thousand(t testing.TB) []Entry {
	t.Helper()
	entries := make([]Entry, 20)
	for i := range entries {
		entries[i] = listing(t, fmt.Sprintf("server%d", i), 50, 6)
	}
	return entries
}

func TestOfAThousandToolsOneThatChangedCostsItself(t *testing.T) {
	var told Told
	before := thousand(t)
	whole := told.Tell(before, proto.CatalogQuery{Budget: 20_000})
	after := thousand(t)
	changed := *after[7].List
	changed.Tools = append([]*Tool(nil), changed.Tools...)
	one := &Tool{Tool: after[7].List.Tools[3].Tool, Ident: after[7].List.Tools[3].Ident, Fingerprint: "other"}
	one.Description = "Does it otherwise."
	changed.Tools[3], changed.Fingerprint = one, "other"
	changed.byName = map[string]*Tool{}
	for _, tool := range changed.Tools {
		changed.byName[tool.Name] = tool
	}
	after[7].List = &changed
	delta := told.Tell(after, proto.CatalogQuery{Budget: 20_000, Since: whole.Fingerprint})
	if !delta.Delta || delta.Shown != 1 || delta.Tokens > 120 || delta.Tokens*50 > whole.Tokens {
		t.Errorf("%d tokens instead of %d: %s", delta.Tokens, whole.Tokens, delta.Text)
	}
}
