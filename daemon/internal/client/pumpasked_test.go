package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"tenon/proto"
)

// asking is a daemon that asks one thing on each connection, under the same id,
// and then does as told: it gives what it reads, and dies at the word "die".
func asking(t *testing.T, got chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		says(w, fmt.Sprint(proto.Protocol), "1.0.0")
		wire, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer wire.Close()
		_, _ = fmt.Fprintf(wire, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %d\r\n\r\n",
			proto.UpgradeMCP, proto.HeaderProtocol, proto.Protocol)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			var h head
			if json.Unmarshal([]byte(line), &h) != nil {
				t.Errorf("read %s", line)
			}
			switch h.Method {
			case "die":
				return
			case "ask":
				_, _ = io.WriteString(wire, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`+"\n")
			case "take-back":
				_, _ = io.WriteString(wire, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
			default:
				got <- line
			}
		}
	}
}

// pumped is a pump to a daemon like that, with what it tells its client.
func pumped(t *testing.T) (say func(string), hear func() head, got chan string) {
	got = make(chan string, 16)
	c := daemon(t, asking(t, got))
	toPump, in := io.Pipe()
	out, fromPump := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- c.PumpMCP(context.Background(), MCPMode{}, toPump, fromPump) }()
	lines := bufio.NewReader(out)
	t.Cleanup(func() {
		_ = in.Close()
		go func() { _, _ = io.Copy(io.Discard, lines) }()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = fromPump.Close()
	})
	say = func(line string) {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	hear = func() head {
		t.Helper()
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var h struct {
			head
			Params struct {
				ID json.RawMessage `json:"requestId"`
			} `json:"params"`
		}
		if err := json.Unmarshal(line, &h); err != nil {
			t.Fatal(err)
		}
		if h.ID == nil {
			h.ID = h.Params.ID
		}
		return h.head
	}
	return say, hear, got
}

// die ends the daemon; its client hears that, so that the next message meets the
// next one.
func die(t *testing.T, say func(string), hear func() head) {
	t.Helper()
	say(`{"id":"last","method":"die"}`)
	if h := hear(); string(h.ID) != `"last"` || h.Method != "" {
		t.Fatalf("the client hears %+v", h)
	}
}

func answerTo(id json.RawMessage, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"text":%q}}`, id, text)
}

// Each daemon counts its questions from one.
func TestALateAnswerToADaemonThatIsGoneAnswersNoQuestionOfTheNext(t *testing.T) {
	say, hear, got := pumped(t)
	say(`{"method":"ask"}`)
	first := hear()
	die(t, say, hear)
	if back := hear(); back.Method != cancelMethod || string(back.ID) != string(first.ID) {
		t.Errorf("the client hears %+v, want that the question is over", back)
	}
	say(`{"method":"ask"}`)
	second := hear()
	if string(second.ID) == string(first.ID) {
		t.Errorf("both questions have the id %s", first.ID)
	}
	say(answerTo(first.ID, "late"))
	say(answerTo(second.ID, "right"))
	if line := <-got; !sameJSON(line, answerTo(json.RawMessage("1"), "right")) {
		t.Errorf("the daemon reads %s", line)
	}
	say(answerTo(second.ID, "twice"))
	say(`{"method":"end"}`)
	if line := <-got; !sameJSON(line, `{"method":"end"}`) {
		t.Errorf("the daemon reads %s", line)
	}
}

func TestADaemonTakesItsQuestionBackUnderTheNameThatTheClientKnows(t *testing.T) {
	say, hear, got := pumped(t)
	for _, turn := range []string{"first", "second"} {
		say(`{"method":"ask"}`)
		asked := hear()
		say(`{"method":"take-back"}`)
		if back := hear(); back.Method != cancelMethod || string(back.ID) != string(asked.ID) {
			t.Errorf("%s daemon: asked %s, took back %+v", turn, asked.ID, back)
		}
		say(answerTo(asked.ID, "late"))
		say(`{"method":"end"}`)
		if line := <-got; !sameJSON(line, `{"method":"end"}`) {
			t.Errorf("%s daemon reads %s", turn, line)
		}
		die(t, say, hear)
	}
}

// A host that hangs does not read, and its children must end by a signal.
func TestASignalEndsThePumpOfAClientThatDoesNotRead(t *testing.T) {
	c := daemon(t, asking(t, make(chan string, 1)))
	toPump, in := io.Pipe()
	out, fromPump := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.PumpMCP(ctx, MCPMode{}, toPump, fromPump) }()
	t.Cleanup(func() { _, _ = in.Close(), out.Close() })
	if _, err := io.WriteString(in, `{"method":"ask"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // the rest of the line waits for ever
		t.Fatal(err)
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the pump goes on")
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	one, _ := json.Marshal(x)
	two, _ := json.Marshal(y)
	return string(one) == string(two)
}
