package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"tenon/proto"
)

func TestPresetsAreListedSwitchedAndRecorded(t *testing.T) {
	p := newPlace(t, map[string]any{"permissions": map[string]any{
		"presets": map[string]any{"careful": map[string]any{"sandbox": "read-only", "approval": "ask"}},
	}})
	current := func(out string) string {
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "*") {
				return strings.Join(strings.Fields(line)[1:4], " ")
			}
		}
		return ""
	}
	if got := p.run("preset"); got.code != 0 || current(got.out) != "request workspace-write ask" || !strings.Contains(got.out, "your configuration") {
		t.Errorf("%+v", got)
	}
	if got := p.run("preset", "use", "careful"); got.code != 0 || !strings.Contains(got.err, "careful: sandbox read-only, approval ask") || !strings.Contains(got.err, ".tenon-backup") {
		t.Errorf("%+v", got)
	}
	if got := p.run("preset", "use", "careful"); got.code != 0 || !strings.Contains(got.err, "nothing to do") {
		t.Errorf("%+v", got)
	}
	if got := p.run("preset", "show"); got.code != 0 || got.out != "careful: sandbox read-only, approval ask\n" {
		t.Errorf("%+v", got)
	}
	if got := p.run("preset", "show", "yolo"); got.code != 0 || got.out != "yolo: sandbox full, approval never\n" {
		t.Errorf("%+v", got)
	}
	if got := p.run("preset", "show", "yollo"); got.code != 1 || !strings.Contains(got.err, "request, yolo, careful") {
		t.Errorf("%+v", got)
	}
	if got := p.run("preset", "use", "custom"); got.code != 2 || !strings.Contains(got.err, "no preset") {
		t.Errorf("%+v", got)
	}
	if got := p.run("preset", "list"); got.code != 0 || current(got.out) != "careful read-only ask" || !strings.Contains(got.out, "user: request → careful") {
		t.Errorf("%+v", got)
	}
	var doc proto.Presets
	got := p.run("--json", "preset")
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || doc.Current != "careful" || len(doc.Switches) != 1 || doc.File != filepath.Join(p.home, "config/tenon/config.jsonc") {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestDialsThatNoPresetHasAreCalledCustom(t *testing.T) {
	p := newPlace(t, map[string]any{"permissions": map[string]any{"sandbox": "read-only"}})
	if got := p.run("preset"); got.code != 0 || !strings.Contains(got.out, "custom   read-only        ask") {
		t.Errorf("%+v", got)
	}
	if got := p.run("preset", "show", "custom"); got.code != 0 || got.out != "custom: sandbox read-only, approval ask\n" {
		t.Errorf("%+v", got)
	}
}
