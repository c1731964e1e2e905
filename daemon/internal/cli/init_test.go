package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/config/jsonc"
	"tenon/proto"
)

// imported is a place whose opencode has two servers; the first has all of its
// paths and values relative to opencode's file.
func imported(t *testing.T) (p *place, file, before string) {
	t.Helper()
	p = newPlace(t, nil)
	p.write("config/tenon/config.jsonc", "{\n  // mine\n}\n")
	p.write("config/opencode/bin/start", "#!/bin/sh\nexec "+p.exe+" fake-server\n")
	if err := os.Chmod(filepath.Join(p.home, "config/opencode/bin/start"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("config/opencode/greeting", "hello from a file\n")
	before = fmt.Sprintf(`{
  // the host's
  "mcp": {
    "one": { "type": "local", "command": ["./bin/start"], "environment": { "GREETING": "{file:greeting}" }, "timeout": 30000 }, // first
    "two": { "type": "local", "command": [%q, "fake-server"], "enabled": true },
  },
}
`, p.exe)
	return p, p.write("config/opencode/opencode.jsonc", before), before
}

// works checks that tenon starts both servers.
func (p *place) works() {
	p.t.Helper()
	got := p.run("exec", "-e", `[await one.env({ name: "GREETING" }), /^[0-9]+$/.test(await two.pid())].join(", ")`)
	if got.code != 0 || got.out != "hello from a file, true\n" {
		p.t.Errorf("%+v", got)
	}
}

func (p *place) initJSON(args ...string) initDocument {
	p.t.Helper()
	got := p.run(append([]string{"--json", "init", "--import", "opencode"}, args...)...)
	var doc initDocument
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || got.code != 0 {
		p.t.Fatalf("%+v", got)
	}
	return doc
}

// decisions B.28: without a terminal a hint, with the flag the deed; uninstall
// undoes exactly that.
func TestInitMovesServersOutOfOpencode(t *testing.T) {
	p, file, before := imported(t)
	if got := p.run("init", "--import", "opencode"); got.code != 0 || !strings.Contains(got.err, "--disable-host-copies") || p.read(file) != before {
		t.Errorf("%+v", got)
	}
	if doc := p.initJSON(); strings.Join(doc.Twice, " ") != "one two" || len(doc.Disabled) != 0 || doc.Changed {
		t.Errorf("%+v", doc)
	}
	p.works()

	if doc := p.initJSON("--disable-host-copies"); strings.Join(doc.Disabled, " ") != "one two" || len(doc.Twice) != 0 || !doc.Changed {
		t.Errorf("%+v", doc)
	}
	off := p.read(file)
	if n := strings.Count(off, `"enabled": false`); n != 2 || !strings.Contains(off, "// first") || p.read(file+jsonc.BackupSuffix) != before {
		t.Errorf("opencode's file: %s", off)
	}
	p.works()
	own := p.read(filepath.Join(p.home, "config/tenon/config.jsonc"))
	if !strings.Contains(own, "// mine") || !strings.Contains(own, `"callTimeout": "30s"`) {
		t.Errorf("tenon's file: %s", own)
	}
	if doc := p.initJSON("--disable-host-copies"); doc.Changed || len(doc.Disabled)+len(doc.Twice) != 0 || p.read(file) != off {
		t.Errorf("the second time: %+v", doc)
	}

	var back struct{ Enabled []string }
	if got := p.run("--json", "opencode", "uninstall"); got.code != 0 || json.Unmarshal([]byte(got.out), &back) != nil || len(back.Enabled) != 2 {
		t.Errorf("%+v", got)
	}
	if got := p.read(file); got != before {
		t.Errorf("not as it was: %s", got)
	}
	if got := p.run("opencode", "uninstall"); got.code != 0 || !strings.Contains(got.err, "nothing to do") {
		t.Errorf("%+v", got)
	}
}

func TestInitAsksOnATerminal(t *testing.T) {
	p, file, before := imported(t)
	s := p.terminal("init", "--import", "opencode")
	s.waitFor("[y/N]")
	s.types("\r")
	if code, shown := s.ends(); code != 0 || p.read(file) != before || !strings.Contains(shown, "one, two") {
		t.Errorf("no: exit %d: %s", code, shown)
	}
	s = p.terminal("init", "--import", "opencode")
	s.waitFor("[y/N]")
	s.types("y\r")
	if code, shown := s.ends(); code != 0 || strings.Count(p.read(file), `"enabled": false`) != 2 {
		t.Errorf("yes: exit %d: %s", code, shown)
	}
	p.works()
	if code, shown := p.terminal("init", "--import", "opencode").ends(); code != 0 || strings.Contains(shown, "[y/N]") {
		t.Errorf("asked again: exit %d: %s", code, shown)
	}
}

// An agent may not change its host's files, nor the user's own: what it adds there
// it would have approved itself.
func TestAnAgentMovesNothing(t *testing.T) {
	p, file, before := imported(t)
	p.environ = append(p.environ, "OPENCODE=1")
	own := filepath.Join(p.home, "config/tenon/config.jsonc")
	mine := p.read(own)
	for _, words := range [][]string{{"--import", "opencode", "--disable-host-copies"}, {"--import", "opencode"}, {}} {
		got := p.run(append([]string{"--json", "init"}, words...)...)
		var doc struct{ Error *proto.Error }
		if err := json.Unmarshal([]byte(got.out), &doc); err != nil || doc.Error == nil || doc.Error.Kind != "PermissionDenied" || got.code != 4 || p.read(file) != before || p.read(own) != mine {
			t.Errorf("%v: %+v", words, got)
		}
	}
	p.environ = p.environ[:len(p.environ)-1] // the place is cleared away by its user
}

func TestAnEntryMeansTheSameInAnotherFile(t *testing.T) {
	from := config.Origin{File: "/host/.opencode/opencode.json", Base: "/host"}
	for _, c := range []struct {
		server config.Server
		want   string
	}{
		{config.Server{Command: []string{"npx", "./x"}, CallTimeout: time.Minute}, `{"command":["npx","./x"]}`},
		{config.Server{Command: []string{"bin/x"}, Cwd: "work", CallTimeout: 90 * time.Second}, `{"callTimeout":"1m30s","command":["/host/bin/x"],"cwd":"/host/work"}`},
		{config.Server{Command: []string{"~/x"}, Cwd: "${workspace}/y", CallTimeout: time.Minute}, `{"command":["~/x"],"cwd":"${workspace}/y"}`},
		{config.Server{Kind: "sse", URL: "https://{file:../h}/", Headers: map[string]string{"A": "{file:~/t} {file:/t} {env:T}"}, CallTimeout: time.Minute},
			`{"headers":{"A":"{file:~/t} {file:/t} {env:T}"},"type":"sse","url":"https://{file:/host/.opencode/../h}/"}`},
	} {
		c.server.Origin = from
		if got, err := json.Marshal(ownEntry(&c.server)); err != nil || string(got) != c.want {
			t.Errorf("got %s, %v\nwant %s", got, err, c.want)
		}
	}
}
