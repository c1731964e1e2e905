package suite

import (
	"strings"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

func TestAProgramImportsFilesOfItsFolderOnEveryEngine(t *testing.T) {
	modules := &engine.Modules{Path: "team/report.ts", Files: map[string]string{
		"_lib/math.ts": "export enum Step { Two = 2 }\nexport const twice = (n: number) => n * Step.Two;\nexport function fail(): never {\n  throw new RangeError('deep');\n}",
		"names.json":   `["ann"]`,
	}}
	const source = "import { twice, fail } from '../_lib/math';\nimport names from '../names.json';\nexport default (input: number, { args }: any) => [twice(input), names[0], ...args];\nexport async function broken() { await gh.get({}); fail() }\nexport const fixed = 7;"
	each(t, func(t *testing.T, r *rig) {
		run := func(export string) *engine.Outcome {
			out, _ := r.run(t.Context(), source, func(p *engine.Program) {
				p.Modules, p.Export, p.Args, p.Input = modules, export, []string{"x"}, []byte("4")
			})
			return out
		}
		if out := run(""); out.Err != nil || string(out.Value) != `[8,"ann","x"]` {
			t.Errorf("%s, %v", out.Value, out.Err)
		}
		if out := run("fixed"); out.Err != nil || string(out.Value) != "7" {
			t.Errorf("%s, %v", out.Value, out.Err)
		}
		out := run("broken")
		if out.Err == nil || out.Err.Position == nil || out.Err.Position.File != "_lib/math.ts" || out.Err.Position.Line != 4 || !strings.Contains(out.Stack, "_lib/math.ts:4:") {
			t.Errorf("%+v at %+v\n%s", out.Err, out.Err.Position, out.Stack)
		}
		if out := run("none"); fault.KindOf(out.Err) != fault.UsageError {
			t.Errorf("%v", out.Err)
		}
	})
}
