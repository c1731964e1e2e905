package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tenon/proto"
)

// TestAProgramIsCheckedByTheProjectsOwnTypeScript goes the whole way: daemon,
// declarations of a real server, a real compiler, trust.
func TestAProgramIsCheckedByTheProjectsOwnTypeScript(t *testing.T) {
	typescript, err := filepath.Abs("../../../node_modules/typescript")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(typescript); err != nil {
		t.Skip("TypeScript is not installed: make build brings it")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node in PATH")
	}
	p := newPlace(t, nil)
	bin := filepath.Join(p.home, "bin") // node, and no other checker
	for link, to := range map[string]string{
		filepath.Join(bin, "node"): node, filepath.Join(p.cwd, "node_modules", "typescript"): typescript,
	} {
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	p.environ = append(p.environ, "PATH="+bin)
	p.write("project/.tenon/config.jsonc", `{"script": {"typecheck": "strict"}}`)
	p.write("project/wrong.ts", "const n: number = 1;\nreturn await fake.echo({ text: n });\n")

	got := p.run("exec", "--typecheck", "strict", "wrong.ts")
	for _, want := range []string{"there is no type checker on this machine", "the project is not trusted", "tenon trust lets", "tsc in PATH", "deno in PATH", "(TypeCheckError)"} {
		if got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("before trust: %q is not in %+v", want, got)
		}
	}
	if got = p.run("exec", "--typecheck", "warn", "-e", "await fake.echo({text: 'still'})"); got.code != 0 || got.out != "still\n" ||
		!strings.Contains(got.err, "the program was not checked: there is no type checker") {
		t.Errorf("warn without a checker: %+v", got)
	}
	if got = p.run("trust", "--yes"); got.code != 0 {
		t.Fatalf("trust: %+v", got)
	}
	// The project's setting counts now.
	if got = p.run("exec", "wrong.ts"); got.code != 1 ||
		!strings.Contains(got.err, "wrong.ts:2:26: Type 'number' is not assignable to type 'string' (TS2322) (TypeCheckError)") {
		t.Errorf("a mistake: %+v", got)
	}
	if got = p.run("exec", "-e", "await fake.echo({text: 'fits'})"); got.code != 0 || got.out != "fits\n" {
		t.Errorf("no mistake: %+v", got)
	}
	var r proto.RunResult
	got = p.run("exec", "--json", "--typecheck", "warn", "wrong.ts")
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || len(r.Warnings) == 0 || r.Warnings[0].Kind != "TypeCheck" || len(r.Calls) != 1 {
		t.Errorf("warn: %+v", got)
	}
	var row proto.Run
	got = p.run("runs", "show", r.ID, "--json")
	if err := json.Unmarshal([]byte(got.out), &row); err != nil || row.Options == nil || row.Options.Typecheck != "warn" {
		t.Errorf("the run's row: %+v", got)
	}
	if got = p.run("exec", "--typecheck", "hard", "-e", "1"); got.code != 2 || !strings.Contains(got.err, "off, warn, strict") {
		t.Errorf("an unknown mode: %+v", got)
	}
}
