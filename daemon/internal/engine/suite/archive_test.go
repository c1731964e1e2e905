package suite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tenon/proto"
)

const programFiles = "../../../testdata/programs"

// reasons are why an engine may give another document than the others; the table
// of engines in docs/programs.md lists them.
var reasons = map[string]string{
	"reach":   "a program on a runtime reaches modules, files and the process, a confined one does not",
	"words":   "an exception that only this engine throws, or that it words in its own way",
	"limits":  "memory, depth of recursion and computing are bounded where the engine bounds them",
	"locales": "languages other than en-US",
	"places":  "an exception that the engine makes itself, without the program, has a place on some only",
}

// archive is one program file.
type archive struct {
	path    string
	text    *txtar.Archive
	request proto.ExecRequest
	cancel  bool              // at the first call
	open    bool              // the program fails while calls are open, which may end before it does
	differs map[string]string // engine -> reason
	want    map[string]string // engine, or "" for all that do not differ -> document
}

// readArchive reads a file; its form is described in testdata/programs/README.md.
func readArchive(t *testing.T, path string) *archive {
	t.Helper()
	text, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{path: path, text: text, differs: map[string]string{}, want: map[string]string{}}
	lines := strings.Split(strings.TrimSpace(string(text.Comment)), "\n")
	if len(lines[0]) < 10 || !strings.HasSuffix(lines[0], ".") {
		t.Errorf("%s: the first line says in a sentence what comes out", path)
	}
	for _, line := range lines[1:] {
		word, rest, _ := strings.Cut(line, ": ")
		switch {
		case word == "options":
			if err := json.Unmarshal([]byte(rest), &a.request); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		case line == "open calls":
			a.open = true
		case word == "cancel":
			a.cancel = rest == "call"
		case strings.HasPrefix(word, "differs "): // differs deno node: reason
			for _, engine := range strings.Fields(word)[1:] {
				a.differs[engine] = rest
			}
			if reasons[rest] == "" {
				t.Errorf("%s: %q is no reason to differ", path, rest)
			}
		default:
			t.Fatalf("%s: a line that nobody reads: %s", path, line)
		}
	}
	for _, f := range text.Files {
		data := string(f.Data)
		switch f.Name {
		case "program.ts", "program.js":
			a.request.Code = data
		case "program.json": // a string, for characters that an editor would change
			if err := json.Unmarshal(f.Data, &a.request.Code); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		case "input.json":
			a.request.Input = json.RawMessage(strings.TrimSpace(data))
		case "stdin":
			a.request.Stdin = &data
		case "args":
			a.request.Args = strings.Split(strings.TrimSpace(data), "\n")
		default:
			engine, ok := strings.CutSuffix(strings.TrimPrefix(f.Name, "result."), "json")
			if !ok || !strings.HasPrefix(f.Name, "result.") {
				t.Fatalf("%s: nobody reads its file %s", path, f.Name)
			}
			a.want[strings.TrimSuffix(engine, ".")] = data
		}
	}
	if a.request.Code == "" {
		t.Fatalf("%s: no program", path)
	}
	a.request.Name = "program.ts"
	return a
}

// expected is the document that an engine must give.
func (a *archive) expected(engine string) string {
	if a.differs[engine] != "" {
		return a.want[engine]
	}
	return a.want[""]
}

