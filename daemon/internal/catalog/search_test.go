package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenon/daemon/internal/upstream"
	"tenon/proto"
)

// shop is a view of two servers and a script.
func shop(t testing.TB) *Index {
	t.Helper()
	list := func(tools ...upstream.Tool) *List {
		l, problem := build(tools)
		if problem != "" {
			t.Fatal(problem)
		}
		return l
	}
	return NewIndex([]Entry{
		{Server: "fs", Namespace: "fs", List: list(
			upstream.Tool{Name: "read_file", Description: "Reads a file.", InputSchema: []byte(`{"properties":{"path":{"type":"string","description":"Where it is on the disk."},"headLines":{}}}`)},
			upstream.Tool{Name: "write_file", Description: "Stores text."},
			upstream.Tool{Name: "list_directory", Description: "What is in a directory."},
			upstream.Tool{Name: "create_directory", Description: "Makes one."},
		)},
		{Server: "my browser", Namespace: "my_browser", List: list(
			upstream.Tool{Name: "takeScreenshot", Description: "Saves an image of the page."},
			upstream.Tool{Name: "navigate", Description: "Loads an address.", InputSchema: []byte(`{"properties":{"waitUntil":{"enum":["networkidle","load"]}}}`)},
			upstream.Tool{Name: "HTTPRequests", Description: "What the page asked for."},
			upstream.Tool{Name: "查询天气", Description: "查询一个城市的天气。"},
		)},
		{Server: "later", Namespace: "later"},
	}, Script{Name: "ops/deploy", Signature: `run("ops/deploy", { stage: string })`, Description: "Deploys the site.", Params: []string{"stage"}})
}

func TestSearchFindsWhatWasMeant(t *testing.T) {
	x := shop(t)
	for query, want := range map[string]string{
		"read file":             "tools.fs.read_file",
		"reads files":           "tools.fs.read_file", // other endings
		"readFile":              "tools.fs.read_file",
		"readfile":              "tools.fs.read_file", // as one word
		"READ_FILE":             "tools.fs.read_file",
		"raed file":             "tools.fs.read_file", // a slip
		"head lines":            "tools.fs.read_file", // a parameter
		"disk":                  "tools.fs.read_file", // what the schema says of one
		"mkdir":                 "tools.fs.create_directory",
		"make a folder":         "tools.fs.create_directory", // the same by other words
		"ls":                    "tools.fs.list_directory",
		"screen shot":           "tools.my_browser.takeScreenshot",
		"screenshoot":           "tools.my_browser.takeScreenshot",
		"open https://site.com": "tools.my_browser.navigate",
		"networkidle":           "tools.my_browser.navigate", // a word that a parameter takes
		"http requests":         "tools.my_browser.HTTPRequests",
		"Ordner anlegen":        "tools.fs.create_directory",
		"lire un fichier":       "tools.fs.read_file",
		"截图":                    "tools.my_browser.takeScreenshot",
		"天气":                    "tools.my_browser.查询天气",
		"my browser navigate":   "tools.my_browser.navigate",
		"deploy the site":       `run("ops/deploy")`,
		"stage":                 `run("ops/deploy")`,
	} {
		found := x.Search(query, "", 0, 0)
		if len(found.Items) == 0 || found.Items[0].Path != want {
			t.Errorf("%q: %+v, want %s first", query, found.Items, want)
		}
	}
	if found := x.Search("zzqx", "", 0, 0); found.Total != 0 {
		t.Errorf("what nothing is about: %+v", found)
	}
	if found := x.Search("the of a", "", 0, 0); found.Total == 0 {
		t.Error("a query of nothing but fillers is looked for all the same")
	}
}

func TestAnExactPathIsALookup(t *testing.T) {
	x := shop(t)
	for path, want := range map[string]string{
		"fs.read_file":                 "tools.fs.read_file",
		"tools.fs.read_file":           "tools.fs.read_file",
		"fs/read_file":                 "tools.fs.read_file",
		"fs_read_file":                 "tools.fs.read_file",
		"mcp__fs__read_file":           "tools.fs.read_file",
		`my_browser["takeScreenshot"]`: "tools.my_browser.takeScreenshot",
		"my browser/takeScreenshot":    "tools.my_browser.takeScreenshot",
		`run("ops/deploy")`:            `run("ops/deploy")`,
		"scripts.ops/deploy":           `run("ops/deploy")`,
	} {
		found := x.Search(" "+path+" ", "", 0, 0)
		if found.Total != 1 || found.Items[0].Path != want {
			t.Errorf("%s: %+v", path, found)
		}
	}
	if found := x.Search("fs.read_file", "my_browser", 0, 0); slices.ContainsFunc(found.Items, func(i proto.SearchItem) bool { return i.Server == "fs" }) {
		t.Errorf("a search narrowed to another server: %+v", found)
	}
}

func TestScriptsStandAmongWhatIsFound(t *testing.T) {
	x := shop(t)
	listed := x.Search("", "", 100, 0)
	if listed.Total != 9 || listed.Items[8].Kind != KindScript || listed.Items[0].Kind != "" {
		t.Errorf("%+v", listed)
	}
	if only := x.Search("", ScriptSpace, 0, 0); only.Total != 1 || only.Items[0].Signature != `run("ops/deploy", { stage: string })` {
		t.Errorf("%+v", only)
	}
	if x.FindScript("scripts.ops/deploy") == nil || x.FindScript("fs.read_file") != nil || x.FindScript("scripts.none") != nil {
		t.Error("a script is found at its path only")
	}
	if _, _, tool := x.Find(`run("ops/deploy")`); tool != nil {
		t.Error("a script is no tool")
	}
}

// The order must not depend on the order of a map, or pages would overlap.
func TestPagesOfASearchNeverOverlap(t *testing.T) {
	var tools []upstream.Tool
	for i := range 60 {
		tools = append(tools, upstream.Tool{Name: fmt.Sprintf("read_thing_%d", i), Description: "Reads a thing of the same kind."})
	}
	l, _ := build(tools)
	entries := []Entry{{Server: "s", Namespace: "s", List: l}}
	seen := map[string]bool{}
	for offset := 0; ; {
		page := NewIndex(entries).Search("raed things", "", 7, offset) // a new index each time
		for _, i := range page.Items {
			if seen[i.Path] {
				t.Fatalf("%s twice", i.Path)
			}
			seen[i.Path] = true
		}
		if page.Next == nil {
			break
		}
		offset = page.Next.Offset
	}
	if len(seen) != 60 {
		t.Errorf("%d of 60", len(seen))
	}
}

func TestWordsAreSplitAsNamesAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"takeScreenshot":     "take screenshot",
		"HTTPServer parseID": "http server parse id",
		"snake_case-kebab.x": "snake case kebab x",
		"get2faCode":         "get2fa code",
		"écran über":         "écran über",
		"读取文件 a":             "读取 取文 文件 a",
	} {
		if got := strings.Join(tokens(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, same := range [][]string{
		{"file", "files", "filing"}, {"navigate", "navigation", "navigating", "navigates"}, {"create", "created", "creation", "creating"},
		{"get", "getting"}, {"directory", "directories"}, {"search", "searches", "searching"}, {"click", "clicked", "clicks"},
	} {
		for _, w := range same[1:] {
			if stem(w) != stem(same[0]) {
				t.Errorf("%s becomes %s, %s %s", same[0], stem(same[0]), w, stem(w))
			}
		}
	}
	for _, w := range []string{"class", "status", "this", "string", "session"} {
		if got := stem(w); len(got) < 3 {
			t.Errorf("%s becomes %s", w, got)
		}
	}
}
