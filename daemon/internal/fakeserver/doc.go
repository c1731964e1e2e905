// Package fakeserver is one scripted MCP server that misbehaves on purpose:
// every test of the daemon uses it, and it ships as "tenon fake-server" so that
// a client author can reproduce a report without writing a server.
//
// It is a hand-written JSON-RPC loop and not built on an SDK, for two reasons:
// an SDK refuses to do most of what it must do wrong, and a loop that costs
// next to nothing per call makes the client's own cost visible in benchmarks.
package fakeserver

import (
	"os"
	"strings"
	"syscall"
)

// testArg is the first argument that turns a test binary into the fake server.
const testArg = "tenon-fake-server"

// MaybeMain turns the current process into the fake server when it was started
// with a command made by [TestCommand]; otherwise it returns at once. Call it
// first thing in TestMain, before flags are parsed.
func MaybeMain() {
	if len(os.Args) < 2 || os.Args[1] != testArg {
		return
	}
	Exit(Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit ends a helper of tests with that code, at once. In a build with the race
// detector os.Exit sleeps for a second unless GORACE says otherwise, and helpers
// are started without that variable; where it is set, os.Exit makes a race the
// exit code as usual.
func Exit(code int) {
	if os.Getenv("GORACE") == "" {
		syscall.Exit(code)
	}
	os.Exit(code)
}

// TB is the part of testing.TB that this package needs; naming it here keeps
// the testing package out of the shipped binary.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// TestCommand returns a command line that starts the fake server with flags:
// the running test binary itself, which [MaybeMain] diverts.
func TestCommand(t TB, flags ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatalf("fake server: %v", err)
	}
	return append([]string{exe, testArg}, flags...)
}

// ShellCommand wraps [TestCommand] in "sh -c", so that the server is a child
// of the started process as it is under npx. The shell stays as the parent.
func ShellCommand(t TB, flags ...string) []string {
	t.Helper()
	words := TestCommand(t, flags...)
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	// The trailing command keeps shells from replacing themselves by exec.
	return []string{"/bin/sh", "-c", strings.Join(quoted, " ") + "; exit $?"}
}
