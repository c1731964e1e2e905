package house

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

// TestKindsAreTheSameEverywhere: the closed list is written in Go, in the schema
// of messages and in its TypeScript twin, and none may know a kind that another
// does not. The pages are TestEveryFailureKindHasItsPage's.
func TestKindsAreTheSameEverywhere(t *testing.T) {
	var want []string
	for _, kind := range fault.Kinds() {
		want = append(want, string(kind))
	}
	slices.Sort(want)

	var schema struct {
		Defs struct {
			Error struct {
				Properties struct {
					Kind struct{ Enum []string }
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(read(t, "proto/schema/result.json")), &schema); err != nil {
		t.Fatal(err)
	}
	said := schema.Defs.Error.Properties.Kind.Enum
	slices.Sort(said)
	if !slices.Equal(said, want) {
		t.Errorf("proto/schema/result.json: kinds %q, want %q", said, want)
	}

	twin := read(t, "proto/result.ts")
	_, after, _ := strings.Cut(twin, "export interface Error {")
	union := regexp.MustCompile(`(?s)kind:\s*\n((?:\s*\|\s*"\w+"\s*\n)+)`).FindStringSubmatch(after)
	if union == nil {
		t.Fatal("proto/result.ts: the kinds of Error are not found")
	}
	var typed []string
	for _, word := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(union[1], -1) {
		typed = append(typed, word[1])
	}
	slices.Sort(typed)
	if !slices.Equal(typed, want) {
		t.Errorf("proto/result.ts: kinds %q, want %q", typed, want)
	}
}

// TestNoKindIsInventedInCode: a kind is a constant of package fault; one that is
// written as text elsewhere would escape the list.
func TestNoKindIsInventedInCode(t *testing.T) {
	literal := regexp.MustCompile(`fault\.(?:New|Kind)\("|Kind:\s*"[A-Z]\w*(?:Error|Failure|Exceeded|Denied|Unavailable)"`)
	for _, file := range tracked(t) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		if found := literal.FindString(read(t, file)); found != "" {
			t.Errorf("%s: %s: use the constants of package fault", file, found)
		}
	}
}
