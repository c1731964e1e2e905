package threats

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/proto"
)

// outside is what no path may lead to.
const outside = "what is outside"

// ways are ways out of a folder, as they are written in a URL or a name.
func ways(t *testing.T, file string) []string {
	t.Helper()
	up := strings.Repeat("../", 12) + strings.TrimPrefix(file, "/")
	return []string{
		up, file, "/" + file, "./" + up, "a/../../" + up, strings.ReplaceAll(up, "/", `\`), up + "\x00", up + "\x00.ts",
		"..", ".", "", "~", "%2e%2e/" + up, "file://" + file, "\u2025/" + up, strings.ReplaceAll(up, "../", "....//"), "CON", "x/./y", "x//y", "-rf",
	}
}

func TestNoPathLeadsOutOfAFolder(t *testing.T) {
	x := attack(t, map[string]any{"permissions": map[string]any{"rules": map[string]any{"*": "allow"}}})
	secret := filepath.Join(x.dir, "outside.ts")
	write(t, secret, `"`+outside+`"`)
	scripts := filepath.Join(x.dir, "project", ".tenon", "scripts")
	write(t, filepath.Join(scripts, "good.ts"), `"good"`)
	write(t, filepath.Join(scripts, "reads.ts"), `import text from "../../../outside.ts"; text`)
	write(t, filepath.Join(scripts, "asks.ts"), `const m = await import("`+secret+`"); m.default`)
	if err := os.Symlink(secret, filepath.Join(scripts, "link.ts")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(x.dir, filepath.Join(scripts, "folder")); err != nil {
		t.Fatal(err)
	}
	c := x.client("")
	c.Identity.Dir = filepath.Join(x.dir, "project")
	run := func(name string) string {
		res, err := c.Exec(context.Background(), proto.ExecRequest{Script: name}, nil)
		if err != nil {
			return err.Error()
		}
		raw, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if got := run("good"); !strings.Contains(got, `"good"`) {
		t.Fatalf("a script of the folder: %s", got)
	}
	dirHeader := proto.HeaderDir + ": " + c.Identity.Dir
	for _, name := range append(ways(t, secret), "link", "folder/outside", "folder/../outside", "reads", "asks") {
		without(t, "script "+name, run(name), outside)
		for _, text := range []string{url.PathEscape(name), strings.ReplaceAll(name, " ", "%20")} {
			if strings.ContainsAny(text, "\x00") {
				continue
			}
			for _, route := range []string{"/v1/scripts/", "/v1/runs/", "/v1/artifacts/", "/v1/servers/", "/ui/"} {
				for _, rest := range []string{"", "/output", "/output?artifact=" + url.QueryEscape(name)} {
					a := x.get(route+text+rest, dirHeader)
					without(t, route+text+rest, a.body, outside, "root:x:")
					if a.status >= 500 {
						t.Errorf("%s%s%s: %d %s", route, text, rest, a.status, a.body)
					}
				}
			}
		}
		// Nor is anything written there.
		for _, where := range []string{"project", "user"} {
			body, err := json.Marshal(proto.ScriptSave{Name: name, Code: `"written"`, Where: where, Force: true})
			if err != nil {
				t.Fatal(err)
			}
			if a := x.ask("", "POST", "/v1/scripts", string(body), dirHeader); a.status/100 == 2 && name != "link" && (name != "folder/outside" || where == "project") && name != "reads" && name != "asks" && !strings.HasPrefix(name, "CON") {
				t.Errorf("a script named %q is saved: %s", name, a.body)
			}
		}
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != `"`+outside+`"` {
		t.Errorf("the file outside is now %q, %v", text, err)
	}
	// An artifact's name is a label, and no path.
	res, err := c.Exec(context.Background(), proto.ExecRequest{Code: `artifact("../../../../outside.ts", "x"); artifact("a\u0000b", "y"); artifact("/etc/x", "z"); 1`}, nil)
	if err != nil || !res.OK {
		t.Fatalf("%+v, %v", res, err)
	}
	err = filepath.WalkDir(x.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(filepath.Base(path), "outside") && path != secret && !strings.Contains(path, "config/tenon/scripts/folder") {
			t.Errorf("an artifact was written to %s", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A secret of a server is in nothing that its neighbours on the machine can look at.
func TestNoSecretIsOnACommandLineOrInAListing(t *testing.T) {
	const first, second = "zebra-7731-quartz-9", "yak-8842-basalt-3"
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := attack(t, map[string]any{
		"servers": map[string]any{
			"fake": map[string]any{"command": []string{exe, "fake-server"}, "env": map[string]string{"API_TOKEN": first}},
			"tools": map[string]any{"kind": "command", "env": map[string]string{"API_TOKEN": first}, "tools": map[string]any{
				"t": map[string]any{"command": []string{"true"}},
			}},
			"web": map[string]any{"url": "http://127.0.0.1:1/mcp?key=" + second, "headers": map[string]string{"Authorization": "Bearer " + second}},
		},
		"listen": map[string]any{"address": "127.0.0.1:0", "token": second},
	})
	c := x.client("")
	for _, code := range []string{`await fake.pid()`, `await tools.tools.t({})`, `await web.x({})`, `throw new Error("` + first + `")`} {
		if _, err := c.Exec(context.Background(), proto.ExecRequest{Code: code}, nil); err != nil {
			without(t, "the error of "+code, err.Error(), first, second)
		}
	}
	dir := proto.HeaderDir + ": " + x.dir
	for _, path := range []string{
		"/v1/status", "/v1/servers", "/v1/servers/fake", "/v1/servers/web", "/v1/servers/tools", "/v1/leases", "/v1/sessions", "/v1/runs", "/v1/runs/stats", "/v1/catalog", "/v1/types",
		"/v1/approvals", "/v1/presets", "/v1/openapi.json", "/v1/health", "/metrics", "/v1/caller",
	} {
		a := x.get(path, dir)
		if a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		without(t, path, a.body, first, second)
	}
	seen := 0
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Log("command lines of servers are not looked at here: there is no /proc")
	}
	for _, e := range entries {
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !strings.HasPrefix(string(line), exe) {
			continue
		}
		seen++
		without(t, "the command line of "+e.Name(), string(line), first, second)
	}
	if err == nil && seen < 3 { // this process and the servers
		t.Errorf("only %d command lines were looked at", seen)
	}
	x.stop()
	without(t, "the log", x.log.String(), first, second)
	err = filepath.WalkDir(x.paths.State, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		without(t, path, string(text), first, second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(x.paths.Runtime, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		without(t, path, string(text), first, second)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
