package bridge

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"tenon/daemon/internal/config"
)

func TestPluginsSendTheDaemonsAllowList(t *testing.T) {
	data, err := os.ReadFile("../../../proto/fixtures/environment.json")
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	if err := json.Unmarshal(data, &sent); err != nil {
		t.Fatal(err)
	}
	known := config.BaseNames()
	slices.Sort(sent)
	slices.Sort(known)
	if !slices.Equal(sent, known) {
		t.Errorf("plugins send %q\nthe daemon takes %q", sent, known)
	}
}
