package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/sandbox"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case sandbox.HelperCommand:
			fakeserver.Exit(sandbox.HelperMain(os.Args[2:], os.Stderr))
		case "print-arguments":
			for _, arg := range os.Args[2:] {
				os.Stdout.WriteString("<" + arg + ">\n")
			}
			os.Exit(0)
		}
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// entry reads an entry as the configuration does, and serves it.
func entry(t *testing.T, tools string, change ...func(*config.KindSpec)) *Source {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "config.jsonc")
	if err := os.WriteFile(file, []byte(`{"servers": {"c": {"kind": "command", "tools": `+tools+`}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	env := config.Env{"HOME": home, "PATH": os.Getenv("PATH"), "FROM_ENV": "{x}-$(echo no)"}
	store, err := config.Open(config.Options{UserFile: file, StateDir: filepath.Join(home, "state"), Home: home, Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	view, err := store.View(home, "", env)
	if err != nil {
		t.Fatal(err)
	}
	d, err := view.Define("c", env, config.Placeholders{})
	if err != nil {
		t.Fatal(err)
	}
	spec := &config.KindSpec{}
	if err := json.Unmarshal([]byte(d.Env[config.KindVariable]), spec); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(spec)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Spec: spec, Executable: self, Environ: []string{"PATH=" + os.Getenv("PATH")}, Dir: home})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func says(t *testing.T, s *Source, tool, arguments string) string {
	t.Helper()
	r, err := s.Call(t.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError {
		return "error: " + r.Content[0].(*mcp.TextContent).Text
	}
	return string(r.StructuredContent.(json.RawMessage))
}

func TestArgumentsAreWordsAndNothingElse(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, _ := json.Marshal(self)
	s := entry(t, `{
		"args": {"output": "lines", "command": [`+string(program)+`, "print-arguments", "{a}", "{?b}", "--c={?c}", "{?d:--deep}", "--g={g...}", "x{{y}}", "${FROM_ENV}", "--", "{e...}"],
			"input": {"a": "any", "b?": "string", "c?": "number", "d?": "boolean", "g": {"type": "array", "default": []}, "e": {"type": "array", "default": ["last"]}}},
		"open": {"output": "lines", "command": [`+string(program)+`, "print-arguments", "{a}"], "options": true}
	}`)
	for _, c := range []struct{ arguments, want string }{
		{`{"a": "one"}`, `["<one>","<x{y}>","<{x}-$(echo no)>","<-->","<last>"]`},
		{`{"a": "two words; $(rm -rf /) \"'` + "`" + `\\n*", "b": "", "c": 1.50, "d": true, "g": ["*.go", "-x"], "e": ["-rf", "--"]}`,
			`["<two words; $(rm -rf /) \"'` + "`" + `\\n*>","<>","<--c=1.50>","<--deep>","<--g=*.go>","<--g=-x>","<x{y}>","<{x}-$(echo no)>","<-->","<-rf>","<-->"]`},
		{`{"a": {"k": [1, 2]}, "d": false, "b": null, "e": []}`, `["<{\"k\":[1,2]}>","<x{y}>","<{x}-$(echo no)>","<-->"]`},
		{`{"a": 12345678901234567890, "e": []}`, `["<12345678901234567890>","<x{y}>","<{x}-$(echo no)>","<-->"]`},
	} {
		var got, want any
		text := says(t, s, "args", c.arguments)
		if json.Unmarshal([]byte(text), &got) != nil || json.Unmarshal([]byte(c.want), &want) != nil {
			t.Fatalf("%s: %s", c.arguments, text)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s\ngot  %s\nwant %s", c.arguments, a, b)
		}
	}
	for _, c := range []struct{ tool, arguments, want string }{
		{"args", `{"a": "--help"}`, "error: argument a begins with -, and would be read as an option"},
		{"args", `{"a": -5}`, "begins with -"},
		{"args", `{"b": "x"}`, "argument a is missing"},
		{"args", `{"a": "x\u0000y"}`, "NUL"},
		{"args", `{"a": "x", "g": "y"}`, "argument g is no list"},
		{"open", `{"a": "--help"}`, `["\u003c--help\u003e"]`},
		{"gone", `{}`, "there is no tool"},
	} {
		if got := says(t, s, c.tool, c.arguments); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s", c.tool, c.arguments, got, c.want)
		}
	}
}

