package typecheck

import (
	"strings"
	"testing"
)

// Both checkers take the declarations of fetch, which are there only where fetch is.
func TestFetchIsKnownWhereItIsAllowed(t *testing.T) {
	source := strings.Join([]string{
		`const r = await fetch("https://a.example/x", { method: "POST", headers: { a: "b" }, body: JSON.stringify({ a: 1 }), signal: AbortSignal.timeout(5) });`,
		`const rows: { id: number }[] = await r.json(); for await (const chunk of r.body!) chunk.length; const f = new FormData(); f.set("a", new Blob(["x"]));`,
		`const h: string | null = new Headers(r.headers).get("a"); await fetch(new Request("https://a.example", { body: f, method: "PUT" }));`,
		`r.status.toFixed(), rows, h, r.statusCode`,
	}, "\n")
	for name, at := range map[string]func(*testing.T) Place{"tsc": project, "deno": withDeno} {
		t.Run(name, func(t *testing.T) {
			c, place := checker(t, Options{}), at(t)
			report, err := c.Check(t.Context(), Request{Source: source, Types: types, Fetch: true, Place: place})
			if err != nil || len(report.Diagnostics) != 1 || !strings.Contains(report.Diagnostics[0].Message, "statusCode") {
				t.Errorf("%+v %v", report, err)
			}
			if report, err = c.Check(t.Context(), Request{Source: source, Types: types, Place: place}); err != nil || len(report.Diagnostics) < 2 {
				t.Errorf("without fetch: %+v %v", report, err)
			}
		})
	}
}
