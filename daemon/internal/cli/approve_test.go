package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tenon/proto"
)

// asked starts a call of a server that asks, with no terminal of its own, and
// waits for the question in the queue.
func (p *place) asked(arguments string) (proto.Approval, func() (code int, out string)) {
	p.t.Helper()
	cmd := p.command("call", "fake", "elicit", arguments)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var rows []proto.Approval
		got := p.run("approvals", "--json")
		if err := json.Unmarshal([]byte(got.out), &rows); err != nil {
			p.t.Fatalf("%v: %+v", err, got)
		}
		if len(rows) == 1 {
			return rows[0], func() (int, string) {
				_ = cmd.Wait() // the exit code says it
				return cmd.ProcessState.ExitCode(), out.String()
			}
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			p.t.Fatalf("no question in the queue: %s", out.String())
		}
	}
}

// watched keeps tenon approvals --watch open until the test ends.
func (p *place) watched() {
	p.t.Helper()
	cmd := p.command("approvals", "--watch")
	lines, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { stop(cmd) })
	said := make([]byte, 4096)
	var all strings.Builder
	for !strings.Contains(all.String(), "waiting for questions") {
		n, err := lines.Read(said)
		all.Write(said[:n])
		if err != nil {
			p.t.Fatalf("%v: %s", err, all.String())
		}
	}
}

func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait() // it ends by the signal
}

const bookingForm = `{"text":"Which day?","schema":{"type":"object","properties":{` +
	`"day":{"type":"string","enum":["mon","tue"]},"seats":{"type":"integer","minimum":1},"window":{"type":"boolean"},` +
	`"extras":{"type":"array","items":{"type":"string","enum":["tea","cake"]}}},"required":["day","seats"]}}`

func TestAFormOfTheQueueIsAnsweredWithFields(t *testing.T) {
	p := newPlace(t, nil)
	p.watched()
	q, ends := p.asked(bookingForm)
	if q.Kind != "form" || q.Server != "fake" || q.Tool != "elicit" || !strings.Contains(string(q.Params), "Which day?") {
		t.Errorf("the row is %+v", q)
	}
	listed := p.run("approvals").out
	for _, want := range []string{"form", "fake/elicit", "day (one of: mon | tue)", "seats (whole number)", "window (yes or no, optional"} {
		if !strings.Contains(listed, want) {
			t.Errorf("the list lacks %q: %s", want, listed)
		}
	}
	for _, c := range []struct{ args, want []string }{
		{nil, []string{`field "day" is missing`, `field "seats" is missing`, "day (one of: mon | tue)"}},
		{[]string{"--field", "day=wed", "--field", "seats=many", "--field", "colour=red", "--field", "window"}, []string{
			`field "day" must be one of the values`, `field "seats" must be a number`, `no field "colour"`, "--field window has no value"}},
		{[]string{"--field", "day=mon", "--field", "day=tue", "--field", "seats=0"}, []string{`field "day" is given twice`, `field "seats" must be at least 1`}},
		{[]string{"--always"}, []string{"answered once"}},
	} {
		got := p.run(append([]string{"approve", q.ID}, c.args...)...)
		for _, want := range c.want {
			if got.code != 2 || !strings.Contains(got.err, want) {
				t.Errorf("%q: want exit 2 and %q, got %+v", c.args, want, got)
			}
		}
	}
	got := p.run("approve", q.ID, "--field", "day=tue", "--field", "seats=2", "--field", "window=yes", "--field", "extras=tea, cake")
	if got.code != 0 || !strings.Contains(got.err+got.out, "approved") {
		t.Errorf("%+v", got)
	}
	code, out := ends()
	if want := `{"day":"tue","seats":2,"window":true,"extras":["tea","cake"]}`; code != 0 || !strings.Contains(strings.Join(strings.Fields(out), ""), want) {
		t.Errorf("exit %d: %s", code, out)
	}
	if got := p.run("approve", q.ID, "--field", "day=tue"); got.code == 0 || !strings.Contains(got.err, "not pending") {
		t.Errorf("a late answer: %+v", got)
	}
}

