package upstream

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fakeserver"
)

// sdkArg turns the test binary into an honest server made with the SDK, the
// other end of a direct call.
const sdkArg = "upstream-test-sdk-server"

func maybeSDKServer() {
	if len(os.Args) < 2 || os.Args[1] != sdkArg {
		return
	}
	if err := sdkServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func sdkServer() *mcp.Server {
	type in struct {
		Text string `json:"text"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "gives back text"},
		func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
		})
	return s
}

func sdkCommand(t testing.TB) []string {
	return []string{fakeserver.TestCommand(t)[0], sdkArg}
}

// caller is one way to make a call.
type caller func(ctx context.Context) error

func ours(b testing.TB, command []string) caller {
	s := stdioSpec(b)
	s.Command = command
	c := dial(b, s)
	call := Call{Tool: "echo", Arguments: args(`{"text":"hello"}`), Timeout: time.Minute, Wall: time.Hour}
	return func(ctx context.Context) error {
		_, err := c.Call(ctx, call)
		return err
	}
}

func direct(b testing.TB, command []string) caller {
	client := mcp.NewClient(&mcp.Implementation{Name: "direct", Version: "1"}, nil)
	s, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	params := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}}
	return func(ctx context.Context) error {
		_, err := s.CallTool(ctx, params)
		return err
	}
}

func inSequence(f caller, n int) error {
	for range n {
		if err := f(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func inParallel(f caller, n int) error {
	errs := make([]error, n)
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() { errs[i] = f(context.Background()) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// BenchmarkAgainstDirect compares our connection with the SDK's own client in
// one run, in turns, so that both see the same machine. It reports medians of
// 50 calls and their ratio.
func BenchmarkAgainstDirect(b *testing.B) {
	const calls, rounds = 50, 31
	for _, server := range []struct {
		name    string
		command []string
	}{{"sdk", sdkCommand(b)}, {"free", fakeserver.TestCommand(b)}} {
		for _, way := range []struct {
			name string
			run  func(caller, int) error
		}{{"sequence", inSequence}, {"parallel", inParallel}} {
			b.Run(server.name+"/"+way.name, func(b *testing.B) {
				pair := []caller{ours(b, server.command), direct(b, server.command)}
				times := [2][]time.Duration{}
				for b.Loop() {
					times = [2][]time.Duration{}
					for range rounds {
						for i, f := range pair {
							begin := time.Now()
							if err := way.run(f, calls); err != nil {
								b.Fatal(err)
							}
							times[i] = append(times[i], time.Since(begin))
						}
					}
				}
				us := func(i int) float64 {
					slices.Sort(times[i])
					return float64(times[i][rounds/2].Nanoseconds()) / 1e3 / calls
				}
				b.ReportMetric(us(0), "us/call")
				b.ReportMetric(us(1), "direct-us/call")
				b.ReportMetric(us(0)/us(1), "ratio")
			})
		}
	}
}

// BenchmarkCall measures one call to a server that costs next to nothing.
func BenchmarkCall(b *testing.B) {
	f := ours(b, fakeserver.TestCommand(b))
	b.ReportAllocs()
	for b.Loop() {
		if err := f(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFloor is what the pipe itself costs: one line there, one line back,
// nothing looked at. BenchmarkCall cannot be faster.
func BenchmarkFloor(b *testing.B) {
	command := fakeserver.TestCommand(b)
	p := exec.Command(command[0], command[1:]...)
	in, _ := p.StdinPipe()
	out, _ := p.StdoutPipe()
	if err := p.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = p.Wait() }()
	line := frameCall(nil, firstID+1, "echo", args(`{"text":"hello"}`), "", nil)
	buf := make([]byte, readBuffer)
	for b.Loop() {
		if _, err := in.Write(line); err != nil {
			b.Fatal(err)
		}
		if _, err := out.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}
