package upstream

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/fault"
)

// logins is a login whose next token is known.
type logins struct {
	mu      sync.Mutex
	token   string // that is sent
	next    string // that a refusal gives; empty: an error
	refused int
}

func (l *logins) Token(context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.token, nil
}

func (l *logins) Refused(context.Context, string, int, http.Header) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused++
	if l.next == "" {
		return "", fault.New(fault.Unauthorized, "a login is wanted")
	}
	l.token = l.next
	return l.next, nil
}

func (l *logins) Rejected() error {
	return fault.New(fault.Unauthorized, "the new token is refused too")
}

func (l *logins) Mask(s string) string { return strings.ReplaceAll(s, "good-token", "[secret]") }

func TestARequestRefusedForItsTokenIsSentOnceMore(t *testing.T) {
	for _, kind := range []string{"http", "sse"} {
		url := fakeserver.HTTP(t, "--token", "good-token")
		if kind == "sse" {
			url = strings.TrimSuffix(url, "/mcp") + "/sse"
		}
		connect := func(l *logins) error {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			c, err := Connect(ctx, nil, Spec{Name: "s", Kind: kind, URL: url, Login: l, StartTimeout: 20 * time.Second})
			if err != nil {
				return err
			}
			defer func() { _ = c.Close(ctx) }()
			_, err = c.Call(ctx, Call{Tool: "echo", Arguments: []byte(`{"text": "x"}`)})
			return err
		}
		good := &logins{token: "old-token", next: "good-token"}
		if err := connect(good); err != nil || good.refused != 1 {
			t.Errorf("%s: %v after %d refusals", kind, err, good.refused)
		}
		none := &logins{}
		if err := connect(none); fault.KindOf(err) != fault.Unauthorized || none.refused != 1 {
			t.Errorf("%s without a login: %v after %d refusals", kind, err, none.refused)
		}
		// Nobody goes on for ever with tokens that are no good.
		bad := &logins{token: "old-token", next: "bad-token"}
		if err := connect(bad); fault.KindOf(err) != fault.Unauthorized || bad.refused != 1 || !strings.Contains(err.Error(), "too") {
			t.Errorf("%s with a bad token: %v after %d refusals", kind, err, bad.refused)
		}
	}
}
