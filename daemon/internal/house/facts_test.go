package house

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenon/daemon/internal/api"
	"tenon/daemon/internal/config"
)

// Pages state facts that live in the code; these tests hold the two together.

func TestEveryRouteIsDescribed(t *testing.T) {
	row := regexp.MustCompile("^\\| `([A-Z]+) (/[^`]*)` \\|")
	described := map[string]bool{}
	for _, line := range section(t, "docs/api.md", "## Routes") {
		if m := row.FindStringSubmatch(line); m != nil {
			described[m[1]+" "+m[2]] = true
		}
	}
	for _, r := range api.Routes() {
		route := r.Method + " " + r.Path
		if !described[route] {
			t.Errorf("docs/api.md does not describe %s", route)
		}
		delete(described, route)
	}
	for route := range described {
		t.Errorf("docs/api.md describes %s, which does not exist", route)
	}
}

func TestEveryMethodOfTheBridgeIsDescribed(t *testing.T) {
	var schema struct {
		Methods []struct{ Name string } `json:"x-methods"`
	}
	if err := json.Unmarshal([]byte(read(t, "proto/schema/bridge.json")), &schema); err != nil {
		t.Fatal(err)
	}
	page := read(t, "docs/api.md")
	for _, m := range schema.Methods {
		if !strings.Contains(page, "| `"+m.Name+"` |") {
			t.Errorf("docs/api.md does not describe the method %s", m.Name)
		}
	}
	if len(schema.Methods) == 0 {
		t.Error("proto/schema/bridge.json lists no method")
	}
}

func TestEveryGlobalOfAProgramIsDescribed(t *testing.T) {
	page := read(t, "docs/programs.md")
	global := regexp.MustCompile(`\bhide\('([A-Za-z]+)'`)
	found := 0
	for _, file := range tracked(t) {
		if !isPrelude(file) || !strings.HasSuffix(file, ".js") {
			continue
		}
		for _, m := range global.FindAllStringSubmatch(read(t, file), -1) {
			found++
			if !regexp.MustCompile("`[^`]*\\b" + m[1] + "\\b[^`]*`").MatchString(page) {
				t.Errorf("docs/programs.md does not name the global %s (%s)", m[1], file)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d globals found: has the prelude moved?", found)
	}
}

func TestTheAllowListIsPrinted(t *testing.T) {
	page := strings.Join(section(t, "docs/security.md", "## The allow-list of variables"), "\n")
	for _, name := range config.BaseNames() {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/security.md does not name %s among the allow-listed variables", name)
		}
	}
}

// ourVariable is a variable of the environment as code names it.
var ourVariable = regexp.MustCompile(`"(TENON_[A-Z_]+)"|\benv\.(TENON_[A-Z_]+)|process\.env\.(TENON_[A-Z_]+)`)

func TestEveryVariableOfOursIsDescribed(t *testing.T) {
	page := strings.Join(section(t, "docs/cli.md", "## Environment"), "\n")
	known := map[string]bool{}
	for _, file := range tracked(t) {
		if !shipped(file) || strings.HasPrefix(file, "plugins/") && !strings.Contains(file, "/src/") {
			continue
		}
		for _, m := range ourVariable.FindAllStringSubmatch(read(t, file), -1) {
			for _, name := range m[1:] {
				if name != "" {
					known[name] = true
				}
			}
		}
	}
	for name := range known {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/cli.md does not describe the variable %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`(TENON_[A-Z_]+)`").FindAllStringSubmatch(page, -1) {
		if !known[m[1]] {
			t.Errorf("docs/cli.md describes %s, which nothing reads", m[1])
		}
	}
}

// TestExitCodesAreThoseOfTheKinds holds the table of docs/cli.md.
func TestExitCodesAreThoseOfTheKinds(t *testing.T) {
	page := strings.Join(section(t, "docs/cli.md", "## Exit codes"), "\n")
	index := read(t, "docs/errors/index.md")
	for _, m := range regexp.MustCompile(`\| \[([A-Za-z]+)\]\([^)]*\) \| (\d+) \|`).FindAllStringSubmatch(index, -1) {
		kind, code := m[1], m[2]
		line := ""
		for _, l := range strings.Split(page, "\n") {
			if strings.Contains(l, "`"+kind+"`") {
				line = l
			}
		}
		if line == "" && code == "1" {
			continue // "every other kind"
		}
		if !strings.HasPrefix(line, "| "+code+" |") {
			t.Errorf("docs/cli.md has %s in %q, its exit code is %s", kind, line, code)
		}
	}
}

// TestTheIndexLinksEveryPage: a page that nothing links is read by nobody.
func TestTheIndexLinksEveryPage(t *testing.T) {
	index := read(t, "docs/index.md")
	for _, file := range tracked(t) {
		name, ok := strings.CutPrefix(file, "docs/")
		if !ok || !strings.HasSuffix(name, ".md") || name == "index.md" {
			continue
		}
		if strings.HasPrefix(name, "errors/") && name != "errors/index.md" {
			continue // linked from the list of kinds
		}
		if !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/index.md does not link %s", file)
		}
	}
}

func TestAnchorsOfThePagesExist(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]*)#([^)]+)\)`)
	for _, page := range tracked(t) {
		if !strings.HasSuffix(page, ".md") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			target := page
			if m[1] != "" {
				target = page[:strings.LastIndex(page, "/")+1] + m[1]
			}
			if !slices.Contains(anchors(t, target), m[2]) {
				t.Errorf("%s links %s#%s, which is no heading there", page, target, m[2])
			}
		}
	}
}

// anchors are the headings of a page as links name them.
func anchors(t *testing.T, page string) []string {
	var out []string
	drop := regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, line := range strings.Split(read(t, page), "\n") {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			out = append(out, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-"))
		}
	}
	return out
}

// TestSymptomsAreMessagesOfOurs: what somebody sees and searches for must be
// what the product says. "…" stands for what varies.
func TestSymptomsAreMessagesOfOurs(t *testing.T) {
	var code strings.Builder
	for _, file := range tracked(t) {
		if shipped(file) || isPrelude(file) {
			code.WriteString(read(t, file))
		}
	}
	for _, line := range section(t, "docs/troubleshooting.md", "# Troubleshooting") {
		symptom, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !ok || !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(symptom, -1) {
			for _, part := range strings.Split(m[1], "…") {
				if part = strings.TrimSpace(part); part != "" && !strings.Contains(code.String(), part) {
					t.Errorf("docs/troubleshooting.md: nothing says %q", part)
				}
			}
		}
	}
}

// isPrelude reports whether a file gives programs their globals.
func isPrelude(file string) bool {
	return strings.HasPrefix(file, "daemon/internal/engine/embedded/prelude/") || strings.HasPrefix(file, "daemon/internal/engine/guest/prelude/")
}
