package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logKeys are the keys that a line of the log may have. What has an id stands
// under one key wherever the line is written, so that tenon daemon logs can
// select by it; docs/operations.md describes those before "file".
var logKeys = []string{
	"run", "session", "instance", "server", "tool", "call", "lease", "bridge", "connection", "ask", "definition", "pid", "error", "reason", "kind", "status", "ms",
	"file", "files", "dir", "url", "socket", "address", "place", "build", "version", "host", "directory", "engine", "surface", "key", "method", "route", "type",
	"what", "part", "cause", "panic", "stack", "level", "from", "to", "again", "parent", "issuer", "client", "code", "expires",
	"calls", "runs", "groups", "processes", "instances", "records", "outcomes", "artifacts", "bytes", "limit", "lost", "kept",
}

// TestLinesOfTheLogShareTheirKeys looks at every call of a logger.
func TestLinesOfTheLogShareTheirKeys(t *testing.T) {
	found := 0
	for _, file := range tracked(t) {
		if !shipped(file) || !strings.HasSuffix(file, ".go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, read(t, file), 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, key := range keysOf(call) {
				found++
				if !slices.Contains(logKeys, key) {
					t.Errorf("%s: the key %q is none of the log's: use the one that others use, or add it to logKeys", set.Position(call.Pos()), key)
				}
			}
			return true
		})
	}
	if found < 100 {
		t.Errorf("only %d keys found", found)
	}
	page := strings.Join(section(t, "docs/operations.md", "## Logs"), "\n")
	for _, key := range logKeys[:slices.Index(logKeys, "file")] {
		if !strings.Contains(page, "`"+key+"`") {
			t.Errorf("docs/operations.md does not describe the key %s", key)
		}
	}
}

// keysOf are the keys that a call of a logger gives, as far as they are written out.
func keysOf(call *ast.CallExpr) []string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !isLogger(method.X) {
		return nil
	}
	first, ok := map[string]int{"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "Log": 3, "With": 0}[method.Sel.Name]
	if !ok {
		return nil
	}
	var keys []string
	for i := first; i < len(call.Args); i += 2 {
		if lit, ok := call.Args[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			key, err := strconv.Unquote(lit.Value)
			if err != nil {
				key = lit.Value
			}
			keys = append(keys, key)
		}
	}
	return keys
}

// isLogger reports whether an expression is named as loggers are here.
func isLogger(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return strings.EqualFold(x.Name, "log")
	case *ast.SelectorExpr:
		return strings.EqualFold(x.Sel.Name, "log")
	}
	return false
}
