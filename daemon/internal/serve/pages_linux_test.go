package serve

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

func TestPagesOfTheProgramGoBackToTheSystem(t *testing.T) {
	mapped := func() int {
		raw, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		kib := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(raw)
		if kib == nil {
			t.Fatalf("no RssFile in %s", raw)
		}
		n, err := strconv.Atoi(string(kib[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := mapped()
	unmapProgram()
	if after := mapped(); after > before/2 {
		t.Errorf("%d KiB of files mapped before, %d after", before, after)
	}
}
