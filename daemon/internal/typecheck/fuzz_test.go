package typecheck

import (
	"strings"
	"testing"
)

// FuzzDiagnostics: whatever a checker prints, the mistakes are a bounded number of
// bounded length, at places that a program has.
func FuzzDiagnostics(f *testing.F) {
	f.Add("program.ts(2,34): error TS2322: Type 'string' is not assignable.\n  More of it.\n", "let a = 1\n")
	f.Add("TS2322 [ERROR]: Type 'string'\n  more\nconst n = 1\n      ^\n    at file:///d/program.ts:2:7\n", "\n\n")
	f.Add("TS1 [ERROR]: a\n    at file:///d/program.ts:99999999999999999999:7\nprogram.ts(99999999999999999999,0): error TS99999999999999999999: x", "")
	f.Add(strings.Repeat("program.ts(1,1): error TS1: é\n", 200), "1")
	f.Fuzz(func(t *testing.T, output, text string) {
		for _, kind := range []string{"tsc", "deno"} {
			for above := range 2 {
				p := &program{name: stem + ".ts", text: text, above: above * 3}
				found := p.diagnostics(&tool{kind: kind}, output)
				if len(found) > maxDiagnostics {
					t.Fatalf("%d mistakes", len(found))
				}
				for _, d := range found {
					if d.Line < 1 || d.Column < 0 || d.Code < 0 || len(d.Message) > maxWords+len("…") || d.String() == "" {
						t.Fatalf("%+v", d)
					}
				}
			}
		}
	})
}
