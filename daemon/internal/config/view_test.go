package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDefaultsAreThoseOfTheReference(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {"Fs.One": {"command": ["sh", "-c", "x"], "env": {"Mixed_Case": "v"}}}}`)
	v := w.view()
	s := v.Servers["Fs.One"]
	if s == nil {
		t.Fatalf("servers: %v", v.Names())
	}
	want := Server{Name: "Fs.One", Kind: "stdio", Command: []string{"sh", "-c", "x"}, Env: map[string]string{"Mixed_Case": "v"},
		Scope: Shared, Inherit: true, Enabled: true, MaxInstances: 8, IdleTimeout: 10 * time.Minute, CallTimeout: time.Minute,
		CallWall: 30 * time.Minute, StartTimeout: time.Minute, QueueTimeout: 30 * time.Second, EvictAfter: time.Minute, Origin: s.Origin}
	if !reflect.DeepEqual(*s, want) {
		t.Errorf("got %+v\nwant %+v", *s, want)
	}
	wantScript := Script{Engine: "embedded", Timeout: 2 * time.Minute, CPU: time.Minute, Memory: 64 << 20, MaxToolCalls: 1000, Concurrency: 16, Typecheck: "off", Outputs: "warn", MaxOutputBytes: 64 << 10}
	if !reflect.DeepEqual(v.Script, wantScript) {
		t.Errorf("script: got %+v", v.Script)
	}
	wantDaemon := Daemon{IdleExit: 10 * time.Minute, LogLevel: "info", SessionIdle: 30 * time.Minute, SessionGrace: time.Minute, TicketTTL: 24 * time.Hour, HistoryRetention: 30 * 24 * time.Hour, HistoryDatabase: 512 << 20, HistoryArtifacts: 1 << 30, MaxStarting: 4, Learn: true}
	if v.Daemon != wantDaemon {
		t.Errorf("daemon: got %+v", v.Daemon)
	}
	p := v.Permissions
	if p.Preset != "request" || p.Sandbox != "workspace-write" || p.Approval != "ask" || p.AskTimeout != 90*time.Second {
		t.Errorf("permissions: got %+v", p)
	}
}

func TestTheFourFormatsSayTheSame(t *testing.T) {
	docs := map[string]string{
		".jsonc": "\xef\xbb\xbf{\r\n // c\r\n \"servers\": {\"A\": {\"command\": \"sh\", \"args\": [\"-c\"], \"idleTimeout\": \"5m\", \"env\": {\"X_y\": \"1\",},},},\r\n /* c */ \"script\": {\"memory\": \"1MiB\"},}",
		".json":  `{"servers": {"A": {"args": ["-c"], "command": ["sh"], "idleTimeout": "5m", "env": {"X_y": "1"}}}, "script": {"memory": 1048576}}`,
		".yaml":  "# c\nservers:\n  A:\n    command: [sh, -c]\n    idleTimeout: 5m\n    env: {X_y: '1'}\nscript:\n  memory: 1MiB\n",
		".toml":  "# c\n[servers.A]\ncommand = ['sh', '-c']\nidleTimeout = '5m'\nenv = {X_y = '1'}\n[script]\nmemory = '1MiB'\n",
	}
	for ext, doc := range docs {
		t.Run(ext, func(t *testing.T) {
			w := newWorld(t)
			file := w.write(filepath.Join(w.home, ".config/tenon/config"+ext), doc)
			v := w.view()
			s := v.Servers["A"]
			if s == nil || !reflect.DeepEqual(s.Command, []string{"sh", "-c"}) || s.IdleTimeout != 5*time.Minute || s.Env["X_y"] != "1" {
				t.Fatalf("server: %+v", s)
			}
			if s.Origin.File != file || s.Origin.Line == 0 {
				t.Errorf("origin: %+v", s.Origin)
			}
			if v.Script.Memory != 1<<20 || v.Script.Engine != "embedded" {
				t.Errorf("script: %+v", v.Script)
			}
		})
	}
}

func TestMistakesNameFileLineColumnAndTheNearestKey(t *testing.T) {
	cases := []struct {
		name, ext, doc string
		want           []string
	}{
		{"unknown key", ".jsonc", "{\n  \"servers\": {\n    \"a\": {\"comand\": [\"x\"]}\n  }\n}", []string{"config.jsonc:3:11", `"comand"`, `"command"`}},
		{"unknown top key", ".jsonc", "{\"server\": {}}", []string{":1:2", `"servers"`}},
		{"unknown yaml key", ".yaml", "script:\n  memmory: 1MiB\n", []string{"config.yaml:2:3", `"memory"`}},
		{"unknown toml key", ".toml", "[script]\nmemmory = '1MiB'\n", []string{"config.toml:2:1", `"memory"`}},
		{"syntax", ".jsonc", "{\n\"servers\": {\n,}}", []string{":3:1", "not valid JSON"}},
		{"yaml syntax", ".yaml", "a: [\nb: }", []string{"config.yaml:", "not valid YAML"}},
		{"toml syntax", ".toml", "a = \n", []string{"config.toml:1:", "not valid TOML"}},
		{"bare duration", ".jsonc", `{"servers": {"a": {"command": "x", "idleTimeout": 600}}}`, []string{"servers.a.idleTimeout", `"600s"`}},
		{"duration without unit", ".jsonc", `{"script": {"timeout": "600"}}`, []string{"script.timeout", `"600s"`}},
		{"size", ".jsonc", `{"script": {"memory": "64 bits"}}`, []string{"script.memory", "64KiB"}},
		{"enum", ".jsonc", `{"servers": {"a": {"command": "x", "scope": "sesion"}}}`, []string{"sesion", `did you mean "session"?`}},
		{"type", ".jsonc", `{"servers": {"a": {"command": "x", "env": {"PORT": 3000}}}}`, []string{"servers.a.env.PORT", "string"}},
		{"twice", ".jsonc", "{\"import\": [],\n\"import\": []}", []string{":2:1", "written twice"}},
		{"both", ".jsonc", `{"servers": {"a": {"command": "x", "url": "http://h"}}}`, []string{"server a", "both"}},
		{"neither", ".jsonc", `{"servers": {"a": {}}}`, []string{"neither"}},
		{"rule", ".jsonc", `{"permissions": {"rules": {"fs_*": "denny"}}}`, []string{"fs_*", `"deny"`}},
		{"import", ".jsonc", `{"import": ["opncode"]}`, []string{`"opencode"`}},
		{"empty", ".jsonc", "  \n", []string{"empty", "{}"}},
		{"two sections", ".jsonc", `{"servers": {"a": {"command": "x"}}, "mcp": {"a": {"type": "local", "command": ["x"]}}}`, []string{`"a"`, "twice"}},
		{"instances", ".jsonc", `{"servers": {"a": {"command": "x", "maxInstances": 0}}}`, []string{"maxInstances"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.write(filepath.Join(w.home, ".config/tenon/config"+c.ext), c.doc)
			_, err := w.store.View(w.project, "", w.env())
			wantConfigError(t, err, c.want...)
		})
	}
}

func TestTwoConfigFilesAreAnErrorThatNamesBoth(t *testing.T) {
	w := newWorld(t)
	w.user(`{}`)
	w.write(filepath.Join(w.home, ".config/tenon/config.yaml"), "script: {}\n")
	_, err := w.store.View(w.project, "", w.env())
	wantConfigError(t, err, "config.jsonc", "config.yaml")
}

func TestASecondConfigFileBesideAGoodOneKeepsTheGoodOne(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.home, ".config/tenon/config.yaml"), "servers: {a: {command: sh}}\n")
	w.view()
	file := w.user(`{"servers": {"b": {"command": "sh"}}}`)
	if v := w.view(); v.Servers["a"] == nil || v.Servers["b"] != nil || !hasNote(v, "config.jsonc", "config.yaml") {
		t.Errorf("%v %+v", v.Names(), v.Notes)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if v := w.view(); v.Servers["a"] == nil || len(v.Notes) != 0 {
		t.Errorf("%v %+v", v.Names(), v.Notes)
	}
}

func TestDeepNestingIsRefusedInEveryFormat(t *testing.T) {
	const n = 200_000
	for ext, doc := range map[string]string{
		".jsonc": strings.Repeat("[", n) + strings.Repeat("]", n),
		".yaml":  strings.Repeat("[", n) + strings.Repeat("]", n),
		".toml":  "a = " + strings.Repeat("[", n) + strings.Repeat("]", n),
	} {
		if _, err := parse("config"+ext, []byte(doc)); err == nil {
			t.Errorf("%s: no error", ext)
		}
	}
}

// comments load; a later mistake keeps the last good configuration.
func TestABadEditKeepsTheLastGoodViewAndSaysWhere(t *testing.T) {
	w := newWorld(t)
	file := w.user("{\n// one\n/* two */\n\"servers\": {\"a\": {\"command\": \"sh\",},},\n}")
	first := w.view()
	w.write(file, "{\n\n\n\n\n\n  \"servers\": {\"a\" {}}\n}")
	v := w.view()
	if v.Servers["a"] == nil || v.Hash != first.Hash {
		t.Fatalf("the last good configuration is gone: %v", v.Names())
	}
	var found bool
	for _, n := range v.Notes {
		found = found || n.Error && n.File == file && n.Line == 7 && n.Column == 19
	}
	if !found {
		t.Errorf("no note with file, line 7 and column 19: %+v", v.Notes)
	}
	w.write(file, `{"servers": {"b": {"command": "sh"}}}`)
	if v = w.view(); v.Servers["b"] == nil || v.Servers["a"] != nil || len(v.Notes) != 0 {
		t.Errorf("after the repair: %v %+v", v.Names(), v.Notes)
	}
}

// A pipe is waited for by whoever opens it, and a folder is no configuration: neither
// means that there is none.
func TestWhatIsNoFileKeepsTheLastGoodView(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a pipe":           func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":         func(path string) error { return os.Mkdir(path, 0o700) },
		"a link to itself": func(path string) error { return os.Symlink(path, path) },
	} {
		w := newWorld(t)
		file := w.user(`{"servers": {"a": {"command": "sh"}}}`)
		w.view()
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := make(file); err != nil {
			t.Fatal(err)
		}
		v := w.view()
		if v.Servers["a"] == nil || len(v.Notes) != 1 || !v.Notes[0].Error || v.Notes[0].File != file {
			t.Errorf("%s: %v %+v", name, v.Names(), v.Notes)
		}
	}
}

// A daemon that is told to restart would end and not come back.
func TestTCPThatTheNextDaemonWouldRefuseIsToldAtOnce(t *testing.T) {
	for text, want := range map[string]string{
		`{"listen": {"address": "127.0.0.1:4999"}}`:                                          "without listen.token",
		`{"listen": {"address": "127.0.0.1:4999", "token": "short"}}`:                        "listen.token has 5 characters",
		`{"listen": {"address": "127.0.0.1:4999", "token": "long-enough-0123456789"}}`:       "",
		`{"listen": {"address": "127.0.0.1:4999", "token": "${DAEMON_ONLY}${DAEMON_ONLY}"}}`: "",
	} {
		w := newWorld(t)
		w.user(text)
		var told []string
		for _, n := range w.view().Notes {
			if n.Error {
				told = append(told, n.Message)
			}
		}
		if got := strings.Join(told, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestTheHashIgnoresCommentsAndSeesChanges(t *testing.T) {
	w := newWorld(t)
	file := w.user(`{"servers": {"a": {"command": "sh"}}}`)
	a := w.view()
	w.write(file, "// c\n\n{\"servers\": {\"a\": {\"command\": \"sh\"}}}")
	b := w.view()
	w.write(file, `{"servers": {"a": {"command": "sh", "warm": 1}}}`)
	c := w.view()
	if a.Hash != b.Hash || b.Hash == c.Hash {
		t.Errorf("hashes: %s %s %s", a.Hash, b.Hash, c.Hash)
	}
	if again := w.view(); again != c {
		t.Error("an unchanged view was built twice")
	}
}

func TestWhatIsShownOfPlacesFollowsAnEditThatChangesNothingElse(t *testing.T) {
	w := newWorld(t)
	if v := w.view(); len(v.Files) != 0 {
		t.Fatalf("files before there is one: %v", v.Files)
	}
	file := w.user(`{"servers": {}}`)
	if v := w.view(); !slices.Equal(v.Files, []string{file}) {
		t.Errorf("a new file that configures nothing: %v", v.Files)
	}
	const entries = `{"servers": {"a": {"command": "sh"}}, "permissions": {"rules": {"a_*": "ask"}}}`
	w.write(file, entries)
	w.view()
	w.write(file, "// one\n// two\n"+entries)
	v := w.view()
	if v.Servers["a"].Origin.Line != 3 || v.Permissions.Rules[0].Origin.Line != 3 {
		t.Errorf("lines after two comments: server %+v, rule %+v", v.Servers["a"].Origin, v.Permissions.Rules[0].Origin)
	}
}

func TestAnEditInTheSameTickIsSeen(t *testing.T) {
	w := newWorld(t)
	file := w.user(`{"servers": {"a": {"command": "sh"}}}`)
	for i := range 50 {
		name := string(rune('a' + i%26))
		w.write(file, `{"servers": {"`+name+`": {"command": "sh"}}}`)
		if v := w.view(); v.Servers[name] == nil {
			t.Fatalf("round %d: edit not seen, servers %v", i, v.Names())
		}
	}
}

func TestTheNearestProjectFileWinsUpToTheRepositorysTop(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(filepath.Dir(w.project), ".tenon/config.json"), `{"servers": {"outside": {"command": "sh"}}}`)
	w.projectConfig(`{"servers": {"top": {"command": "sh"}}}`)
	deep := filepath.Join(w.project, "sub/deep")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	see := func() []string {
		v, err := w.store.View(deep, "", w.env())
		if err != nil {
			t.Fatal(err)
		}
		if v.Workspace != w.project {
			t.Errorf("workspace %s", v.Workspace)
		}
		return v.Names()
	}
	if got := see(); !reflect.DeepEqual(got, []string{"top"}) {
		t.Errorf("got %v", got)
	}
	w.write(filepath.Join(w.project, "sub/.tenon/config.yaml"), "servers: {near: {command: sh}}\n")
	if got := see(); !reflect.DeepEqual(got, []string{"near"}) {
		t.Errorf("got %v", got)
	}
}

func TestAConfigFlagStandsInForTheUsersFileAndOnlyTightens(t *testing.T) {
	w := newWorld(t)
	w.user(`{"servers": {"user": {"command": "sh"}}, "permissions": {"rules": {"fs_*": "deny"}}, "daemon": {"idleExit": "1h"}}`)
	file := w.write(filepath.Join(w.project, "other.jsonc"), `{"servers": {"flag": {"command": "sh"}}, "daemon": {"idleExit": "2h"},
		"permissions": {"preset": "yolo", "rules": {"fs_read": "allow", "git_*": "ask"}}}`)
	v, err := w.store.View(w.project, file, w.env())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(v.Names(), []string{"flag"}) || v.Daemon.IdleExit != 10*time.Minute {
		t.Errorf("servers %v, idleExit %v", v.Names(), v.Daemon.IdleExit)
	}
	if v.Permissions.Approval != "ask" || v.Permissions.Sandbox != "workspace-write" {
		t.Errorf("dials: %+v", v.Permissions)
	}
	rules := v.Permissions.Rules
	if len(rules) != 2 || rules[0].Pattern != "fs_*" || rules[0].Tighten || rules[1].Pattern != "git_*" || !rules[1].Tighten {
		t.Errorf("rules: %+v", rules)
	}
	own, err := w.store.OwnerView(w.project, file, w.env())
	if err != nil {
		t.Fatal(err)
	}
	p := own.Permissions
	if p.Approval != "never" || p.Sandbox != "full" || len(p.Rules) != 2 || p.Rules[0].Action != "allow" || p.Rules[1].Tighten {
		t.Errorf("for the user in person: %+v", p)
	}
	if own.Daemon.IdleExit != 10*time.Minute || !hasNote(own, "daemon is ignored") {
		t.Errorf("daemon-wide settings of a --config file were taken: %+v", own.Notes)
	}
	_, err = w.store.View(w.project, filepath.Join(w.project, "missing.json"), w.env())
	wantConfigError(t, err, "missing.json", "does not exist")
}

func TestDefaultsNeedNoFile(t *testing.T) {
	w := newWorld(t)
	d, v := Defaults(), w.view()
	if d.Daemon != v.Daemon || !reflect.DeepEqual(d.Script, v.Script) || !reflect.DeepEqual(d.Permissions, v.Permissions) {
		t.Errorf("got %+v\nwant %+v", d, v)
	}
}

// Every default of the reference can be read, and every key has its sentence.
func TestTheReferenceIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Reference() {
		if seen[k.Path] || k.Doc == "" || k.Reload == "" || k.Place == "" || k.Type == "" {
			t.Errorf("key %+v", k)
		}
		seen[k.Path] = true
		n := &node{kind: stringNode, text: k.Default}
		switch k.Type {
		case TypeCount:
			n.kind = numberNode
		case TypeBool:
			n.kind = boolNode
		}
		if k.Default != "" {
			if err := checkScalar(n, &k, k.Path); err != nil {
				t.Errorf("default of %s: %v", k.Path, err)
			}
		}
		if parent := k.Path[:max(strings.LastIndexByte(k.Path, '.'), 0)]; parent != "" && !seen[parent] {
			t.Errorf("%s stands before its section", k.Path)
		}
	}
}
