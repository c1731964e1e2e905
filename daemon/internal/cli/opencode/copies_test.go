package opencode

import (
	"os"
	"path/filepath"
	"testing"

	"tenon/daemon/internal/config/jsonc"
)

const hostFile = "\ufeff{\r\n  // mine\r\n  \"mcp\": {\r\n    \"a\": { \"type\": \"local\", \"command\": [\"a\"] }, // first\r\n" +
	"    \"b\": {\r\n      \"enabled\" : true,\r\n      \"type\": \"remote\", \"url\": \"https://b.example\",\r\n    },\r\n" +
	"    \"off\": { \"enabled\": false, \"command\": [\"c\"] },\r\n    \"unknown\": { \"command\": [\"d\"] },\r\n    \"text\": 5,\r\n  }\r\n}\r\n"

// decisions B.28.
func TestCopiesAreSwitchedOffAndGivenBackByteForByte(t *testing.T) {
	x := target(t, hostFile)
	home := t.TempDir()
	second := filepath.Join(home, ".opencode", "opencode.json")
	if err := os.MkdirAll(filepath.Dir(second), 0o700); err != nil {
		t.Fatal(err)
	}
	nested := `{"mcp":{"servers":{"a":{"command":["a"],"enabled":true}}}}`
	if err := os.WriteFile(second, []byte(nested), 0o600); err != nil {
		t.Fatal(err)
	}
	state := Disabled(filepath.Join(t.TempDir(), "state", "copies.json"))
	known := func(name string) bool { return name != "unknown" }
	running := func() []Copy { return Running(UserFiles(x.ConfigDir, home), known) }

	copies := running()
	if len(copies) != 3 {
		t.Fatalf("%+v", copies)
	}
	if err := state.Switch(copies); err != nil {
		t.Fatal(err)
	}
	if left := running(); len(left) != 0 {
		t.Errorf("still on: %+v", left)
	}
	off := read(t, x.File())
	for path, want := range map[string]any{"a": false, "b": false, "off": false, "unknown": nil} {
		if got, _, err := jsonc.Get([]byte(off), []string{"mcp", path, "enabled"}); err != nil || got != want {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if read(t, x.File()+jsonc.BackupSuffix) != hostFile {
		t.Error("no backup of the file as it was")
	}
	if info, err := os.Stat(string(state)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	// Nothing to do changes nothing, and forgets nothing.
	if err := state.Switch(running()); err != nil || read(t, x.File()) != off {
		t.Errorf("%v", err)
	}
	undone, err := state.Undo()
	if err != nil || len(undone) != 3 {
		t.Fatalf("%+v, %v", undone, err)
	}
	if got := read(t, x.File()); got != hostFile {
		t.Errorf("not as it was:\n%q\n%q", got, hostFile)
	}
	if got := read(t, second); got != nested {
		t.Errorf("not as it was: %s", got)
	}
	if undone, err := state.Undo(); err != nil || len(undone) != 0 {
		t.Errorf("a second time: %+v, %v", undone, err)
	}
}

func TestWhatTheUserChangedSinceIsNotUndone(t *testing.T) {
	x := target(t, `{"mcp": {"a": {"command": ["a"]}, "b": {"command": ["b"]}, "gone": {"command": ["c"]}}}`)
	state := Disabled(filepath.Join(t.TempDir(), "copies.json"))
	if err := state.Switch(Running([]string{x.File()}, func(string) bool { return true })); err != nil {
		t.Fatal(err)
	}
	changed := `{"mcp": {"a": {"command": ["a"], "enabled": true}, "b": {"command": ["b"], "enabled": false, "timeout": 5}}}`
	if err := os.WriteFile(x.File(), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	undone, err := state.Undo()
	if err != nil || len(undone) != 1 || undone[0].Name != "b" {
		t.Errorf("%+v, %v", undone, err)
	}
	if got, want := read(t, x.File()), `{"mcp": {"a": {"command": ["a"], "enabled": true}, "b": {"command": ["b"], "timeout": 5}}}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestAFileOfTheHostThatCannotBeReadIsLeftAlone(t *testing.T) {
	x := target(t, `{"mcp": {"a": {"command": ["a"]}}}`)
	state := Disabled(filepath.Join(t.TempDir(), "copies.json"))
	copies := Running([]string{x.File()}, func(string) bool { return true })
	if err := os.WriteFile(x.File(), []byte(`{"mcp": oops`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := state.Switch(copies); err == nil || read(t, x.File()) != `{"mcp": oops` {
		t.Errorf("%v", err)
	}
	if got := Running([]string{x.File()}, func(string) bool { return true }); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