// update writes the document of an engine into the file.
func (a *archive) update(t *testing.T, engine, document string) {
	t.Helper()
	name := "result.json"
	if a.differs[engine] != "" {
		name = "result." + engine + ".json"
	}
	at := slices.IndexFunc(a.text.Files, func(f txtar.File) bool { return f.Name == name })
	if at < 0 {
		a.text.Files = append(a.text.Files, txtar.File{Name: name})
		at = len(a.text.Files) - 1
	}
	a.text.Files[at].Data = []byte(document)
	if err := os.WriteFile(a.path, txtar.Format(a.text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// document is a result without what is another at every run: ids, times, the
// columns of places, the order in which calls that were made at once began.
type document struct {
	OK        bool              `json:"ok"`
	Value     json.RawMessage   `json:"value"`
	Stdout    string            `json:"stdout,omitempty"`
	Stderr    string            `json:"stderr,omitempty"`
	Logs      []string          `json:"logs,omitempty"` // line, level, message, attributes
	Emits     []json.RawMessage `json:"emits,omitempty"`
	Warnings  []proto.Warning   `json:"warnings,omitempty"`
	Calls     []string          `json:"calls,omitempty"` // server, tool, status
	Artifacts []string          `json:"artifacts,omitempty"`
	Error     *failure          `json:"error,omitempty"`
	Truncated bool              `json:"truncated,omitempty"`
}

type failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Tool    string `json:"tool,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	Line    int    `json:"line,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

var ids = regexp.MustCompile(`\b(run|art|ses|s)_[0-9A-Za-z-]{6,}`)

// normal is the document of a result, as it stands in a file.
func normal(t *testing.T, a *archive, r *proto.RunResult) string {
	t.Helper()
	if a.open {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w proto.Warning) bool { return w.Kind == "CallsCancelled" })
		for i := range r.Calls {
			r.Calls[i].Status = "begun"
		}
	}
	d := document{OK: r.OK, Value: r.Value, Stdout: r.Stdout, Stderr: r.Stderr, Emits: r.Emits, Warnings: r.Warnings, Truncated: r.Truncated}
	for _, l := range r.Logs {
		line := 0
		if l.Position != nil {
			line = l.Position.Line
		}
		d.Logs = append(d.Logs, strings.TrimSpace(fmt.Sprintf("%d %s %s %s", line, l.Level, l.Message, l.Attrs)))
	}
	counts := map[string]int{}
	for _, c := range r.Calls {
		counts[c.Server+"."+c.Tool+" "+c.Status]++
	}
	for what, n := range counts {
		if n > 1 {
			what = fmt.Sprintf("%s ×%d", what, n)
		}
		d.Calls = append(d.Calls, what)
	}
	slices.Sort(d.Calls)
	for _, a := range r.Artifacts {
		d.Artifacts = append(d.Artifacts, fmt.Sprintf("%s %d bytes", a.MimeType, a.Bytes))
	}
	if e := r.Error; e != nil {
		if e.Kind == "MemoryLimitExceeded" {
			d.Stderr = "" // the last words of a runtime, full of numbers
		}
		d.Error = &failure{Kind: e.Kind, Message: e.Message, Pointer: e.Pointer, Hint: e.Hint}
		if e.Server != "" {
			d.Error.Tool = strings.TrimSuffix(e.Server+"."+e.Tool, ".")
		}
		if e.Position != nil {
			d.Error.Line = e.Position.Line
		}
	}
	text, err := proto.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return pretty(t, ids.ReplaceAllString(string(text), "${1}_ID"))
}

// pretty is JSON with a member a line; values of programs stay on one.
func pretty(t *testing.T, text string) string {
	t.Helper()
	var members struct{ json.RawMessage }
	if err := json.Unmarshal([]byte(text), &members.RawMessage); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(strings.NewReader(text))
	_, _ = d.Token() // {
	var b strings.Builder
	b.WriteString("{")
	for i := 0; d.More(); i++ {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n  %q: %s", name, listed(value))
	}
	b.WriteString("\n}\n")
	return b.String()
}

// listed is a list of several parts with one a line.
func listed(value json.RawMessage) string {
	var parts []json.RawMessage
	if len(value) < 80 || json.Unmarshal(value, &parts) != nil || len(parts) < 2 {
		return string(value)
	}
	var b strings.Builder
	for i, p := range parts {
		b.WriteString([]string{"[\n    ", ",\n    "}[min(i, 1)])
		b.Write(p)
	}
	return b.String() + "\n  ]"
}

// archives are all program files.
func archives(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(programFiles, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	return paths
}
