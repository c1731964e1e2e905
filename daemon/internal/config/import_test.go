package config

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestOtherProgramsEntriesAreReadAsTheyAreWritten(t *testing.T) {
	w := newWorld(t)
	w.user(`{
	  "mcpServers": {"c": {"command": "sh", "args": ["-c", "x"], "env": {"A": "${A}"}, "scope": "session", "alwaysAllow": ["t"]}},
	  "mcp": {
	    "local": {"type": "local", "command": ["sh", "x"], "environment": {"B": "1"}, "enabled": false, "timeout": 5000},
	    "remote": {"type": "remote", "url": "https://h/mcp", "headers": {"K": "v"}, "oauth": false}
	  }}`)
	v := w.view()
	c, local, remote := v.Servers["c"], v.Servers["local"], v.Servers["remote"]
	if !reflect.DeepEqual(c.Command, []string{"sh", "-c", "x"}) || c.Env["A"] != "${A}" || c.Scope != Session || c.Origin.Format != FormatClaude {
		t.Errorf("claude: %+v", c)
	}
	if !reflect.DeepEqual(c.Notes, []string{`key "alwaysAllow" is not used by tenon`}) {
		t.Errorf("notes: %v", c.Notes)
	}
	if !reflect.DeepEqual(local.Command, []string{"sh", "x"}) || local.Env["B"] != "1" || local.Enabled || local.CallTimeout != 5*time.Second || local.Kind != "stdio" {
		t.Errorf("local: %+v", local)
	}
	if remote.URL != "https://h/mcp" || remote.Headers["K"] != "v" || remote.Kind != "http" || remote.Origin.Format != FormatOpencode {
		t.Errorf("remote: %+v", remote)
	}
}

func TestImportReadsTheHostsOwnFiles(t *testing.T) {
	w := newWorld(t)
	h, p := w.home, w.project
	w.user(`{"import": ["opencode", "claude", "cursor", "vscode"], "servers": {"mine": {"command": ["sh", "mine"]}}}`)
	w.write(filepath.Join(h, ".config/opencode/opencode.jsonc"), `{"theme": "x", "mcp": {"oc-user": {"type": "local", "command": ["sh"]}, "mine": {"type": "local", "command": ["sh", "host"]}}} // c`)
	w.write(filepath.Join(p, "opencode.json"), `{"mcp": {"oc-project": {"type": "local", "command": ["sh"]}}}`)
	w.write(filepath.Join(p, ".opencode/opencode.json"), `{"mcp": {"servers": {"oc-two": {"type": "remote", "url": "https://h"}}}}`)
	w.write(filepath.Join(h, ".claude.json"), `{"numStartups": 3, "mcpServers": {"cl-user": {"type": "stdio", "command": "sh", "env": {"N": 1}}}, "projects": {"`+p+`": {"mcpServers": {"cl-local": {"command": "sh"}}}}}`)
	w.write(filepath.Join(p, ".mcp.json"), `{"mcpServers": {"cl-project": {"type": "sse", "url": "https://h"}}}`)
	w.write(filepath.Join(h, ".cursor/mcp.json"), `{"mcpServers": {"cu-user": {"command": "sh"}}}`)
	w.write(filepath.Join(p, ".cursor/mcp.json"), `{"mcpServers": {"cu-project": {"command": "./tool"}}}`)
	w.write(filepath.Join(p, ".vscode/mcp.json"), `{"inputs": [], "servers": {"vs-project": {"command": "sh", "args": ["${workspaceFolder}"]}}}`)
	v := w.view()
	untrusted := map[string]bool{}
	for name, s := range v.Servers {
		untrusted[name] = s.Untrusted
	}
	want := map[string]bool{"mine": false, "oc-user": false, "oc-project": true, "oc-two": true, "cl-user": false, "cl-local": false,
		"cl-project": true, "cu-user": false, "cu-project": true, "vs-project": true}
	if !reflect.DeepEqual(untrusted, want) {
		t.Errorf("untrusted: got %v\nwant %v", untrusted, want)
	}
	if got := v.Servers["mine"].Command[1]; got != "mine" {
		t.Errorf("the host's entry won over our own: %s", got)
	}
	if s := v.Servers["cl-project"]; s.Kind != "sse" || s.Origin.Base != p {
		t.Errorf("sse: %+v", s)
	}
	if s := v.Servers["cu-project"]; s.Origin.Base != p {
		t.Errorf("base of a file in .cursor: %s", s.Origin.Base)
	}
	w.trust()
	d, err := w.view().Define("vs-project", w.env(), Placeholders{})
	if err != nil || d.Command[1] != p {
		t.Errorf("%v %v", d, err)
	}
}

func TestEntriesThatLeadBackToTenonAreSkippedWithANote(t *testing.T) {
	w := newWorld(t)
	w.user(`{"import": ["claude"], "listen": {"address": "127.0.0.1:7777"}}`)
	w.write(filepath.Join(w.home, ".claude.json"), `{"mcpServers": {
		"a": {"command": "/usr/local/bin/tenon", "args": ["mcp"]},
		"b": {"command": "sh", "args": ["-c", "exec tenon --quiet mcp"]},
		"c": {"url": "http://localhost:7777/mcp"},
		"d": {"command": "npx", "args": ["-y", "tenon", "mcp", "--flat"]},
		"e": {"command": "curl", "args": ["--unix-socket"], "url": ""},
		"ok": {"command": "tenon-not", "args": ["mcp"]},
		"fake": {"command": "tenon", "args": ["fake-server"]},
		"other": {"url": "http://localhost:7778/mcp"}}}`)
	v := w.view()
	if got := v.Names(); !reflect.DeepEqual(got, []string{"e", "fake", "ok", "other"}) {
		t.Errorf("servers: %v", got)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if !hasNote(v, "server "+name+" leads back to tenon itself") {
			t.Errorf("no note for %s: %+v", name, v.Notes)
		}
	}
}

func TestAHostsBadFileIsSkippedWithItsPlace(t *testing.T) {
	w := newWorld(t)
	w.user(`{"import": ["cursor"], "servers": {"mine": {"command": "sh"}}}`)
	file := w.write(filepath.Join(w.home, ".cursor/mcp.json"), "{\n\"mcpServers\": {\"x\"}}")
	v := w.view()
	if len(v.Servers) != 1 || len(v.Notes) != 1 || v.Notes[0].File != file || v.Notes[0].Line != 2 || !v.Notes[0].Error {
		t.Errorf("%v %+v", v.Names(), v.Notes)
	}
}

func TestOddEntriesOfHostsNeverHurtTheOthers(t *testing.T) {
	w := newWorld(t)
	w.user(`{"import": ["cursor"]}`)
	w.write(filepath.Join(w.home, ".cursor/mcp.json"), `{"mcpServers": {"n": 5, "": {}, "empty": {}, "args": {"command": "sh", "args": "x"}, "map": {"command": "sh", "env": []},
		"null": {"command": "sh", "url": null, "env": {"A": null}}, "good": {"command": "sh"}}}`)
	v := w.view()
	for _, name := range []string{"empty", "args", "map"} {
		if s := v.Servers[name]; s == nil || s.Problem == "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for _, name := range []string{"null", "good"} {
		if s := v.Servers[name]; s == nil || s.Problem != "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
