package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// outcome is what a command left behind.
type outcome struct {
	code     int
	out, err string
}

// tenon runs one command in process, without a daemon and without any to start.
func tenon(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	var out, err bytes.Buffer
	code := Main(context.Background(), Options{
		Args: append([]string{"--no-autostart"}, args...), In: strings.NewReader(stdin), Out: &out, Err: &err, Cwd: dir,
		Environ: []string{"HOME=" + dir, "TENON_RUNTIME_DIR=" + filepath.Join(dir, "run"), "TENON_STATE_DIR=" + filepath.Join(dir, "state"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config")},
	})
	return outcome{code, out.String(), err.String()}
}

func TestMistakesOnTheCommandLineAreNamedWithTheNearestRightWord(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"exce"}, "tenon exec"},
		{[]string{"exce", "-e", "1"}, "tenon exec"},
		{[]string{"show", "x"}, "tenon preset show, or tenon runs show"},
		{[]string{"status"}, "tenon daemon status, or tenon opencode status"},
		{[]string{"daemon", "stpo"}, "tenon daemon stop"},
		{[]string{"runs", "lst"}, "tenon runs list"},
		{[]string{"auth", "lgout", "notes"}, "tenon auth logout"},
		{[]string{"exec", "--tiemout", "3s"}, "--timeout"},
		{[]string{"exec", "--timeout", "soon"}, "soon"},
		{[]string{"exec", "--timeout", "5", "-e", "1"}, "a duration has a unit"},
		{[]string{"exec", "--memory", "1MiB", "-e", "1"}, "--memory must be from 4MiB"},
		{[]string{"exec", "--memory", "2GiB", "-e", "1"}, "--memory must be from 4MiB"},
		{[]string{"exec", "--timeout", "-1s", "-e", "1"}, "--timeout cannot be negative"},
		{[]string{"exec", "--max-calls", "0", "-e", "1"}, "more than 0"},
		{[]string{"daemon", "logs", "-n", "-1"}, "--lines cannot be negative"},
		{[]string{"catalog", "--budget", "many"}, `--budget takes a whole number, not "many"`},
		{[]string{"exec", "--sandbox", "readonly", "-e", "1"}, `--sandbox must be one of confined, read-only, workspace-write, full, not "readonly"`},
		{[]string{"exec", "--typecheck", "on", "-e", "1"}, `--typecheck must be one of off, warn, strict, not "on"`},
		{[]string{"--version"}, "tenon version shows it"},
		{[]string{"completion", "tcsh"}, "bash, zsh, fish"},
		{[]string{"call", "fake"}, "TOOL is missing"},
		{[]string{"call", "fake"}, "SERVER TOOL"},
		{[]string{"trust", "no-such-directory"}, "no-such-directory"},
		{[]string{"release"}, "release ID"},
		{[]string{"exec", "-e", "1", "file.ts"}, "after --"},
		{[]string{"call", "fake", "echo", "text"}, "key=value"},
		{[]string{"call", "fake", "echo", "n:=x"}, "not JSON"},
		{[]string{"exec", "--input", "{", "-e", "1"}, "not JSON"},
		{[]string{"exec", "--memory", "lots", "-e", "1"}, "--memory"},
		{[]string{"exec", "no-such-file.ts"}, "no-such-file.ts"},
		{[]string{"trust", "--config", "dir"}, "not both"},
		{[]string{"init", "--import", "emacs"}, "opencode"},
		{[]string{"help", "exce"}, "tenon exec"},
	} {
		got := tenon(t, "", c.args...)
		if got.code != 2 || !strings.Contains(got.err, c.want) || got.out != "" {
			t.Errorf("%v: code %d, stdout %q, stderr %q", c.args, got.code, got.out, got.err)
		}
	}
}

func TestJSONIsOneDocumentAlsoOnFailure(t *testing.T) {
	for _, args := range [][]string{
		{"exce"}, {"exec"}, {"exec", "--nope"}, {"ls"}, {"call", "a", "b"}, {"sessions"}, {"leases"}, {"runs"}, {"approvals"},
		{"approve", "x"}, {"deny", "x"}, {"release", "x"}, {"search", "x"}, {"trust"}, {"daemon", "status"}, {"exec", "-e", "1"},
		{"opencode", "install"}, {"daemon", "logs"},
	} {
		got := tenon(t, "", append([]string{"--json"}, args...)...)
		var doc struct{ Error *proto.Error }
		if err := json.Unmarshal([]byte(got.out), &doc); err != nil || doc.Error == nil {
			t.Errorf("%v: %v: %s", args, err, got.out)
			continue
		}
		if want := fault.Kind(doc.Error.Kind).ExitCode(); got.code != want {
			t.Errorf("%v: exit %d for %s, want %d", args, got.code, doc.Error.Kind, want)
		}
	}
}

func TestWithoutADaemonCommandsExitWithThree(t *testing.T) {
	got := tenon(t, "", "ls")
	if got.code != 3 || !strings.Contains(got.err, "tenon daemon start") {
		t.Errorf("%+v", got)
	}
}

func TestHelpSaysWhatEachCommandIsFor(t *testing.T) {
	a := &app{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s says nothing about itself", c.CommandPath())
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk(a.root())
	if got := tenon(t, "", "--help"); got.code != 0 || !strings.Contains(got.out, "Work:") {
		t.Errorf("%+v", got)
	}
}

func TestCompletionIsPrintedForEveryShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := tenon(t, "", "completion", shell); got.code != 0 || len(got.out) < 500 {
			t.Errorf("%s: %d bytes, %s", shell, len(got.out), got.err)
		}
	}
}

func TestUpstreamTextCannotDriveATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nö":     "plain\ttext\nö",
		"\x1b[31mred\x1b[0m": `\x1b[31mred\x1b[0m`,
		"a\rb\ac":            `a\x0db\x07c`,
		"\u202egnp.exe":      `\u202egnp.exe`,
		"\u009b31m":          `\x9b31m`,
	} {
		if got := clean(in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func TestAnswersAtTheTerminalAreReadAsMeant(t *testing.T) {
	for line, want := range map[string]proto.ApprovalReply{
		"y\n":             {Decision: "approve"},
		"Yes\n":           {Decision: "approve"},
		"always\n":        {Decision: "always"},
		"n\n":             {Decision: "deny"},
		"\n":              {Decision: "deny"},
		"no, use a copy":  {Decision: "deny", Feedback: "use a copy"},
		"use a copy\n":    {Decision: "deny", Feedback: "use a copy"},
		"yesterday's one": {Decision: "deny", Feedback: "yesterday's one"},
	} {
		if got := reply(line); !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v", line, got)
		}
	}
}

func TestPairsTakeTheTypeOfTheSchema(t *testing.T) {
	for _, c := range []struct{ text, kind, want string }{
		{"5", "string", `"5"`}, {"5", "number", "5"}, {"5", "", "5"}, {"true", "boolean", "true"}, {`{"a":1}`, "object", `{"a":1}`},
		{"5", "string null", `"5"`}, {"null", "string null", "null"}, {"5", "string integer", "5"}, {`"a"`, "string", `"\"a\""`},
	} {
		if got := string(typed(c.text, strings.Fields(c.kind))); got != c.want {
			t.Errorf("%s as %q is %s", c.text, c.kind, got)
		}
	}
}

func TestStandardInputIsReadOnlyByProgramsThatMentionIt(t *testing.T) {
	pipe := func() *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
		return r // nobody writes: reading it would hang
	}
	o := &execOptions{app: &app{Options: Options{In: pipe()}}, codeGiven: true}
	take := func(code string) (*string, error) {
		var req proto.ExecRequest
		err := o.takeInput(context.Background(), code, &req)
		return req.Stdin, err
	}
	if got, err := take("await fake.echo({text: 'no mention of it'})"); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{`{"a":1}`, "plain", ""} {
		for _, code := range []string{"input.a", "await stdin.text()", "export default x => x"} {
			o.app.In = strings.NewReader(text)
			if got, err := take(code); err != nil || got == nil || *got != text {
				t.Errorf("%q became %v, %v", text, got, err)
			}
		}
	}
}

func TestAProgramComesFromWhereItIsGiven(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.ts")
	if err := os.WriteFile(file, []byte("from file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    execOptions
		want string
	}{
		{execOptions{codeGiven: true, code: "from flag"}, "from flag"},
		{execOptions{file: file}, "from file"},
		{execOptions{file: "-"}, "from stdin"},
		{execOptions{}, "from stdin"},
	} {
		c.o.app = &app{Options: Options{In: strings.NewReader("from stdin")}}
		got, _, err := c.o.source(context.Background())
		if err != nil || got != c.want {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestValuesAreStringsAsTheyAreAndJSONElse(t *testing.T) {
	for raw, want := range map[string]string{
		`"text"`:           "text\n",
		`"line\n"`:         "line\n",
		`{"a":"<b>"}`:      `{"a":"<b>"}` + "\n",
		`9007199254740993`: "9007199254740993\n",
	} {
		var out bytes.Buffer
		a := &app{Options: Options{Out: &out}}
		if err := a.value(json.RawMessage(raw)); err != nil || out.String() != want {
			t.Errorf("%s printed %q, %v", raw, out.String(), err)
		}
	}
}

func TestInitWritesAFileThatItsOwnReaderTakes(t *testing.T) {
	p := newPlace(t, nil)
	if err := os.Remove(filepath.Join(p.home, "config/tenon/config.jsonc")); err != nil {
		t.Fatal(err)
	}
	p.write("config/opencode/opencode.json", `{"mcp": {"pw": {"type": "local", "command": ["npx", "@playwright/mcp"]}, "x": {"type": "local", "command": ["true"]}}}`)
	run := func(args ...string) (initDocument, int) {
		got := p.run(append([]string{"--json", "init"}, args...)...)
		var doc initDocument
		if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
			t.Fatalf("%v: %+v", err, got)
		}
		return doc, got.code
	}
	if doc, code := run(); code != 0 || !doc.Created || len(doc.Servers) != 0 {
		t.Errorf("first: %d %+v", code, doc)
	}
	doc, code := run("--import", "opencode")
	if code != 0 || strings.Join(doc.Servers, " ") != "pw x" || strings.Join(doc.Session, " ") != "pw" {
		t.Errorf("import: %d %+v", code, doc)
	}
	text, err := os.ReadFile(doc.Config)
	if err != nil || !strings.Contains(string(text), "// Servers by name") {
		t.Errorf("comments were lost: %s, %v", text, err)
	}
	if doc, _ := run("--import", "opencode"); doc.Changed {
		t.Errorf("the second time changed something: %+v", doc)
	}
}

// CODE-01: what executes programs is told with its version, with and without a
// daemon.
func TestVersionNamesTheEngine(t *testing.T) {
	got := tenon(t, "", "version", "--json")
	var doc struct{ Engines []proto.Engine }
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || len(doc.Engines) != 4 {
		t.Fatalf("%v: %s", err, got.out)
	}
	if e := doc.Engines[0]; e.Name != "embedded" || !e.Available || !strings.HasPrefix(e.Version, "QuickJS-NG ") {
		t.Errorf("%+v", e)
	}
	if text := tenon(t, "", "version"); !strings.Contains(text.out, "engine   embedded QuickJS-NG ") {
		t.Errorf("%+v", text)
	}
}
