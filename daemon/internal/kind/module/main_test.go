package module

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/sandbox"
	"tenon/daemon/internal/script"
)

const compileArg = "internal-compile"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case compileArg:
			fakeserver.Exit(script.HelperMain(os.Stdin, os.Stdout))
		case sandbox.HelperCommand:
			fakeserver.Exit(sandbox.HelperMain(os.Args[2:], os.Stderr))
		}
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
