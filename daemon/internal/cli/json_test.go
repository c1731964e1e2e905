package cli

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// paths are the words of every command that does something by itself.
func paths(c *cobra.Command) [][]string {
	var out [][]string
	for _, child := range c.Commands() {
		out = append(out, paths(child)...)
	}
	if c.HasParent() {
		out = append(out, strings.Fields(c.CommandPath())[1:])
	}
	return out
}

// document checks that the output is one JSON document with an error of this
// kind, and nothing else.
func document(t *testing.T, args []string, got outcome, kinds ...fault.Kind) {
	t.Helper()
	var doc struct{ Error *proto.Error }
	dec := json.NewDecoder(strings.NewReader(got.out))
	if err := dec.Decode(&doc); err != nil || doc.Error == nil {
		t.Errorf("%v: %v: exit %d, stdout %q, stderr %q", args, err, got.code, got.out, got.err)
		return
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Errorf("%v: more than one document: %s", args, got.out)
	}
	kind := fault.Kind(doc.Error.Kind)
	for _, want := range kinds {
		if kind == want && got.code == want.ExitCode() && doc.Error.Message != "" {
			return
		}
	}
	t.Errorf("%v: exit %d, %+v, want %v", args, got.code, doc.Error, kinds)
}

func TestEveryCommandFailsWithOneDocumentUnderJSON(t *testing.T) {
	a := &app{}
	all := paths(a.root())
	if len(all) < 30 {
		t.Fatalf("only %d commands", len(all))
	}
	for _, words := range all {
		command := strings.Join(words, " ")
		t.Run(strings.ReplaceAll(command, " ", "-"), func(t *testing.T) {
			for _, args := range [][]string{
				append([]string{"--json"}, append(words, "--no-such-flag")...),
				append(words, "--no-such-flag", "--json"),
			} {
				document(t, args, tenon(t, "", args...), fault.UsageError)
			}
			if command == "daemon" || command == "opencode" {
				document(t, words, tenon(t, "", append([]string{"--json"}, words...)...), fault.UsageError)
			}
			if command != "exec" && command != "call" && command != "search" && command != "types" { // these take any number of words
				args := append([]string{"--json"}, append(words, "a", "b", "c", "d", "e")...)
				document(t, args, tenon(t, "", args...), fault.UsageError)
			}
			target, _, err := a.root().Find(words)
			if err != nil {
				t.Fatal(err)
			}
			if names := strings.Fields(target.Use); len(names) > 1 && names[1] == strings.ToUpper(names[1]) && names[1][0] != '[' {
				args := append([]string{"--json"}, words...)
				document(t, args, tenon(t, "", args...), fault.UsageError)
			}
		})
	}
}

// withoutDaemon are commands, with what they need, that fail without a daemon.
var withoutDaemon = map[string]string{
	"exec": "-e 1", "call": "fake echo", "search": "x", "catalog": "", "types": "", "ls": "", "sessions": "", "sessions end": "x", "leases": "",
	"release": "x", "restart": "x", "runs": "", "runs list": "", "runs show": "x", "runs output": "x", "runs cancel": "x",
	"approvals": "", "approve": "x", "deny": "x", "trust": "", "opencode install": "--v1", "opencode uninstall": "",
	"runs stats": "", "runs rerun": "x", "resources": "", "resources list": "", "resources read": "demo://a",
	"prompts": "", "prompts list": "", "prompts get": "x",
	"run": "x", "scripts": "", "scripts list": "", "scripts show": "x", "scripts save": "x -",
	"preset": "", "preset list": "", "preset show": "", "preset use": "yolo",
	"auth": "x", "auth login": "x", "auth status": "", "auth logout": "x",
	"daemon status": "", "daemon install": "",
}

// withDaemonOrNot are those that have something to say without one.
var withDaemonOrNot = []string{
	"demo", "init", "opencode", "opencode status", "daemon", "daemon run", "daemon start", "daemon stop", "daemon restart", "daemon logs", "daemon uninstall",
	"doctor", "version", "completion", "help",
	"mcp", // standard output is the protocol's: no document
}

func TestEveryCommandThatNeedsADaemonSaysSoInOneDocument(t *testing.T) {
	a := &app{}
	for _, words := range paths(a.root()) {
		command := strings.Join(words, " ")
		rest, needs := withoutDaemon[command]
		if !needs {
			found := false
			for _, c := range withDaemonOrNot {
				found = found || c == command
			}
			if !found {
				t.Errorf("tenon %s is in neither list of this test", command)
			}
			continue
		}
		args := append(append([]string{"--json"}, words...), strings.Fields(rest)...)
		// Without the plugin in it this binary cannot install it: that comes first.
		document(t, args, tenon(t, "", args...), fault.DaemonUnavailable, map[bool]fault.Kind{true: fault.EngineUnavailable}[command == "opencode install"])
	}
}

func TestTheDemoIsOneDocumentUnderJSON(t *testing.T) {
	p := newPlace(t, nil)
	got := p.run("demo", "--json")
	var doc demoDocument
	dec := json.NewDecoder(strings.NewReader(got.out))
	if err := dec.Decode(&doc); err != nil || got.code != 0 || len(doc.Runs) != 3 || len(doc.Leases) != 2 || doc.Seconds <= 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	if _, err := dec.Token(); err != io.EOF || got.err != "" {
		t.Errorf("more than the document: %+v", got)
	}
	p.environ = append(p.environ, "TMPDIR="+p.home+"/none")
	document(t, []string{"demo"}, p.run("demo", "--json"), fault.UsageError)
}

func TestACompletionScriptIsADocumentUnderJSON(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		plain, got := tenon(t, "", "completion", shell), tenon(t, "", "completion", shell, "--json")
		var doc completionDocument
		if err := json.Unmarshal([]byte(got.out), &doc); err != nil || doc.Shell != shell || doc.Script != plain.out {
			t.Errorf("%s: %v: %d bytes, %d plain", shell, err, len(doc.Script), len(plain.out))
		}
	}
}
