package cli

import (
	"strings"
	"testing"
)

// Quotes in what a flag says of itself name its value in the help; they are nothing to
// show beside a completion.
func TestCompletionsOfFlagsAreWithoutQuotes(t *testing.T) {
	got := tenon(t, "", "--help")
	if !strings.Contains(got.out, "--config file") {
		t.Errorf("the help has lost the name: %s", got.out)
	}
	p := newPlace(t, nil)
	if got := p.run("__complete", "exec", "--"); got.code != 0 || !strings.Contains(got.out, "--config\tconfiguration file in place") || strings.Contains(got.out, "`") {
		t.Errorf("%+v", got)
	}
}

// In a shell, what a program finds in .content is found otherwise.
func TestAFailedToolsAnswerIsNamedAsTheShellHasIt(t *testing.T) {
	p := newPlace(t, nil)
	for _, words := range [][]string{{"call", "fake", "fail", "text=wrong"}, {"exec", "-e", "await tools.fake.fail({text: 'wrong'})"}} {
		got := p.run(words...)
		if got.code != 1 || !strings.Contains(got.err, "--json shows its whole answer") || strings.Contains(got.err, ".content") {
			t.Errorf("%v: %+v", words, got)
		}
		if got := p.run(append([]string{"--json"}, words...)...); !strings.Contains(got.out, `"content"`) {
			t.Errorf("%v: it does not: %+v", words, got)
		}
	}
	got := p.run("exec", "-e", "try { await tools.fake.fail({text: 'wrong'}) } catch (e) { return e.hint }")
	if !strings.Contains(got.out, ".content") {
		t.Errorf("a program has it in .content: %+v", got)
	}
}
