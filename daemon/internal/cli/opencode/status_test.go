package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

// different-ai/opencode-browser#30. Both hosts scan the same folders.
func TestCopiesInFoldersThatTheOtherHostReadsAreNamed(t *testing.T) {
	x := target(t, "")
	for _, g := range Generations() {
		if _, err := x.of(g).Install(built(t, g, "plugin")); err != nil {
			t.Fatal(err)
		}
	}
	folder := func(name string) string { return filepath.Join(x.ConfigDir, "plugins", name) }
	write(t, folder("renamed.js"), "// opencode-tenon 1.0.0\n")
	write(t, folder("before-titles.ts"), "x = {\n  plugin: \"opencode-tenon\",\n}\n")
	write(t, folder("second.js"), "// opencode-tenon-v2/server 2.0.0\n")
	write(t, folder("dual.js"), "// opencode-tenon-v2/dual 2.0.0\n")
	write(t, folder("directory/package.json"), `{"name": "opencode-tenon-v2", "version": "2.0.0"}`)
	write(t, folder("somebody-elses.js"), "// a plugin that works beside opencode-tenon\n")
	write(t, folder("notes.md"), "// opencode-tenon 1.0.0\n")
	write(t, filepath.Join(x.ConfigDir, "config.json"), `{"plugin": ["opencode-tenon@0.9.0", ["./plugins/second.js", {}], "another"], "plugins": [{"package": "./plugins/renamed.js"}]}`)

	others := Others([]string{x.ConfigDir}, ConfigFiles([]string{x.ConfigDir}, x.ConfigDir), x, x.of(V2))
	got := map[string]Other{}
	for _, o := range others {
		got[strings.TrimPrefix(o.Path, x.ConfigDir+"/plugins/")+" "+o.List] = o
	}
	for key, want := range map[string]struct {
		made Generation
		text string
	}{
		"renamed.js ":                 {V1, "v2 reads the same folder, cannot use it and goes on"},
		"before-titles.ts ":           {V1, "v2 reads the same folder"},
		"second.js ":                  {V2, "v1 reads the same folder, logs that it cannot use it"},
		"dual.js ":                    {V2, "v1 and v2 both load it"},
		"directory ":                  {V2, "v1 looks into no directories"},
		"opencode-tenon@0.9.0 plugin": {V1, "opencode v1 loads it besides"},
		"second.js plugin":            {V2, "v2's plugin in v1's list"},
		"renamed.js plugins":          {V1, "v1's plugin in v2's list"},
	} {
		if o, ok := got[key]; !ok || o.Made != want.made || !strings.Contains(o.Text, want.text) {
			t.Errorf("%q: %+v", key, o)
		}
	}
	if len(others) != 8 {
		t.Errorf("%d: %+v", len(others), others)
	}
}

func TestWhatIsInstalledFollowsTheProgramsOnThePath(t *testing.T) {
	top := t.TempDir()
	program := func(dir, script string) string {
		t.Helper()
		file := write(t, filepath.Join(top, dir, "opencode"), script)
		if err := os.Chmod(file, 0o700); err != nil {
			t.Fatal(err)
		}
		return filepath.Dir(file)
	}
	packaged := program("node_modules/opencode-linux/bin", "not even a script")
	write(t, filepath.Join(top, "node_modules/opencode-linux/package.json"), `{"name": "opencode-linux", "version": "1.18.31"}`)
	asked := program("home/bin", "#!/bin/sh\n[ \"$1\" = --version ] && echo opencode \"$SAY\"\n")
	silent := program("broken", "#!/bin/sh\nexit 1\n")
	link := filepath.Join(top, "links")
	if err := os.MkdirAll(link, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(packaged, "opencode"), filepath.Join(link, "opencode")); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{link, packaged, silent, "relative", asked}, ":")
	got := Programs(path, []string{"SAY=2.0.23", "PATH=/usr/bin:/bin"})
	if len(got) != 2 || got[0].Version != "1.18.31" || got[0].Host != V1 || got[1].Version != "2.0.23" || got[1].Host != V2 {
		t.Fatalf("%+v", got)
	}
	if chosen, err := Chosen(got); err != nil || len(chosen) != 2 {
		t.Errorf("%v, %v", chosen, err)
	}
	if chosen, err := Chosen(got[1:]); err != nil || len(chosen) != 1 || chosen[0] != V2 {
		t.Errorf("%v, %v", chosen, err)
	}
	if _, err := Chosen(nil); fault.KindOf(err) != fault.NotFound || !strings.Contains(fault.From(err).Hint, "--v2") {
		t.Errorf("%v", err)
	}
}

func TestEntriesOfTheHostThatAreTenonAreFound(t *testing.T) {
	dir := t.TempDir()
	first := write(t, filepath.Join(dir, "opencode.json"), `{"mcp": {
		"one": {"type": "local", "command": ["/opt/tenon", "mcp"]},
		"off": {"command": ["tenon", "mcp"], "enabled": false},
		"flat": {"command": ["tenon", "mcp", "--flat"]},
		"through": {"command": ["tenon", "mcp", "--server", "x"]},
		"other": {"command": ["npx", "else"]}
	}}`)
	second := write(t, filepath.Join(dir, "opencode.jsonc"), `{"mcp": {"servers": {
		"nested": {"type": "remote", "url": "http://127.0.0.1:7777/mcp"},
		"direct": {"type": "local", "command": ["tenon", "mcp"], "codemode": false},
		"all": {"type": "remote", "url": "http://127.0.0.1:7777/mcp?codemode=false"},
		"gone": {"command": ["tenon", "mcp"], "disabled": true}
	}}}`)
	ours := func(command []string, address string) bool {
		return strings.Contains(address, "7777") || len(command) > 1 && command[1] == "mcp"
	}
	var got []string
	for _, r := range Registrations([]string{first, second, filepath.Join(dir, "none.json")}, ours) {
		mark := func(set bool, letter string) string { return map[bool]string{true: letter}[set] }
		got = append(got, r.Name+":"+mark(r.Second, "2")+mark(r.Direct, "d")+mark(r.Programs, "p"))
	}
	if want := "flat: one:p through: all:2 direct:2dp nested:2p"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}
