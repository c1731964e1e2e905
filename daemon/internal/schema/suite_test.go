package schema

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOfficialSuite holds the package against the JSON Schema Test Suite, as a
// module that is linked anyway carries it. Every answer must be right; only
// schemas with references that are not followed may go without one.
func TestOfficialSuite(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dialect, uri := range map[string]string{
		"draft7":       "http://json-schema.org/draft-07/schema#",
		"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
	} {
		files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata", dialect, "*.json"))
		if len(files) < 30 {
			t.Fatalf("%s: %d files; want the suite", dialect, len(files))
		}
		used, unusable := 0, 0
		for _, file := range files {
			n, not := suiteFile(t, file, uri)
			used, unusable = used+n, unusable+not
		}
		if used < 700 || unusable > used/10 {
			t.Errorf("%s: %d values checked, %d not; want nearly all checked", dialect, used, unusable)
		}
	}
}

func suiteFile(t *testing.T, file, dialect string) (checked, unusable int) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	if err := json.Unmarshal(raw, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		name := strings.TrimSuffix(filepath.Base(file), ".json") + "/" + g.Description
		s, err := Compile(named(g.Schema, dialect))
		if err != nil {
			unusable += len(g.Tests)
			if !strings.Contains(err.Error(), "is not followed") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for _, c := range g.Tests {
			bad, err := s.Check(c.Data)
			if err != nil {
				unusable++
				continue
			}
			checked++
			if (bad == nil) != c.Valid {
				t.Errorf("%s: %s: %s: got %+v, want valid %v", name, c.Description, c.Data, bad, c.Valid)
			}
		}
	}
	return checked, unusable
}

// named gives a schema its dialect, if it does not name one.
func named(raw []byte, dialect string) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields["$schema"] != nil {
		return raw
	}
	fields["$schema"], _ = json.Marshal(dialect)
	out, _ := json.Marshal(fields)
	return out
}
