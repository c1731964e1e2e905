package catalog

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/evanw/esbuild/pkg/api"

	"tenon/daemon/internal/typegen"
)

func TestNamesOfEveryAlphabetBecomeIdentifiers(t *testing.T) {
	for name, want := range map[string]string{
		"caf\u00e9":          "caf\u00e9",
		"cafe\u0301":         "caf\u00e9", // composed
		"\u0301x":            "_x",
		"🚀":                  "_",
		"🚀launch":            "_launch",
		"שלום":               "שלום",
		"a\u202eb":           "a_b", // a mark that turns the direction
		"a\u200db":           "a_b", // of no width
		"a\u200bb":           "a_b",
		"\u2e2fx":            "_x",
		"Ⅷ":                  "_",
		"٣d":                 "_٣d",
		"a\u00a0b":           "a_b",
		"日本語":                "日本語",
		"a::b//c":            "a__b__c",
		"$ref":               "$ref",
		"implements":         "implements_",
		"ToolError":          "ToolError",
		"__defineGetter__":   "__defineGetter___",
		"\xff\xfe":           "__",
		"\x00":               "_",
		"tools":              "tools",
		"\u1112\u1161\u11ab": "한",
	} {
		if got := Ident(name); got != want {
			t.Errorf("Ident(%+q) = %+q, want %+q", name, got, want)
		}
	}
	long := strings.Repeat("ä", 5000)
	a, b := Ident(long), Ident(long+"x")
	if n := len([]rune(a)); n != identLimit || a == b {
		t.Errorf("long names: %d characters, %v", n, a == b)
	}
}

// What the engines give a program is reserved, so that no server can take it, and
// declared, so that a type checker knows it.
func TestEveryGlobalOfAProgramIsReservedAndDeclared(t *testing.T) {
	var found [][]string
	for _, file := range []string{"core.js", "asks.js"} {
		prelude, err := os.ReadFile("../engine/guest/prelude/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, regexp.MustCompile(`\bhide\('([A-Za-z]+)'`).FindAllStringSubmatch(string(prelude), -1)...)
	}
	if len(found) < 10 {
		t.Fatalf("the prelude gives %q", found)
	}
	for _, match := range found {
		name := match[1]
		if got := NamespaceNames([]string{name})[0]; got == name {
			t.Errorf("a server called %s would take that global", name)
		}
		declared := regexp.MustCompile(`(?m)^declare (function|const|class) ` + name + `\b`).MatchString(typegen.Globals())
		if !declared && name != "tools" && name != "console" { // the tools are declared beside them; console is the language's environment
			t.Errorf("a type checker does not know %s", name)
		}
	}
}

// Every letter that Go knows must be one for who reads the program, too.
func TestEveryLetterOfAnIdentifierParses(t *testing.T) {
	var text strings.Builder
	for r := rune(0x80); r < 0x32000; r++ {
		if unicode.IsLetter(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd) {
			text.WriteString("tools.s." + Ident("x"+string(r)) + ";tools.s." + Ident(string(r)) + "\n")
		}
	}
	if r := api.Transform(text.String(), api.TransformOptions{Loader: api.LoaderTS}); len(r.Errors) > 0 {
		t.Errorf("%d of them do not, as in %q", len(r.Errors), r.Errors[0].Location.LineText)
	}
}

func TestANameCannotTakeThatOfAnother(t *testing.T) {
	taken := Idents([]string{"a-b", "a.b"})[0]
	all := Idents([]string{"a-b", "a.b", taken})
	if all[2] != taken || all[0] == taken || all[0] == all[1] {
		t.Errorf("%q", all)
	}
	if again := Idents([]string{taken, "a.b", "a-b"}); again[2] != all[0] || again[0] != taken {
		t.Errorf("order matters: %q, %q", all, again)
	}
	if got := Idents([]string{"cafe\u0301", "caf\u00e9"}); got[1] != "caf\u00e9" || got[0] == got[1] {
		t.Errorf("names that look the same: %+q", got)
	}
}

func TestWritersOfNamesAreUnderstood(t *testing.T) {
	have := []string{"create_issue", "createIssueComment", "list_issues", "read-file", "readme"}
	for name, want := range map[string]string{
		"createIssue": "create_issue", "CreateIssue": "create_issue", "create-issue": "create_issue", "CREATE_ISSUE": "create_issue",
		"readFile": "read-file", "read_file": "read-file", "listIssue": "list_issues", "cretae_issue": "create_issue",
		"github_create_issue": "create_issue", "mcp__github__create_issue": "create_issue", "create.issue": "create_issue",
	} {
		if got := Nearest(name, have, 1); len(got) == 0 || got[0] != want {
			t.Errorf("Nearest(%q) = %v, want %q", name, got, want)
		}
	}
	if !Same("readFile", "read_file") || Same("read_file", "read_files") || Same("", "_") {
		t.Error("Same looks at letters and digits only")
	}
}