func TestAFormOfTheQueueIsDeclinedOrFilledInOnATerminal(t *testing.T) {
	p := newPlace(t, nil)
	p.watched()
	q, ends := p.asked(bookingForm)
	if got := p.run("deny", q.ID, "--feedback", "no"); got.code != 2 || !strings.Contains(got.err, "no place for feedback") {
		t.Errorf("%+v", got)
	}
	if got := p.run("deny", q.ID); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if code, out := ends(); code != 0 || !strings.Contains(out, `"decline"`) {
		t.Errorf("exit %d: %s", code, out)
	}

	q, ends = p.asked(bookingForm)
	s := p.terminal("approve", q.ID)
	for _, step := range []struct{ shown, keys string }{
		{"2) tue", "2\r"}, {"seats, whole number:", "3\r"}, {"window,", "\r"}, {"2) cake", "\r"}, {"send?", "y\r"},
	} {
		s.waitFor(step.shown)
		s.types(step.keys)
	}
	if code, shown := s.ends(); code != 0 || !strings.Contains(shown, "answered") {
		t.Errorf("exit %d: %s", code, shown)
	}
	if code, out := ends(); code != 0 || !strings.Contains(strings.Join(strings.Fields(out), ""), `{"day":"tue","seats":3}`) {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestAPageOfTheQueueIsShownWholeAndNotOpened(t *testing.T) {
	p := newPlace(t, nil)
	p.watched()
	q, ends := p.asked(`{"text":"sign\u001b[2J in","url":"https://xn--e1awd7f.example/x?y=1"}`)
	listed := p.run("approvals").out
	if q.Kind != "page" || !strings.Contains(listed, "https://xn--e1awd7f.example/x?y=1") || strings.Contains(listed, "\x1b[2J") {
		t.Errorf("%+v: %q", q, listed)
	}
	got := p.run("approve", q.ID, "--field", "a=b")
	if got.code != 2 || !strings.Contains(got.err, "page to visit") {
		t.Errorf("%+v", got)
	}
	got = p.run("approve", q.ID)
	if got.code != 0 || !strings.Contains(got.err, "not opened for you: https://xn--e1awd7f.example/x?y=1") {
		t.Errorf("%+v", got)
	}
	if code, out := ends(); code != 0 || !strings.Contains(out, `"accept"`) {
		t.Errorf("exit %d: %s", code, out)
	}
}

// The watch on a terminal puts forms as well, and lets go of one that is
// answered elsewhere.
func TestAWatchOnATerminalFillsInForms(t *testing.T) {
	p := newPlace(t, nil)
	watch := p.terminal("approvals", "--watch")
	watch.waitFor("answer here")
	q, ends := p.asked(bookingForm)
	watch.waitFor("2) tue")
	if got := p.run("deny", q.ID); got.code != 0 {
		t.Errorf("%+v", got)
	}
	watch.waitFor("the question is over")
	if code, out := ends(); code != 0 || !strings.Contains(out, `"decline"`) {
		t.Errorf("exit %d: %s", code, out)
	}
	_, ends = p.asked(`{"text":"sure?"}`)
	watch.waitFor("ok, yes or no")
	watch.types("y\ry\r")
	if code, out := ends(); code != 0 || !strings.Contains(out, `"accept"`) {
		t.Errorf("exit %d: %s; the watch: %s", code, out, watch.text())
	}
	watch.types("\x03")
	if code, shown := watch.ends(); code != 0 {
		t.Errorf("exit %d: %s", code, shown)
	}
}

func TestFieldsDoNotGoWithACallThatWaits(t *testing.T) {
	p := asking(t)
	p.watched()
	cmd := p.command("call", "fake", "echo", "text=hello")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := ""
	for end := time.Now().Add(patience); id == ""; time.Sleep(20 * time.Millisecond) {
		var rows []proto.Approval
		if json.Unmarshal([]byte(p.run("approvals", "--json").out), &rows) == nil && len(rows) == 1 {
			id = rows[0].ID
		}
		if time.Now().After(end) {
			t.Fatal("no question")
		}
	}
	if got := p.run("approve", id, "--field", "a=b"); got.code != 2 || !strings.Contains(got.err, "is no form") {
		t.Errorf("%+v", got)
	}
	if got := p.run("approve", id); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
