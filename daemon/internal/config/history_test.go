package config

import (
	"strings"
	"testing"
)

func TestBoundsOfHistoryAreTheUsers(t *testing.T) {
	w := newWorld(t)
	w.user(`{"history": {"maxDatabase": "64MiB", "maxArtifacts": "2GiB", "retention": "7d"}}`)
	if d := w.view().Daemon; d.HistoryDatabase != 64<<20 || d.HistoryArtifacts != 2<<30 {
		t.Errorf("%+v", d)
	}
	for text, want := range map[string]string{
		`"1KiB"`: "1MiB is the least", `0`: "1MiB is the least", `"much"`: "history.maxArtifacts", `true`: "history.maxArtifacts",
	} {
		w := newWorld(t)
		w.user(`{"history": {"maxArtifacts": ` + text + `}}`)
		if _, err := w.store.View(w.project, "", w.env()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
