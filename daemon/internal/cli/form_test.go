package cli

import (
	"strings"
	"testing"
)

const fullForm = `{"text":"Who\u001b[2J are you?\nallow? [y]es","schema":{"type":"object","properties":{` +
	`"name":{"type":"string","minLength":2},` +
	`"age":{"type":"integer","default":30},` +
	`"score":{"type":"number"},` +
	`"sure":{"type":"boolean"},` +
	`"colour":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]},` +
	`"days":{"type":"array","items":{"type":"string","enum":["mon","tue","wed"]},"minItems":1}},` +
	`"required":["name","days"]}}`

// TEN-13: what a server asks is filled in on the user's terminal.
func TestAServersFormIsFilledInOnTheTerminal(t *testing.T) {
	p := newPlace(t, nil)
	s := p.terminal("call", "--json", "fake", "elicit", fullForm)
	for _, step := range []struct{ shown, keys string }{
		{"name, text:", "A\r"},
		{"at least 2 characters", "Ann\r"},
		{"age, whole number, optional [30]:", "\r"},
		{"score, number, optional:", "x\r"},
		{"must be a number", "1.5\r"},
		{"sure, yes or no, optional:", "y\r"},
		{"2) Green (#0f0)", "green\r"},
		{"3) wed", "\r"},
		{"it is needed", "1, wed\r"},
		{`days: ["mon","wed"]`, "e\r"},
		{`[#0f0]`, ""},
	} {
		if step.keys == "" {
			break
		}
		s.waitFor(step.shown)
		s.types(step.keys)
	}
	// Once more from the top, with what was typed as the default.
	s.waitFor(`name, text ["Ann"]:`)
	s.types("Bob\r")
	for range 5 {
		s.types("\r")
	}
	s.waitForCount("send? [y]es", 2)
	s.types("y\r")
	code, shown := s.ends()
	want := `{"action":"accept","content":{"name":"Bob","age":30,"score":1.5,"sure":true,"colour":"#0f0","days":["mon","wed"]}}`
	if code != 0 || !strings.Contains(strings.Join(strings.Fields(shown), ""), `"value":`+want) {
		t.Errorf("exit %d: %s", code, shown)
	}
	if strings.Contains(shown, "\x1b[2J") || !strings.Contains(shown, "  | allow?") {
		t.Errorf("the server's text was printed raw: %q", shown)
	}
	if !strings.Contains(shown, "server fake asks (tool elicit") {
		t.Errorf("it does not say who asks: %s", shown)
	}
}

func TestAServersQuestionCanBeDeclinedAndDismissed(t *testing.T) {
	p := newPlace(t, nil)
	for _, c := range []struct{ args, shown, keys, want string }{
		{`{"text":"sure?"}`, "ok, yes or no, optional:", "/decline\r", `{"action":"decline"}`},
		{`{"text":"sure?"}`, "ok, yes or no, optional:", "/cancel\r", `{"action":"cancel"}`},
		{`{"text":"sure?"}`, "ok, yes or no, optional:", "y\rn\r", `{"action":"decline"}`},
		{`{"text":"sure?"}`, "ok, yes or no, optional:", "y\r\rys\ry\r", `{"action":"accept","content":{"ok":true}}`}, // only a word of its own ends it
		{`{"text":"sure?","schema":{"type":"object","properties":{}}}`, "agree?", "y\r", `{"action":"accept","content":{}}`},
		{`{"text":"sure?","schema":{"type":"object","properties":{}}}`, "agree?", "\r", `{"action":"cancel"}`},
		{`{"text":"sign in","url":"https://example.com/x?y=1"}`, "will you?", "y\r", `{"action":"accept"}`},
		{`{"text":"sign in","url":"https://example.com/x?y=1"}`, "will you?", "n\r", `{"action":"decline"}`},
	} {
		s := p.terminal("exec", "-e", `JSON.stringify(await fake.elicit(`+c.args+`))`)
		s.waitFor(c.shown)
		s.types(c.keys)
		code, shown := s.ends()
		if code != 0 || !strings.Contains(shown, c.want) {
			t.Errorf("%s and %q: exit %d: %s", c.args, c.keys, code, shown)
		}
		if strings.Contains(c.args, "url") && !strings.Contains(shown, "a page at example.com, which is not opened for you:\r\n  https://example.com/x?y=1\r\n") {
			t.Errorf("the address is not shown whole: %s", shown)
		}
	}
}

func TestAQuestionThatTheServerTakesBackLeavesTheTerminal(t *testing.T) {
	p := newPlace(t, nil)
	s := p.terminal("exec", "-e", `const a = await fake.elicit({text: "sure?", ms: 300}); const b = await fake.elicit({text: "again?"}); return a + " " + b.action`)
	s.waitFor("the question is over")
	s.waitFor("again?")
	s.types("y\ry\r")
	if code, shown := s.ends(); code != 0 || !strings.Contains(shown, "taken back accept") {
		t.Errorf("exit %d: %s", code, shown)
	}
}

func TestTheUsersInterruptEndsAFormAndItsRun(t *testing.T) {
	p := newPlace(t, nil)
	for _, args := range [][]string{{"call", "fake", "elicit", "text=sure?"}, {"exec", "-e", `await fake.elicit({text: "sure?"})`}} {
		s := p.terminal(args...)
		s.waitFor("ok, yes or no")
		s.types("\x03")
		if code, shown := s.ends(); code != 130 {
			t.Errorf("%v: exit %d: %s", args, code, shown)
		}
	}
}

func TestWithoutATerminalAServersQuestionIsDeclinedWithAWarning(t *testing.T) {
	p := newPlace(t, nil)
	got := p.run("call", "fake", "elicit", "text=sure?")
	if got.code != 0 || !strings.Contains(got.out, `"decline"`) || !strings.Contains(got.err, "QuestionDeclined") ||
		!strings.Contains(got.err, "no host and no terminal") {
		t.Errorf("%+v", got)
	}
	got = p.run("call", "--json", "fake", "sample", "text=hi")
	if got.code != 0 || !strings.Contains(got.out, "declined: nobody can answer") {
		t.Errorf("%+v", got)
	}
}

// While somebody fills in a form, others see what the lease waits for.
func TestListsShowWhoWaitsForAnAnswer(t *testing.T) {
	p := newPlace(t, nil)
	s := p.terminal("call", "fake", "elicit", "text=sure?")
	s.waitFor("ok, yes or no")
	if got := p.run("leases"); !strings.Contains(got.out, "waits for an answer") {
		t.Errorf("%+v", got)
	}
	if got := p.run("runs", "--live"); !strings.Contains(got.out, "(answer)") {
		t.Errorf("%+v", got)
	}
	s.types("/decline\r")
	if code, shown := s.ends(); code != 0 {
		t.Errorf("exit %d: %s", code, shown)
	}
}
