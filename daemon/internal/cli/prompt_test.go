package cli

import (
	"strings"
	"testing"
)

// asking is a place whose user asks to be asked about fake_echo.
func asking(t *testing.T) *place {
	return newPlace(t, map[string]any{"permissions": map[string]any{"rules": map[string]any{"fake_echo": "ask"}}})
}

// decisions A.7: an explicit ask rule prompts a user on the terminal.
func TestAnAskRulePromptsOnTheTerminal(t *testing.T) {
	p := asking(t)
	for name, args := range map[string][]string{
		"exec": {"exec", "-e", `"got " + await fake.echo({text: "hello"})`},
		"call": {"call", "fake", "echo", "text=hello"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				keys, want string
				code       int
			}{
				{"y\r", "hello\r\n", 0},
				{"n\r", "PermissionDenied", 4},
				{"no, use a copy\r", "refused by the user: use a copy", 4},
				{"\r", "PermissionDenied", 4},
				{"\x03", "", 130},
			} {
				s := p.terminal(args...)
				s.waitFor("allow?")
				if shown := s.text(); !strings.Contains(shown, "fake_echo") || !strings.Contains(shown, `"hello"`) {
					t.Errorf("asked without saying what: %s", shown)
				}
				s.types(c.keys)
				code, shown := s.ends()
				_, after, _ := strings.Cut(shown, "allow?")
				if code != c.code || !strings.Contains(after, c.want) {
					t.Errorf("%q: exit %d: %s", c.keys, code, shown)
				}
			}
			if got := p.run("approvals", "--json"); strings.TrimSpace(got.out) != "[]" {
				t.Errorf("questions are left: %+v", got)
			}
		})
	}
}

// A document on standard output leaves standard error for the question.
func TestAnAskRulePromptsUnderJSONToo(t *testing.T) {
	p := asking(t)
	for _, args := range [][]string{
		{"exec", "--json", "-e", `await fake.echo({text: "hello"})`}, {"exec", "--stream", "-e", `await fake.echo({text: "hello"})`},
		{"call", "--json", "fake", "echo", "text=hello"},
	} {
		s := p.terminal(args...)
		s.waitFor("allow?")
		s.types("y\r")
		if code, shown := s.ends(); code != 0 || strings.Count(shown, "allow?") != 1 {
			t.Errorf("%v: exit %d: %s", args, code, shown)
		}
	}
}

func TestAlwaysIsAskedOnce(t *testing.T) {
	p := asking(t)
	s := p.terminal("call", "fake", "echo", "text=hello")
	s.waitFor("allow?")
	s.types("a\r")
	if code, shown := s.ends(); code != 0 {
		t.Fatalf("exit %d: %s", code, shown)
	}
	if got := p.run("call", "fake", "echo", "text=again"); got.code != 0 || got.out != "again\n" {
		t.Errorf("%+v", got)
	}
}

func TestWithoutATerminalAnAskRuleIsApprovalRequired(t *testing.T) {
	p := asking(t)
	for _, args := range [][]string{
		{"exec", "-e", `await fake.echo({text: "hello"})`}, {"call", "fake", "echo", "text=hello"},
	} {
		if got := p.run(args...); got.code != 4 || !strings.Contains(got.err, "ApprovalRequired") || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
