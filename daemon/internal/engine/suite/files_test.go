package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/sandbox"
)

// A file that is written at a place beyond the limit takes no room on the disk,
// and is refused like a long one.
func TestAFileOfAConfinedProgramHasAnEnd(t *testing.T) {
	processes(t, func(t *testing.T, r *rig) {
		if err := sandbox.Probe().Holds(sandbox.WorkspaceWrite); err != nil {
			t.Skipf("not tested here: %v", err)
		}
		out := r.engine.Run(t.Context(), engine.Program{
			Source: `const fs = await import("node:fs"); const f = fs.openSync("big", "w"); fs.ftruncateSync(f, 5 * 2 ** 30); fs.fstatSync(f).size`,
			Cwd:    r.work, Workspace: r.work, Sandbox: string(sandbox.WorkspaceWrite), Env: map[string]string{"PATH": runtimes()},
		}, &host{})
		if out.Err == nil || out.Err.Kind != fault.ScriptError || !strings.Contains(out.Err.Message+out.Stderr, "file") {
			t.Errorf("%s %+v %s", out.Value, out.Err, out.Stderr)
		}
		if info, err := os.Stat(filepath.Join(r.work, "big")); err == nil && info.Size() > sandbox.MaxFile {
			t.Errorf("the file has %d bytes", info.Size())
		}
	})
}
