package bridge

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// isHost reports whether a process is an agent host by the program it runs. It
// lets an opencode that was started inside an agent's shell have a bridge of its
// own; a script in that shell does not get one.
func isHost(pid int) bool {
	if pid <= 0 {
		return false
	}
	exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return false
	}
	name := strings.TrimPrefix(filepath.Base(strings.TrimSuffix(exe, " (deleted)")), ".")
	return name == "opencode" || strings.HasPrefix(name, "opencode-")
}
