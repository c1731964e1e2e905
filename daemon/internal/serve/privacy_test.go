package serve

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// What a session's rules deny it, it must not read in the results of another.
func TestASessionReadsItsOwnRunsOnly(t *testing.T) {
	r := start(t, nil)
	ctx := context.Background()
	user := r.client("")
	as := func(id string) *client.Client {
		made, err := user.CreateSession(ctx, proto.SessionCreate{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		c := r.client(id)
		c.Identity.Ticket = made.Ticket
		return c
	}
	mine, other := as("mine"), as("other")
	stranger := r.client("mine")
	stranger.Identity.Ticket = "not one of ours"

	listening, stop := context.WithTimeout(ctx, patience)
	defer stop()
	open := make(chan struct{})
	told := make(chan string, 100)
	go func() {
		defer close(told)
		_ = other.Events(listening, "run", func() { close(open) }, func(e proto.Event) error {
			told <- string(e.Data)
			return nil
		})
	}()
	select {
	case <-open:
	case <-listening.Done():
		t.Fatal("no events")
	}

	res, err := mine.Exec(ctx, proto.ExecRequest{
		Code: `emit("priceless".repeat(20000)); "priceless"`, Args: []string{"priceless"}, Input: json.RawMessage(`"priceless"`),
	}, nil)
	if err != nil || !res.OK {
		t.Fatalf("%+v, %v", res, err)
	}
	output := func(c *client.Client, id string) (string, error) {
		body, _, err := c.Output(ctx, id, "")
		if err != nil {
			return "", err
		}
		defer body.Close()
		text, err := io.ReadAll(body)
		return string(text), err
	}
	ids := []string{res.ID}
	for _, a := range res.Artifacts {
		ids = append(ids, a.ID)
	}
	if len(ids) < 2 {
		t.Fatal("the run left no artifact")
	}
	for _, id := range ids {
		for name, c := range map[string]*client.Client{"another session": other, "a stranger": stranger} {
			if _, err := output(c, id); fault.KindOf(err) != fault.PermissionDenied {
				t.Errorf("%s reads the output of %s: %v", name, id, err)
			}
		}
		for name, c := range map[string]*client.Client{"the session": mine, "the user": user} {
			if out, err := output(c, id); err != nil || !strings.Contains(out, "priceless") {
				t.Errorf("%s does not read the output of %s: %v", name, id, err)
			}
		}
	}
	if _, err := other.Run(ctx, res.ID); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("another session looks at the run: %v", err)
	}
	if got, err := mine.Run(ctx, res.ID); err != nil || got.Result == nil {
		t.Errorf("the session does not look at its run: %v", err)
	}
	rows, err := other.Runs(ctx, client.RunFilter{})
	if text, _ := json.Marshal(rows); err != nil || len(rows) == 0 || strings.Contains(string(text), "priceless") {
		t.Errorf("another session lists %s, %v", text, err)
	}
	if res, err := other.Exec(ctx, proto.ExecRequest{Code: `"its own"`}, nil); err != nil || !res.OK {
		t.Fatal(res, err)
	}
	for {
		select {
		case data := <-told:
			if strings.Contains(data, "priceless") {
				t.Fatalf("another session is told %s", data)
			}
			if strings.Contains(data, "its own") {
				return
			}
		case <-time.After(patience):
			t.Fatal("a session is not told of its own run")
		}
	}
}
