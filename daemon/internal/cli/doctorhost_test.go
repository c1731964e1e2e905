package cli

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// link makes a program of a file below the home and links it to another name.
func (p *place) link(file, name string) {
	p.t.Helper()
	target, link := filepath.Join(p.home, file), filepath.Join(p.home, name)
	err := os.Chmod(target, 0o700)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(link), 0o700)
	}
	if err == nil {
		err = os.Symlink(target, link)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// diagnosis is what doctor says, by topic.
func (p *place) diagnosis() (findings []finding, problems int) {
	p.t.Helper()
	got := p.run("--json", "doctor")
	var doc struct {
		Problems int
		Findings []finding
	}
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
		p.t.Fatalf("%v: %+v", err, got)
	}
	if (doc.Problems > 0) != (got.code != 0) {
		p.t.Errorf("%d problems, exit %d", doc.Problems, got.code)
	}
	return doc.Findings, doc.Problems
}

// says reports whether one finding has the level, the topic and all of the words.
func says(findings []finding, level, topic string, words ...string) bool {
	for _, f := range findings {
		all := f.Level == level && f.Topic == topic
		for _, w := range words {
			all = all && strings.Contains(f.Text+" "+f.Hint, w)
		}
		if all {
			return true
		}
	}
	return false
}

// CODE-53.
func TestDoctorNamesWhatNestsCodeMode(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(address, ":")
	p := newPlace(t, map[string]any{"listen": map[string]any{"address": address, "token": "not a secret, and long enough"}})
	p.environ = append(p.environ, "OPENCODE_CONFIG_DIR="+p.home+"/extra")
	file := p.write("config/opencode/opencode.jsonc", `{
		"mcp": {"servers": {
			"nested": {"type": "local", "command": ["/opt/tenon", "mcp"]},
			"remote": {"type": "remote", "url": "http://localhost:`+port+`/mcp"},
			"direct": {"type": "local", "command": ["/opt/tenon", "mcp"], "codemode": false},
			"flat": {"type": "local", "command": ["/opt/tenon", "mcp", "--flat"]},
			"other": {"type": "local", "command": ["npx", "else"]}
		}}
	}`)
	p.write("extra/opencode.json", `{"mcp": {"first": {"type": "local", "command": ["tenon", "mcp"]}}}`)
	findings, problems := p.diagnosis()
	for _, name := range []string{"nested", "remote"} {
		if !says(findings, "problem", "nesting", "server "+name+" in "+file, `"codemode": false`, "v2") {
			t.Errorf("%s is not named: %+v", name, findings)
		}
	}
	for _, name := range []string{"direct", "flat", "other", "first"} {
		if says(findings, "problem", "nesting", "server "+name) {
			t.Errorf("%s nests nothing: %+v", name, findings)
		}
	}
	if problems != 2 || says(findings, "note", "nesting", "twice") {
		t.Errorf("%d problems: %+v", problems, findings)
	}

	p.environ = append(p.environ, "OPENCODE_EXPERIMENTAL=1")
	if findings, problems = p.diagnosis(); problems != 3 || !says(findings, "problem", "nesting", "server first", "OPENCODE_EXPERIMENTAL") {
		t.Errorf("%d problems: %+v", problems, findings)
	}
	p.environ = append(p.environ, "OPENCODE_EXPERIMENTAL_CODE_MODE=0") // the specific one decides
	if _, problems = p.diagnosis(); problems != 2 {
		t.Errorf("%d problems", problems)
	}
}

func TestDoctorNamesToolsThatAreThereTwice(t *testing.T) {
	p := newPlace(t, nil)
	p.write("config/opencode/opencode.jsonc", `{
		"plugin": [["`+p.home+`/data/tenon/plugins/opencode-v1.js", {}]],
		"mcp": {"mine": {"type": "local", "command": ["tenon", "mcp"]}}
	}`)
	p.write("data/tenon/plugins/opencode-v1.js", "// opencode-tenon 0.0.1\n")
	findings, _ := p.diagnosis()
	if !says(findings, "note", "nesting", "server mine", "twice") {
		t.Errorf("%+v", findings)
	}
}

func TestDoctorSaysWhichOpencodeLacksItsPlugin(t *testing.T) {
	p := newPlace(t, nil)
	p.environ = append(p.environ, "PATH="+p.home+"/bin:/usr/bin:/bin")
	if findings, _ := p.diagnosis(); !says(findings, "note", "opencode", "no opencode is on the PATH") {
		t.Errorf("%+v", findings)
	}
	p.write("node_modules/opencode-ai/package.json", `{"name": "opencode-ai", "version": "2.0.23"}`)
	p.write("node_modules/opencode-ai/bin/opencode", "#!/bin/sh\n")
	p.link("node_modules/opencode-ai/bin/opencode", "bin/opencode")
	findings, _ := p.diagnosis()
	if !says(findings, "ok", "opencode", "2.0.23") || !says(findings, "note", "opencode", "the plugin for v2 is not in", "--v2") {
		t.Errorf("%+v", findings)
	}
	if says(findings, "note", "opencode", "the plugin for v1") {
		t.Errorf("there is no v1: %+v", findings)
	}
}

func TestDoctorGoesOnWithoutADaemon(t *testing.T) {
	got := tenon(t, "", "--json", "doctor")
	var doc struct{ Findings []finding }
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || got.code != 1 {
		t.Fatalf("%v: %+v", err, got)
	}
	if !says(doc.Findings, "problem", "daemon", "no daemon answers", "tenon daemon start") || !says(doc.Findings, "note", "opencode") {
		t.Errorf("%+v", doc.Findings)
	}
}

func TestDoctorNamesTheEngineThatTheConfigurationWantsAndNobodyHas(t *testing.T) {
	p := newPlace(t, map[string]any{"script": map[string]any{"engine": "deno"}})
	p.environ = append(p.environ, "PATH="+p.home+"/none")
	if findings, _ := p.diagnosis(); !says(findings, "problem", "engine", "script.engine is deno", "install deno") {
		t.Errorf("%+v", findings)
	}
}
