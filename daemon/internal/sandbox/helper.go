package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// FailCode is the helper's exit code when it did not become the program.
const FailCode = 126

// FailPrefix begins the line that the helper then writes to standard error.
const FailPrefix = "sandbox: "

// HelperMain is the process that [Command] starts. It confines itself and
// becomes the program; it returns an exit code only when that failed.
func HelperMain(args []string, stderr io.Writer) int {
	err := become(args)
	fmt.Fprintf(stderr, "%s%v\n", FailPrefix, err)
	return FailCode
}

func become(args []string) error {
	if len(args) < 3 || args[1] != "--" {
		return errors.New("the helper needs a profile and a program")
	}
	var p Profile
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	if _, err := ParseMode(string(p.Mode)); err != nil {
		return err
	}
	return enter(p, args[2:], os.Environ())
}

// limits sets the resource limits of this process and what it becomes.
func limits(p Profile) error {
	none := unix.Rlimit{}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &none); err != nil {
		return fmt.Errorf("limit of core dumps: %w", err)
	}
	if p.Mode != Full {
		if err := boundFiles(); err != nil {
			return fmt.Errorf("limit of a file's size: %w", err)
		}
	}
	if p.CPU <= 0 || p.CPU >= maxCPU {
		return nil
	}
	seconds := uint64((p.CPU + time.Second - 1) / time.Second)
	// SIGXCPU at the first, SIGKILL at the second.
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds + 1}); err != nil {
		return fmt.Errorf("limit of computing time: %w", err)
	}
	return nil
}

// MaxFile is how long a file becomes that a confined process writes, in bytes: a
// program that fills a disk does so with one file more often than with many. The
// process that writes on gets SIGXFSZ.
const MaxFile = 4 << 30

// boundFiles sets MaxFile, or leaves a limit that is lower already.
func boundFiles() error {
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &have); err != nil {
		return err
	}
	limit := min(have.Max, MaxFile)
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: min(have.Cur, limit), Max: limit})
}

// maxCPU is more computing than any process does: no limit is meant.
const maxCPU = 10 * 365 * 24 * time.Hour
