package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const top = "../../../.."

// TestEveryCaseHasAMutationThatStillApplies keeps notes from rotting: what a
// note replaces must stand exactly once in the file it names, and the line that
// catches it in the case.
func TestEveryCaseHasAMutationThatStillApplies(t *testing.T) {
	all, err := notes(filepath.Join(top, "daemon", "testdata", "cases"), "")
	if err != nil {
		t.Error(err)
	}
	for _, n := range all {
		if err := n.check(); err != nil {
			t.Error(err)
		}
		if _, err := n.apply(top); err != nil {
			t.Error(err)
		}
	}
}

func TestTheProgramCarriesWhatTheMakefileSays(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(top, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range carriedBy {
		if !strings.Contains(string(raw), filepath.Base(file)) {
			t.Errorf("the Makefile does not name %s", file)
		}
	}
}

func TestNotesAreEditsOfTextThatStandsOnce(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.go", "one\n\ttwo\n\nthree\ntwo\n")
	read := func(body string) (*note, error) {
		write("x.txtar", "# R\n# must\ntenon x\n-- "+section+" --\n"+body)
		return readNote(filepath.Join(dir, "x.txtar"))
	}
	n, err := read("# It forgets\n# three.\ncaught by: tenon x\n--- a.go\n one\n-\ttwo\n+\t2\n\n@@\n-three\n")
	if err != nil {
		t.Fatal(err)
	}
	if n.why != "It forgets three." || n.check() != nil {
		t.Errorf("why %q, check %v", n.why, n.check())
	}
	got, err := n.apply(dir)
	if err != nil || string(got["a.go"]) != "one\n\t2\n\ntwo\n" {
		t.Errorf("%q, %v", got["a.go"], err)
	}
	for _, body := range []string{
		"# why\ncaught by: tenon x\n",                               // no edit
		"caught by: tenon x\n--- a.go\n-one\n",                      // no reason
		"# why\nnonsense\n",                                         // a line of no kind
		"# why\ncaught by: tenon x\n--- a.go\n-one\n-two\n",         // stands nowhere
		"# why\ncaught by: tenon x\n--- a.go\n-wo\n",                // no whole line
		"# why\ncaught by: tenon x\n--- b.go\n-two\n",               // no such file
		"# why\ncaught by: tenon y\n--- a.go\n-one\n",               // no such line of the case
		"# why\n--- a.go\n-one\n",                                   // caught by nothing
		"# why\ncaught by: tenon x\n--- a.go\n one\n",               // changes nothing
		"# why\ncaught by: tenon x\n--- a.go\n-one\n@@\n-one\n+1\n", // the second finds it no more
		"# why\ncaught by: tenon x\n--- a.go\n-one\n-- other --\n",  // not the last file
	} {
		n, err := read(body)
		if err == nil {
			err = n.check()
		}
		if err == nil {
			_, err = n.apply(dir)
		}
		if err == nil {
			t.Errorf("accepted:\n%s", body)
		}
	}
}

// Who asks how it is used has made no mistake.
func TestAskingForTheUsageIsNoFailure(t *testing.T) {
	if err := run(t.Context(), []string{"-h"}); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"-none"}); err == nil {
		t.Error("a flag that does not exist is taken")
	}
}
