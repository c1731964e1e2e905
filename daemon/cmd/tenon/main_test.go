package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// initLine is a line of GODEBUG=inittrace=1: package, clock, bytes.
var initLine = regexp.MustCompile(`(?m)^init (\S+) @.*?, ([0-9.]+) ms clock, (\d+) bytes`)

// Every command, and every server and helper started from this binary, pays
// for what package variables and init functions do. Ours do next to nothing;
// memory is what tells, since it does not depend on the machine.
func TestNothingOfOursWorksBeforeMain(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := initLine.FindAllStringSubmatch(string(out), -1)
	if len(lines) < 10 {
		t.Fatalf("the trace could not be read: %s", out)
	}
	const most = 128 << 10
	total := 0
	for _, l := range lines {
		if !strings.HasPrefix(l[1], "tenon/") {
			continue
		}
		n, err := strconv.Atoi(l[3])
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s ms, %d bytes", l[1], l[2], n)
		total += n
	}
	if total > most {
		t.Errorf("our packages allocate %d bytes before main, more than %d", total, most)
	}
}
