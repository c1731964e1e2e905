package script

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fakeserver"
)

const helperArg = "internal-compile"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == helperArg {
		fakeserver.Exit(HelperMain(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

func command(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, helperArg}
}