func TestOutputIsReadAsTheEntrySays(t *testing.T) {
	s := entry(t, `{
		"text": {"command": ["printf", "{{\"a\": 1}}\n"]},
		"lines": {"command": ["printf", "a\r\nb\n\n"], "output": "lines"},
		"none": {"command": ["true"], "output": "lines"},
		"json": {"command": ["printf", " {{\"big\": 12345678901234567890}}\n"], "output": "json"},
		"nojson": {"command": ["echo", "hello"], "output": "json"},
		"jsonl": {"command": ["printf", "{{\"a\":1}}\n\n[2]\n"], "output": "jsonl"},
		"cat": {"command": ["cat"], "stdin": "{text}!", "output": "text"},
		"fails": {"command": ["sh", "-c", "echo out; echo why >&2; exit 3"]},
		"signal": {"command": ["sh", "-c", "kill -9 $$"]},
		"code": {"command": ["sh", "-c", "echo no match; exit 1"], "exitCodes": [0, 1]},
		"absent": {"command": ["no-such-program-here"]},
		"much": {"command": ["yes"], "output": "lines"},
		"pwd": {"command": ["pwd"], "cwd": "/"}
	}`)
	for tool, want := range map[string]string{
		"text": `"{\"a\": 1}"`, "lines": `["a","b",""]`, "none": `[]`, "json": `{"big": 12345678901234567890}`, "nojson": "error: it printed no JSON: hello",
		"jsonl": `[{"a":1},[2]]`, "fails": "error: exit status 3\nwhy", "signal": "error: signal: killed", "code": `"no match"`, "pwd": `"/"`,
	} {
		if got := says(t, s, tool, `{}`); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
	if got := says(t, s, "cat", `{"text": "$HOME -x\n"}`); got != `"$HOME -x\n!"` {
		t.Errorf("cat: %s", got)
	}
	if got := says(t, s, "absent", `{}`); !strings.Contains(got, "no-such-program-here not found in PATH") {
		t.Errorf("absent: %s", got)
	}
	r, err := s.Call(t.Context(), "much", json.RawMessage(`{}`))
	if err != nil || r.IsError || len(r.Content) != 2 || !strings.Contains(r.Content[1].(*mcp.TextContent).Text, "there was more") {
		t.Errorf("much: %v %+v", err, r.Content[len(r.Content)-1])
	}
}

func TestACallThatIsGivenUpEndsTheCommandWithItsChildren(t *testing.T) {
	dir := t.TempDir()
	s := entry(t, `{"wait": {"command": ["sh", "-c", "sleep 1000 & echo $! > \"$1/pid\"; trap '' TERM; wait; wait", "sh", "{dir}"]}}`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Call(ctx, "wait", json.RawMessage(`{"dir": "`+dir+`"}`))
		done <- err
	}()
	var pid int
	for deadline := time.Now().Add(20 * time.Second); pid == 0; {
		if text, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil && strings.HasSuffix(string(text), "\n") {
			if json.Unmarshal(text, &pid) != nil {
				t.Fatalf("%s", text)
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the command never began")
		}
		<-time.After(5 * time.Millisecond) // another look
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a call that was given up succeeded")
	}
	if err := syscall.Kill(pid, 0); err == nil {
		stat, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(must(os.ReadFile(filepath.Join(dir, "pid"))))) + "/stat")
		if !strings.Contains(string(stat), ") Z") {
			t.Errorf("the child %d lives on", pid)
		}
	}
}

func must(b []byte, _ error) []byte { return b }

func TestAConfinedCommandWritesNothing(t *testing.T) {
	if err := sandbox.Probe().Holds(sandbox.ReadOnly); err != nil {
		t.Skipf("not tested here: %v", err)
	}
	dir := t.TempDir()
	tools := `{"touch": {"command": ["sh", "-c", "echo read; cat \"$1/there\"; echo x > \"$1/new\"", "sh", "{dir}"]}}`
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("content\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mode string
		new  bool
	}{{"read-only", false}, {"workspace-write", true}} {
		s := entry(t, tools, func(k *config.KindSpec) { k.Sandbox, k.Workspace = c.mode, dir })
		got := says(t, s, "touch", `{"dir": "`+dir+`"}`)
		_, err := os.Stat(filepath.Join(dir, "new"))
		if (err == nil) != c.new {
			t.Errorf("%s: %s, the file is there: %v", c.mode, got, err == nil)
		}
	}
}
