package session

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Who looks at the daemon every second would fill its log; the end of what held an
// instance is news.
func TestTheEndOfALoneCommandThatHeldNothingIsNoNews(t *testing.T) {
	var log bytes.Buffer
	m, err := New(Options{RuntimeDir: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var holder string
	m.HoldsBy(func(id string) bool { return id == holder })
	quiet, loud := m.Ephemeral("cli", "/", nil), m.Ephemeral("cli", "/", nil)
	holder = loud.ID
	for _, s := range []*Session{quiet, loud} {
		if err := m.End(s.ID, "its command has ended"); err != nil {
			t.Fatal(err)
		}
	}
	if text := log.String(); strings.Contains(text, quiet.ID) || !strings.Contains(text, loud.ID) {
		t.Errorf("%s", text)
	}
}
