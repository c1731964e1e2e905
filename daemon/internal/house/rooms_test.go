package house

import (
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rooms is the order of the rooms, top first. A package may import those in
// lower rows, and those standing later in its own row. It is the list of
// docs/architecture.md.
var rooms = [][]string{
	{"cmd/tenon"},
	{"cli"},
	{"serve"},
	{"api", "client"},
	{"mcpserver", "bridge"},
	{"run"},
	{"kind", "kind/stdio", "kind/watch"},
	{"shelf", "engine/embedded", "engine/process", "engine/attached", "engine", "typecheck", "script"},
	{"call"},
	{"consent", "policy"},
	{"peer", "session"},
	{"lease"},
	{"catalog", "typegen"},
	{"pool"},
	{"fakeserver", "upstream", "upstream/auth"},
	{"history"},
	{"config", "config/jsonc", "local", "proctree", "sandbox", "outbound", "question", "recent", "legible", "metrics", "fault"},
	{"proto"},
}

// generated and test-only packages, which stand outside the order.
var outside = []string{"engine/embedded/qjs", "engine/embedded/gen", "house", "rig", "cases", "faults", "soak", "threats", "bench"}

func isOutside(name string) bool {
	return slices.ContainsFunc(outside, func(o string) bool { return name == o || strings.HasPrefix(name, o+"/") })
}

func TestArrowsPointOnlyDown(t *testing.T) {
	place := map[string][2]int{}
	for row, names := range rooms {
		for col, name := range names {
			place[name] = [2]int{row, col}
		}
	}
	for name, imports := range packages(t) {
		if isOutside(name) {
			continue
		}
		from, known := room(place, name)
		if !known {
			t.Errorf("package %s stands in no room: add it to rooms here and in docs/architecture.md", name)
			continue
		}
		for _, imported := range imports {
			if isOutside(imported) {
				continue
			}
			to, known := room(place, imported)
			if !known || sameRoom(name, imported) {
				continue
			}
			if to[0] < from[0] || to[0] == from[0] && to[1] <= from[1] {
				t.Errorf("%s imports %s, which stands above it", name, imported)
			}
		}
	}
}

// room finds the row of a package; a sub-package without a place of its own
// stands with its parent.
func room(place map[string][2]int, name string) ([2]int, bool) {
	for {
		if at, ok := place[name]; ok {
			return at, true
		}
		cut := strings.LastIndex(name, "/")
		if cut < 0 {
			return [2]int{}, false
		}
		name = name[:cut]
	}
}

// sameRoom reports whether one is a sub-package of the other: inside a room,
// Go's own ban on cycles is order enough.
func sameRoom(a, b string) bool {
	return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// roomName is a package named as code in the first column of the table of rooms.
var roomName = regexp.MustCompile("`([a-z0-9/]+)`")

// TestArchitectureListsTheRooms holds the table of docs/architecture.md and the
// list above against each other, row by row.
func TestArchitectureListsTheRooms(t *testing.T) {
	var listed [][]string
	for _, line := range section(t, "docs/architecture.md", "## Rooms") {
		first, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !ok || !strings.HasPrefix(line, "| `") {
			continue
		}
		var row []string
		for _, m := range roomName.FindAllStringSubmatch(first, -1) {
			row = append(row, m[1])
		}
		listed = append(listed, row)
	}
	present := packages(t)
	var built [][]string
	for _, row := range rooms {
		var names []string
		for _, name := range row {
			if _, ok := present[name]; ok { // rooms that are still empty are not shown
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			built = append(built, names)
		}
	}
	for i := range max(len(built), len(listed)) {
		var want, got []string
		if i < len(built) {
			want = built[i]
		}
		if i < len(listed) {
			got = listed[i]
		}
		if !slices.Equal(want, got) {
			t.Errorf("docs/architecture.md, row %d of the rooms: has %v, want %v", i+1, got, want)
		}
	}
}

// packages lists every package of the daemon with what it imports, both named
// as in rooms.
func packages(t *testing.T) map[string][]string {
	out := map[string][]string{}
	short := func(path string) (string, bool) {
		if path == "tenon/proto" {
			return "proto", true
		}
		if rest, ok := strings.CutPrefix(path, "tenon/daemon/internal/"); ok {
			return rest, true
		}
		return strings.CutPrefix(path, "tenon/daemon/")
	}
	for dir, files := range goFiles(t) {
		name, ok := short("tenon/" + dir)
		if !ok {
			continue
		}
		out[name] = nil
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range parsed.Imports {
				if imported, ok := short(strings.Trim(spec.Path.Value, `"`)); ok {
					out[name] = append(out[name], imported)
				}
			}
		}
	}
	return out
}
