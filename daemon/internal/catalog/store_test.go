package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/upstream"
)

func TestWhatIsKeptOfAServersWordsHasNoSecret(t *testing.T) {
	const secret = `s3cret-"value"-<of>-the-user`
	quoted, _ := json.Marshal(secret)
	mask := func(text string) string {
		return strings.NewReplacer(strings.Trim(string(quoted), `"`), "[redacted]", secret, "[redacted]").Replace(text)
	}
	said := []upstream.Tool{
		{Name: "plain", Description: "says nothing"},
		{Name: "leaky", Description: "started with " + secret, InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"default":` + string(quoted) + `}}}`)},
		{Unusable: "entry 3 is no tool: " + secret},
	}
	dir := t.TempDir()
	c := New(Options{Dir: dir, Mask: mask})
	live := c.Learn("d", "i", 1, said)
	c.Meet("d", Hello{Name: "x", Instructions: "use " + secret})
	c.LearnOffered("d", Resources, NewOfferedList([]Offered{{Key: "file:///" + secret, Raw: json.RawMessage(`{"uri":` + string(quoted) + `}`)}}, ""))
	if !strings.Contains(live.Named("leaky").Description, secret) {
		t.Error("what is in use is the server's own")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "s3cret") || !strings.Contains(string(text), "[redacted]") {
			t.Errorf("%s: %s", file, text)
		}
	}
	again := New(Options{Dir: dir, Mask: mask})
	kept := again.Base("d")
	if kept == nil || kept.Fingerprint != live.Fingerprint || kept.Named("leaky").Fingerprint != live.Named("leaky").Fingerprint {
		t.Fatalf("an approval holds across a restart: %+v, had %+v", kept, live)
	}
	if schema := kept.Named("leaky").InputSchema; !json.Valid(schema) || !strings.Contains(string(schema), "[redacted]") {
		t.Errorf("kept schema: %s", schema)
	}
	if now := again.Learn("d", "j", 1, said); !now.Fresh || !strings.Contains(again.Base("d").Named("leaky").Description, secret) {
		t.Errorf("the live list is used again: %+v", now)
	}
}
