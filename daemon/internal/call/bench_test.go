package call

import (
	"context"
	"testing"
)

// BenchmarkCall is the path alone: the server answers at once and costs
// nothing.
func BenchmarkCall(b *testing.B) {
	r := newRig(b)
	req := r.request("echo", `{"text":"hello"}`)
	ctx := context.Background()
	if _, err := r.path.Call(ctx, req); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.path.Call(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConvert(b *testing.B) {
	r := newRig(b)
	res := r.mustCall("echo", `{"text":"hello"}`)
	c := &call{p: r.path, req: &Request{View: r.view}}
	c.server, c.tool = r.view.Servers["fake"], r.path.o.Catalog.Base("def-fake").Named("echo")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.convert(res.Raw); err != nil {
			b.Fatal(err)
		}
	}
}
