package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// HAR-3.
func TestEverySwitchOfAPresetIsRecordedAndNothingElseIs(t *testing.T) {
	r := start(t, map[string]any{"permissions": map[string]any{
		"presets": map[string]any{"careful": map[string]any{"sandbox": "read-only", "approval": "ask"}},
	}})
	ctx := context.Background()
	c := r.client("")
	use := func(name string) proto.PresetUsed {
		t.Helper()
		used, err := c.UsePreset(ctx, proto.PresetUse{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return used
	}
	switches := func(want int) []proto.PresetSwitch {
		t.Helper()
		var list proto.Presets
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			var err error
			if list, err = c.Presets(ctx); err != nil {
				t.Fatal(err)
			}
			if len(list.Switches) >= want || time.Now().After(deadline) {
				break
			}
		}
		if len(list.Switches) != want {
			t.Fatalf("%d switches, want %d: %+v", len(list.Switches), want, list.Switches)
		}
		return list.Switches
	}
	if list, err := c.Presets(ctx); err != nil || list.Current != "request" || len(list.Presets) != 3 || !list.Presets[2].Own || len(list.Switches) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	if used := use("request"); used.Changed {
		t.Errorf("%+v", used)
	}
	if used := use("careful"); !used.Changed || used.Backup == "" || used.Presets.Current != "careful" || used.Presets.Sandbox != "read-only" {
		t.Errorf("%+v", used)
	}
	if used := use("careful"); used.Changed {
		t.Errorf("%+v", used)
	}
	last := switches(1)[0]
	if last.Actor != "user" || !strings.HasPrefix(last.Detail, "request → careful (") || !strings.Contains(last.Detail, "config.jsonc") {
		t.Errorf("%+v", last)
	}
	for name, want := range map[string]fault.Kind{"custom": fault.UsageError, "carefull": fault.NotFound} {
		if _, err := c.UsePreset(ctx, proto.PresetUse{Name: name}); fault.KindOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An edit by hand is a switch as well.
	file := filepath.Join(r.paths.Config, "config.jsonc")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), `"approval": "ask"`, `"approval": "never"`, 1)
	if edited == string(text) {
		t.Fatalf("the dials are not where they should be: %s", text)
	}
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if by := switches(2)[0]; by.Actor != "file" || !strings.HasPrefix(by.Detail, "careful → custom (") {
		t.Errorf("%+v", by)
	}
}

func TestAnAgentSwitchesNoPreset(t *testing.T) {
	r := start(t, nil)
	ctx := context.Background()
	made, err := r.client("").CreateSession(ctx, proto.SessionCreate{ID: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	agent := r.client("mine")
	agent.Identity.Ticket = made.Ticket
	if _, err := agent.UsePreset(ctx, proto.PresetUse{Name: "yolo"}); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("%v", err)
	}
	if list, err := agent.Presets(ctx); err != nil || list.Current != "request" || len(list.Switches) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// decisions A.2.
func TestALooserPresetWaitsForTrustWhileAHostIsConnected(t *testing.T) {
	r := start(t, nil)
	ctx := context.Background()
	c := r.client("")
	r.attach("ses_1")
	used, err := c.UsePreset(ctx, proto.PresetUse{Name: "yolo"})
	if err != nil || !used.Changed || used.Presets.Waiting != "yolo" || used.Presets.Current != "request" {
		t.Fatalf("%+v, %v", used, err)
	}
	if again, err := c.UsePreset(ctx, proto.PresetUse{Name: "yolo"}); err != nil || again.Changed || again.Presets.Waiting != "yolo" {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := c.Trust(ctx, proto.TrustRequest{Config: true}); err != nil {
		t.Fatal(err)
	}
	list, err := c.Presets(ctx)
	if err != nil || list.Current != "yolo" || list.Waiting != "" || len(list.Switches) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if accepted, written := list.Switches[0].Detail, list.Switches[1].Detail; !strings.Contains(accepted, "trust --config") || !strings.Contains(written, "waits for") {
		t.Errorf("%q, %q", accepted, written)
	}
}
