package embedded

import (
	"context"
	"strconv"
	"testing"

	"tenon/daemon/internal/engine"
)

const trivial = "interface R { a: number }\nconst r: R = await tools.gh.get({ a: 1 });\nconst b = r.a + 1;\nb"

func benchRun(b *testing.B, want string, source func(i int) string) {
	b.Helper()
	e := shared()
	if err := e.Warm(); err != nil {
		b.Fatal(err)
	}
	h := &silent{}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		out := e.Run(context.Background(), engine.Program{Source: source(i), Namespaces: fakes}, h)
		if out.Err != nil || string(out.Value) != want {
			b.Fatal(string(out.Value), out.Err)
		}
	}
}

// silent is a host that costs nothing.
type silent struct{ host }

func (*silent) Call(_ context.Context, _, _ string, args []byte, _ engine.CallOptions) (engine.CallValue, error) {
	return engine.CallValue{Value: args, Raw: args}, nil
}

// BenchmarkTrivialRun is a whole run with one host call whose source is new every time.
func BenchmarkTrivialRun(b *testing.B) {
	benchRun(b, "2", func(i int) string { return trivial + "//" + strconv.Itoa(i) })
}

// BenchmarkRepeatedRun is the same run with a source that was compiled before.
func BenchmarkRepeatedRun(b *testing.B) {
	benchRun(b, "2", func(int) string { return trivial })
}

// BenchmarkEmptyRun is a run that does nothing: realm, prelude, evaluation.
func BenchmarkEmptyRun(b *testing.B) {
	benchRun(b, "1", func(int) string { return "1" })
}

// BenchmarkHostCall is one host call of a sequence, JSON in and out.
func BenchmarkHostCall(b *testing.B) {
	const calls = 1000
	source := "let n = 0; for (let i = 0; i < 1000; i++) n += (await tools.gh.get({ i, name: 'x' })).i; n"
	e := shared()
	h := &silent{}
	for i := 0; i < b.N; i += calls {
		out := e.Run(context.Background(), engine.Program{Source: source, Namespaces: fakes}, h)
		if out.Err != nil {
			b.Fatal(out.Err)
		}
	}
}

// BenchmarkParallelCalls is one host call of many at a time.
func BenchmarkParallelCalls(b *testing.B) {
	const calls = 1000
	source := "(await Promise.all(Array.from({ length: 1000 }, (_, i) => tools.gh.get({ i, name: 'x' })))).length"
	e := shared()
	h := &silent{}
	for i := 0; i < b.N; i += calls {
		out := e.Run(context.Background(), engine.Program{Source: source, Namespaces: fakes}, h)
		if out.Err != nil {
			b.Fatal(out.Err)
		}
	}
}

// BenchmarkBigResult is a value of 1 MB that leaves.
func BenchmarkBigResult(b *testing.B) {
	source := "Array.from({ length: 20000 }, (_, i) => ({ id: i, name: 'item ' + i, tags: ['a', 'b'] }))"
	e := shared()
	h := &silent{}
	for b.Loop() {
		out := e.Run(context.Background(), engine.Program{Source: source, Namespaces: fakes}, h)
		if out.Err != nil {
			b.Fatal(out.Err)
		}
		b.SetBytes(int64(len(out.Value)))
	}
}
