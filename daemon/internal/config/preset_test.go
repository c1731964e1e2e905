package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/config/jsonc"
	"tenon/daemon/internal/fault"
)

const ownPresets = "\"presets\": { \"careful\": { \"sandbox\": \"read-only\", \"approval\": \"ask\" } }"

func TestAPresetIsWrittenThroughToBothDialsKeepingTheFile(t *testing.T) {
	w := newWorld(t)
	before := "{\r\n  // mine\r\n  \"permissions\": {\r\n    \"preset\": \"request\", // a habit\r\n    \"rules\": { \"x_*\": \"ask\" },\r\n    " + ownPresets + "\r\n  },\r\n  \"servers\": {}\r\n}\r\n"
	file := w.user(before)
	s, err := w.store.UsePreset("careful", "")
	if err != nil || !s.Changed || s.File != file || s.From != (Dials{"workspace-write", "ask"}) || s.To.Sandbox != "read-only" {
		t.Fatalf("%+v, %v", s, err)
	}
	after, _ := os.ReadFile(file)
	text := string(after)
	for _, kept := range []string{"// mine\r\n", "// a habit", "\"rules\": { \"x_*\": \"ask\" },\r\n", ownPresets, "\"servers\": {}\r\n}\r\n"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q is gone:\n%s", kept, text)
		}
	}
	if backup, _ := os.ReadFile(file + jsonc.BackupSuffix); string(backup) != before || s.Backup != file+jsonc.BackupSuffix {
		t.Error("no backup of the file as it was")
	}
	v := w.view()
	if p := v.Permissions; p.Preset != "" || p.Sandbox != "read-only" || p.Approval != "ask" || len(p.Presets) != 1 {
		t.Errorf("in effect: %+v, %q", p, v.Problems())
	}
	if again, err := w.store.UsePreset("careful", ""); err != nil || again.Changed {
		t.Errorf("a second time: %+v, %v", again, err)
	}
	if now, _ := os.ReadFile(file); string(now) != text {
		t.Error("the second time changed the file")
	}
}

func TestAPresetThatTheFileHasAlreadyChangesNothing(t *testing.T) {
	w := newWorld(t)
	file := w.user(`{"permissions": {"preset": "yolo"}}`)
	if s, err := w.store.UsePreset("yolo", ""); err != nil || s.Changed {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := os.Stat(file + jsonc.BackupSuffix); err == nil {
		t.Error("the file was written")
	}
	none := newWorld(t)
	if s, err := none.store.UsePreset("request", ""); err != nil || s.Changed {
		t.Errorf("without a file: %+v, %v", s, err)
	}
}

func TestAPresetMakesTheFileThatIsMissing(t *testing.T) {
	w := newWorld(t)
	s, err := w.store.UsePreset("yolo", "")
	if err != nil || !s.Changed || s.Backup != "" || filepath.Base(s.File) != "config.jsonc" {
		t.Fatalf("%+v, %v", s, err)
	}
	if p := w.view().Permissions; p.Sandbox != "full" || p.Approval != "never" {
		t.Errorf("%+v", p)
	}
	if st, err := os.Stat(s.File); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
}

func TestWhatIsNoPresetIsRefused(t *testing.T) {
	w := newWorld(t)
	w.user("{\"permissions\": {" + ownPresets + "}}")
	for name, want := range map[string]fault.Kind{"custom": fault.UsageError, "carefull": fault.NotFound, "": fault.NotFound} {
		if _, err := w.store.UsePreset(name, ""); fault.KindOf(err) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := w.store.UsePreset("carefull", ""); !strings.Contains(fault.From(err).Hint, `"careful"`) {
		t.Errorf("%v", fault.From(err).Hint)
	}
	other := w.write(filepath.Join(w.home, "other.yaml"), "servers: {}\n")
	if _, err := w.store.UsePreset("yolo", other); fault.KindOf(err) != fault.ConfigError || !strings.Contains(fault.From(err).Hint, "permissions.sandbox to full") {
		t.Errorf("%v", err)
	}
	broken := w.write(filepath.Join(w.home, "broken.jsonc"), "{ oops")
	if _, err := w.store.UsePreset("yolo", broken); fault.KindOf(err) != fault.ConfigError {
		t.Errorf("%v", err)
	}
}

func TestPresetsOfTheUsersOwnAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		`"presets": {"custom": {"sandbox": "full", "approval": "ask"}}`: "custom is taken",
		`"presets": {"yolo": {"sandbox": "full", "approval": "ask"}}`:   "yolo is taken",
		`"presets": {"a": {"sandbox": "full"}}`:                         "approval is missing",
		`"presets": {"a": {"sandbox": "fuller", "approval": "ask"}}`:    "fuller",
		`"preset": "carful", ` + ownPresets:                             "careful",
		`"preset": "custom"`:                                            "none of request, yolo",
	} {
		w := newWorld(t)
		w.user("{\"permissions\": {" + text + "}}")
		if _, err := w.store.View(w.project, "", w.env()); fault.KindOf(err) != fault.ConfigError || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	w := newWorld(t)
	w.user("{\"permissions\": {\"preset\": \"careful\", " + ownPresets + "}}")
	if p := w.view().Permissions; p.Sandbox != "read-only" || p.Approval != "ask" {
		t.Errorf("%+v", p)
	}
}

func TestAProjectHasNoPresetsOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.projectConfig("{\"permissions\": {\"sandbox\": \"read-only\", " + ownPresets + "}}")
	if _, err := w.store.Trust(w.project); err != nil {
		t.Fatal(err)
	}
	v := w.view()
	if v.Permissions.Sandbox != "read-only" || len(v.Permissions.Presets) != 0 || !hasNote(v, "permissions.presets is ignored") {
		t.Errorf("%+v, %+v", v.Permissions, v.Notes)
	}
}

func TestALooserPresetWaitsWhileASessionIsAttached(t *testing.T) {
	w := newWorld(t)
	w.user("{\"permissions\": {" + ownPresets + "}}")
	if w.view().Held {
		t.Fatal("nothing has changed yet")
	}
	w.attached = true
	if _, err := w.store.UsePreset("yolo", ""); err != nil {
		t.Fatal(err)
	}
	if v := w.view(); !v.Held || v.Permissions.Sandbox != "workspace-write" || v.Permissions.Approval != "ask" || len(v.Permissions.Presets) != 1 {
		t.Errorf("held %v: %+v", v.Held, v.Permissions)
	}
	if _, d, err := w.store.WrittenDials(""); err != nil || d != (Dials{"full", "never"}) {
		t.Errorf("%+v, %v", d, err)
	}
	if changed, err := w.store.TrustConfig(); err != nil || !changed {
		t.Errorf("%v, %v", changed, err)
	}
	if v := w.view(); v.Held || v.Permissions.Approval != "never" {
		t.Errorf("held %v: %+v", v.Held, v.Permissions)
	}
	if _, err := w.store.UsePreset("careful", ""); err != nil {
		t.Fatal(err)
	}
	if v := w.view(); v.Held || v.Permissions.Sandbox != "read-only" {
		t.Errorf("a stricter one is in effect at once: held %v, %+v", v.Held, v.Permissions)
	}
}
