package fakeserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	MaybeMain()
	goleak.VerifyTestMain(m)
}

// talk runs the server in process over the lines and returns what it wrote.
func talk(t *testing.T, flags []string, lines ...string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(flags, strings.NewReader(strings.Join(lines, "\n")+"\n"), &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

func request(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

func TestHonestServerAnswersInOrder(t *testing.T) {
	got := talk(t, nil,
		request("1", "initialize", `{}`),
		request("2", "tools/call", `{"name":"echo","arguments":{"text":"hi"}}`),
		request(`"x"`, "tools/call", `{"name":"counter","arguments":{}}`),
		request("4", "nonsense", `{}`),
	)
	want := []string{`"protocolVersion":"2025-06-18"`, `"text":"hi"`, `"id":"x"`, `-32601`}
	if len(got) != len(want) {
		t.Fatalf("got %d lines: %q", len(got), got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("line %d is %s, lacks %s", i, got[i], want[i])
		}
	}
}

func TestEveryToolIsListedWithAValidSchema(t *testing.T) {
	got := talk(t, []string{"--more", "2", "--material"}, request("1", "tools/list", `{}`))
	var m struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(got[0]), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Result.Tools) != len(honest)+2 {
		t.Errorf("listed %d tools", len(m.Result.Tools))
	}
}

func TestPagesAndEndlessCursors(t *testing.T) {
	got := talk(t, []string{"--more", "120", "--pages", "50", "--material"},
		request("1", "tools/list", `{}`), request("2", "tools/list", `{"cursor":"50"}`),
		request("3", "tools/list", `{"cursor":"100"}`))
	if n := strings.Count(strings.Join(got, ""), `"inputSchema"`); n != 120+len(honest) {
		t.Errorf("three pages hold %d tools", n)
	}
	if strings.Contains(got[2], "nextCursor") {
		t.Errorf("the last page has a cursor: %s", got[2])
	}
	got = talk(t, []string{"--cursor", "repeat"}, request("1", "tools/list", `{"cursor":"again"}`))
	if !strings.Contains(got[0], `"nextCursor":"again"`) {
		t.Errorf("no repeated cursor: %s", got[0])
	}
}

func TestNoiseIsWrittenWhenTold(t *testing.T) {
	got := talk(t, []string{"--say", "start", `Server ready\n`, "--say", "call:2", `{"level":"info"}\n`},
		request("1", "tools/call", `{"name":"pid","arguments":{}}`),
		request("2", "tools/call", `{"name":"pid","arguments":{}}`))
	if len(got) != 4 || got[0] != "Server ready" || got[2] != `{"level":"info"}` {
		t.Errorf("got %q", got)
	}
}

func TestJournalHoldsEveryMessage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	talk(t, []string{"--journal", path}, request("1", "ping", `{}`), "not json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(string(data)), "\n"); len(lines) != 2 ||
		!strings.Contains(lines[0], `"message":{"jsonrpc"`) || !strings.Contains(lines[1], `"message":"not json"`) {
		t.Errorf("journal: %s", data)
	}
}

func TestImageIsAPictureOfTheAskedSize(t *testing.T) {
	for _, n := range []int{100, 4096, 2 << 20} {
		b := png(n)
		if len(b) != n {
			t.Errorf("asked for %d bytes, got %d", n, len(b))
		}
		if got := http.DetectContentType(b); got != "image/png" {
			t.Errorf("content is %s", got)
		}
	}
}

func TestExitOnTheSecondCall(t *testing.T) {
	words := TestCommand(t, "--exit", "call:2", "3")
	c := exec.Command(words[0], words[1:]...)
	c.Stdin = strings.NewReader(request("1", "tools/call", `{"name":"pid","arguments":{}}`) + "\n" +
		request("2", "tools/call", `{"name":"pid","arguments":{}}`) + "\n")
	out, err := c.Output()
	if c.ProcessState.ExitCode() != 3 || strings.Count(string(out), "\n") != 1 {
		t.Errorf("exit %v, output %s", err, out)
	}
}

func TestLockedProfileRefusesASecondServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile")
	words := TestCommand(t, "--lock", path)
	first := exec.Command(words[0], words[1:]...)
	in, _ := first.StdinPipe()
	out, _ := first.StdoutPipe()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, request("1", "ping", `{}`)+"\n")
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it runs, so it holds the lock
		t.Fatal(err)
	}
	second := exec.Command(words[0], words[1:]...)
	if _ = second.Run(); second.ProcessState.ExitCode() != exitLocked {
		t.Errorf("second exited with %d", second.ProcessState.ExitCode())
	}
	_ = in.Close()
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
}

func TestHelpAndWrongFlags(t *testing.T) {
	var out, errs bytes.Buffer
	if code := Main([]string{"--help"}, nil, &out, &errs); code != 0 || !strings.Contains(out.String(), "ask-roots") {
		t.Errorf("help: %d %s", code, out.String())
	}
	for _, wrong := range [][]string{{"--nonsense"}, {"--exit", "call"}, {"--exit", "never", "1"}, {"--ignore", "all"}, {"--more", "x"}} {
		if code := Main(wrong, nil, &out, &errs); code != exitUsage {
			t.Errorf("%q: exit %d", wrong, code)
		}
	}
}

func post(t *testing.T, url, session, body string) (*http.Response, string) {
	t.Helper()
	r, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	r.Header.Set("Mcp-Session-Id", session)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body) // a dropped stream ends in an error, its bytes count
	return resp, string(data)
}

func TestHTTPSessionExpiresAfterItsCalls(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	url := HTTP(t, "--expire", "2")
	call := request("7", "tools/call", `{"name":"echo","arguments":{"text":"hi"}}`)
	resp, _ := post(t, url, "", request("1", "initialize", `{}`))
	id := resp.Header.Get("Mcp-Session-Id")
	for i, want := range []int{200, 200, 404, 404} {
		if resp, body := post(t, url, id, call); resp.StatusCode != want {
			t.Errorf("call %d: %s %s", i+1, resp.Status, body)
		}
	}
}

func TestDroppedStreamCanBeResumed(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	url := HTTP(t, "--drop", "200", "--resume")
	resp, _ := post(t, url, "", request("1", "initialize", `{}`))
	id := resp.Header.Get("Mcp-Session-Id")
	_, body := post(t, url, id, request("7", "tools/call", `{"name":"sleep","arguments":{"ms":50}}`))
	if strings.Contains(body, "slept") || !strings.Contains(body, "id: ") {
		t.Fatalf("not dropped before the answer: %s", body)
	}
	last := strings.Fields(body)[1]
	r, _ := http.NewRequest(http.MethodGet, url, nil)
	r.Header.Set("Mcp-Session-Id", id)
	r.Header.Set("Last-Event-ID", last)
	again, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Body.Close()
	if data, _ := io.ReadAll(again.Body); !strings.Contains(string(data), "slept 50 ms") {
		t.Errorf("resumed: %s", data)
	}
}
