package opencode

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"tenon/daemon/internal/config/jsonc"
	"tenon/daemon/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func target(t *testing.T, config string) Target {
	t.Helper()
	dir := t.TempDir()
	target := Target{Generation: V1, ConfigDir: filepath.Join(dir, "opencode"), Data: filepath.Join(dir, "data"), Bin: "/opt/tenon"}
	if config != "" {
		write(t, filepath.Join(target.ConfigDir, "opencode.jsonc"), config)
	}
	return target
}

func (t Target) of(g Generation) Target {
	t.Generation = g
	return t
}

// built is a plugin as `make build` leaves it.
func built(t *testing.T, g Generation, text string) *Bundle {
	t.Helper()
	files := fstest.MapFS{
		"tenon.js": {Data: []byte("// opencode-tenon 1.2.3\n" + text)}, "tui.js": {Data: []byte("// tui\n" + text)},
		"server.js": {Data: []byte("// opencode-tenon-v2/server 1.2.3\n" + text)}, "rpc.js": {Data: []byte(text)},
		"package.json": {Data: []byte(`{"name": "opencode-tenon", "version": "1.2.3"}`)},
	}
	if g == V2 {
		files["package.json"] = &fstest.MapFile{Data: []byte(`{"name": "opencode-tenon-v2", "version": "1.2.3", "type": "module",
			"exports": {".": "./server.js", "./server": "./server.js", "./tui": "./tui.js", "./rpc": "./rpc.js"}}`)}
	}
	b, err := readBundle(g, files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wxtsky/CodeIsland#105.
func TestInstallingTwiceAndUninstallingLeavesTheFileAsItWas(t *testing.T) {
	before := "\ufeff{\r\n  // mine\r\n  \"theme\": \"x\",\r\n  \"plugin\": [\"other\"], /* one line */\r\n  \"plugins\": [ \"-x\" ],\r\n}\r\n"
	for _, g := range Generations() {
		t.Run(string(g), func(t *testing.T) {
			x, b := target(t, before).of(g), built(t, g, "plugin")
			first, err := x.Install(b)
			if err != nil || !first.Changed || len(first.Edits) == 0 || first.Edits[0].Backup == "" {
				t.Fatalf("%+v, %v", first, err)
			}
			if read(t, first.Edits[0].Backup) != before {
				t.Error("the backup is not the file as it was")
			}
			if s := x.Status(b, nil); !s.Installed || !s.Present || !s.Current || s.Problem != "" || s.Version != "1.2.3" || s.Carried != "1.2.3" {
				t.Errorf("status %+v", s)
			}
			if s := x.of(g.other()).Status(nil, nil); s.Installed || s.Present {
				t.Errorf("of the other generation: %+v", s)
			}
			after := read(t, first.Config)
			if second, err := x.Install(b); err != nil || second.Changed || len(second.Edits) != 0 || read(t, first.Config) != after {
				t.Errorf("second: %+v, %v", second, err)
			}
			if s := x.Status(built(t, g, "newer"), nil); !s.Installed || s.Current {
				t.Errorf("status %+v", s)
			}
			if r, err := x.Uninstall(); err != nil || !r.Changed {
				t.Errorf("uninstall: %+v, %v", r, err)
			}
			if got := read(t, first.Config); got != before {
				t.Errorf("not restored:\n%q\n%q", got, before)
			}
			if s := x.Status(nil, nil); s.Installed {
				t.Errorf("status %+v", s)
			}
			if gone, err := x.RemovePlugin(); err != nil || !gone {
				t.Errorf("%v, %v", gone, err)
			}
			if left, _ := os.ReadDir(filepath.Join(x.Data, "plugins")); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// Contract of v2: a configured path is a directory, in which <dir>/server is
// looked for before exports are.
func TestThePluginOfV2IsADirectoryThatBothWaysOfResolvingFind(t *testing.T) {
	x := target(t, "").of(V2)
	write(t, filepath.Join(x.Plugin(), "of-an-older-build.js"), "old")
	if _, err := x.Install(built(t, V2, "plugin")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server.js", "tui.js", "rpc.js", "package.json"} {
		if _, err := os.Stat(filepath.Join(x.Plugin(), name)); err != nil {
			t.Error(err)
		}
	}
	if lexists(filepath.Join(x.Plugin(), "of-an-older-build.js")) {
		t.Error("a file of an older build is still there")
	}
	var p npmPackage
	if err := json.Unmarshal([]byte(read(t, filepath.Join(x.Plugin(), "package.json"))), &p); err != nil || p.Type != "module" {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, name := range []string{".", "./server", "./tui", "./rpc"} {
		if target := p.Exports[name]; target == "" || !lexists(filepath.Join(x.Plugin(), target)) {
			t.Errorf("exports %q: %q", name, target)
		}
	}
	value, _, err := jsonc.Get([]byte(read(t, x.File())), []string{"plugins"})
	entry, _ := value.([]any)[0].(map[string]any)
	if err != nil || entry["package"] != x.Plugin() || entry["options"].(map[string]any)["bin"] != "/opt/tenon" {
		t.Errorf("%v, %v", value, err)
	}
}

func TestBothGenerationsShareOneFileWithoutTouchingEachOther(t *testing.T) {
	before := "{\n  // mine\n  \"theme\": \"x\"\n}\n"
	x := target(t, before)
	install := func(g Generation) string {
		t.Helper()
		if _, err := x.of(g).Install(built(t, g, "plugin")); err != nil {
			t.Fatal(err)
		}
		return read(t, x.File())
	}
	one := install(V1)
	install(V2)
	for _, g := range Generations() {
		if s := x.of(g).Status(built(t, g, "plugin"), nil); !s.Installed || !s.Current {
			t.Errorf("%+v", s)
		}
	}
	if _, err := x.of(V2).Uninstall(); err != nil || read(t, x.File()) != one {
		t.Errorf("v1's entry was touched: %v\n%s", err, read(t, x.File()))
	}
	if _, err := x.of(V1).Uninstall(); err != nil || read(t, x.File()) != before {
		t.Errorf("not restored: %v\n%s", err, read(t, x.File()))
	}
}

func TestAFileThatCannotBeReadIsLeftAlone(t *testing.T) {
	for _, g := range Generations() {
		before := "{ \"plugin\": [ oops"
		x := target(t, before).of(g)
		_, err := x.Install(built(t, g, "plugin"))
		hint := fault.From(err).Hint
		if fault.KindOf(err) != fault.ConfigError || !strings.Contains(hint, "by hand") || !strings.Contains(hint, x.Plugin()) || !strings.Contains(hint, x.entries()[0].plugin.List) {
			t.Errorf("got %v, %s", err, hint)
		}
		if read(t, x.File()) != before {
			t.Error("the file was touched")
		}
		if lexists(x.Plugin()) {
			t.Error("a plugin was left behind")
		}
	}
}

func TestNothingIsDoneWhenTheSecondFileCannotBeRead(t *testing.T) {
	x := target(t, "{}\n")
	write(t, filepath.Join(x.ConfigDir, "tui.json"), "{ oops")
	if _, err := x.Install(built(t, V1, "plugin")); fault.KindOf(err) != fault.ConfigError || !strings.Contains(err.Error(), "tui.json") {
		t.Errorf("got %v", err)
	}
	if read(t, x.File()) != "{}\n" || lexists(x.Plugin()) {
		t.Error("something was done")
	}
}

func TestNothingIsDoneForOneGenerationWhenTheOthersEntryCannotBeAdded(t *testing.T) {
	before := "{\"plugins\": {\"a\": 1}}\n" // v2's list, which is none
	x := target(t, before)
	targets := []Target{x, x.of(V2)}
	done, err := InstallAll(targets, []*Bundle{built(t, V1, "plugin"), built(t, V2, "plugin")})
	if fault.KindOf(err) != fault.ConfigError || len(done) != 0 {
		t.Errorf("got %v, %v", done, err)
	}
	if read(t, x.File()) != before || lexists(x.Plugin()) || lexists(configFile(x.ConfigDir, "tui")) {
		t.Error("something was done")
	}
}

func TestTheBackupIsTheFileBeforeTheFirstInstall(t *testing.T) {
	before := "{\n  \"theme\": \"mine\"\n}\n"
	x := target(t, before)
	for _, g := range Generations() { // the second finds the first's entry
		one := x.of(g)
		for _, bin := range []string{"/one/tenon", "/two/tenon"} {
			one.Bin = bin
			if r, err := one.Install(built(t, g, "plugin")); err != nil || !r.Changed || read(t, r.Edits[0].Backup) != before {
				t.Fatalf("%s %s: %+v, %v", g, bin, r, err)
			}
		}
	}
	for _, g := range Generations() {
		if r, err := x.of(g).Uninstall(); err != nil || read(t, r.Edits[0].Backup) != before {
			t.Errorf("%+v, %v", r, err)
		}
	}
	// Without tenon in it, the file as it is now is what the next install keeps.
	after := "{\n  \"theme\": \"other\"\n}\n"
	if err := os.WriteFile(x.File(), []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := x.of(V2).Install(built(t, V2, "plugin")); err != nil || read(t, r.Edits[0].Backup) != after {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestUninstallRemovesTheFilesThatInstallMade(t *testing.T) {
	for _, order := range [][]Generation{{V1}, {V2}, {V1, V2}, {V2, V1}} {
		x := target(t, "")
		for _, g := range order {
			r, err := x.of(g).Install(built(t, g, "plugin"))
			if err != nil || !r.Changed {
				t.Fatalf("%+v, %v", r, err)
			}
			moved := x.of(g)
			moved.Bin = "/elsewhere/tenon" // an edit, which leaves a backup
			if r, err := moved.Install(built(t, g, "plugin")); err != nil || r.Edits[0].Backup == "" {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		for i, g := range order {
			r, err := x.of(g).Uninstall()
			if last := i == len(order)-1; err != nil || !r.Changed || r.Edits[0].Removed != last {
				t.Errorf("%v %s: %+v, %v", order, g, r, err)
			}
		}
		if left, err := os.ReadDir(x.ConfigDir); err != nil || len(left) != 0 {
			t.Errorf("%v: left: %v, %v", order, left, err)
		}
		if r, err := x.Uninstall(); err != nil || r.Changed {
			t.Errorf("again: %+v, %v", r, err)
		}
	}
}

func TestUninstallKeepsAFileThatIsTheUsers(t *testing.T) {
	empty := target(t, "{}\n") // as install would have made it, but it was there
	added := target(t, "")
	for name, x := range map[string]Target{"there before": empty, "added to": added} {
		if _, err := x.Install(built(t, V1, "plugin")); err != nil {
			t.Fatal(err)
		}
		if name == "added to" {
			write(t, x.File(), "{\n  // mine\n"+read(t, x.File())[1:])
		}
		if r, err := x.Uninstall(); err != nil || !r.Changed || r.Edits[0].Removed {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if !lexists(x.File()) {
			t.Errorf("%s: the file is gone", name)
		}
	}
}

func TestAConfigurationThatNamesWhatIsGoneIsAProblem(t *testing.T) {
	x := target(t, "")
	if _, err := x.Install(built(t, V1, "plugin")); err != nil {
		t.Fatal(err)
	}
	if _, err := x.RemovePlugin(); err != nil {
		t.Fatal(err)
	}
	if s := x.Status(built(t, V1, "plugin"), nil); !strings.Contains(s.Problem, "install again") || s.Present {
		t.Errorf("%+v", s)
	}
}

func TestABundleThatLacksAFileIsRefused(t *testing.T) {
	_, err := readBundle(V2, fstest.MapFS{"server.js": {}, "tui.js": {}, "package.json": {Data: []byte("{}")}})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
