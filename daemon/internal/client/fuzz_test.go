package client

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
)

// FuzzLines: the frames of a stream are its lines, each once and in order, empty
// ones left out, whatever is in them.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"type\":\"result\"}\n\n{\"type\":"))
	f.Add([]byte("\n\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		var got, want [][]byte
		if err := lines(bytes.NewReader(said), func(l []byte) error { got = append(got, bytes.Clone(l)); return nil }); err != nil {
			t.Fatal(err)
		}
		for l := range bytes.Lines(said) {
			if len(l) > 1 {
				want = append(want, l)
			}
		}
		if !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) || len(got) != len(want) {
			t.Fatalf("%q of %q", got, want)
		}
	})
}

// FuzzProblem: whatever answers in the daemon's place, it is an error with a kind
// of the closed list and a message of bounded length.
func FuzzProblem(f *testing.F) {
	f.Add(400, "application/problem+json", []byte(`{"kind":"UsageError","message":"m","status":400,"type":"t","title":"x"}`))
	f.Add(502, "text/html", []byte("<html>\x1b[2J"))
	f.Add(500, "application/problem+json; charset=x", []byte(`{"kind":"nonsense"}`))
	f.Add(500, "application/problem+json", []byte(`null`))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		err := problem(&http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(body))})
		e := fault.From(err)
		if err == nil || !known(e.Kind) || len(e.Message) > maxProblem+300 {
			t.Fatalf("%q: %+v", body, e)
		}
		if _, err := json.Marshal(e.Wire()); err != nil {
			t.Fatal(err)
		}
	})
}

func known(k fault.Kind) bool {
	for _, one := range fault.Kinds() {
		if one == k {
			return true
		}
	}
	return false
}

// FuzzAsked: what a daemon asks has a name of its own for the client, and the
// answer goes to the daemon under the very id that it asked with, once.
func FuzzAsked(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`), 1)
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","method":"x"}`), 0)
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`), 2)
	f.Add([]byte(`{"method":"notifications/cancelled","params":null}`), 2)
	f.Add([]byte(`{"id": 1.50 ,"method":"x","ID":3}`), 3)
	f.Fuzz(func(t *testing.T, line []byte, turn int) {
		var h, shown head
		if json.Unmarshal(line, &h) != nil {
			return // passed on as it is
		}
		a := newAsked(max(0, turn%3))
		seen := a.down(h, append(bytes.Clone(line), '\n'))
		if json.Unmarshal(seen, &shown) != nil || shown.Method != h.Method || bytes.Count(bytes.TrimRight(seen, "\n"), []byte("\n")) > bytes.Count(line, []byte("\n")) {
			t.Fatalf("%s became %s", line, seen)
		}
		if h.Method == "" || len(h.ID) == 0 || h.Method == cancelMethod {
			if len(a.open) != 0 {
				t.Fatal("what asks nothing waits for nothing")
			}
			return
		}
		answer := []byte(`{"jsonrpc":"2.0","id":` + string(shown.ID) + `,"result":{}}` + "\n")
		var back head
		if json.Unmarshal(answer, &back) != nil {
			t.Fatalf("the client saw the id %s", shown.ID)
		}
		up, ok := a.up(back, answer)
		if !ok || json.Unmarshal(up, &back) != nil || string(back.ID) != strings.TrimSpace(string(h.ID)) {
			t.Fatalf("asked with %s, answered with %s, %v", h.ID, back.ID, ok)
		}
		if _, twice := a.up(shown, answer); twice || len(a.withdrawn()) != 0 {
			t.Fatal("it is answered twice")
		}
	})
}
