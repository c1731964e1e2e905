package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"tenon/daemon/internal/history"
)

func TestTheLogHasNoSecrets(t *testing.T) {
	var out bytes.Buffer
	o := Options{LogTo: &out, secrets: &history.Redactor{}, level: &slog.LevelVar{}}
	log, closeLog, err := openLog(o)
	if err != nil {
		t.Fatal(err)
	}
	defer closeLog()
	o.secrets.Add(`zebra "7731"`) // learnt after the log was opened
	log.Warn("refused", "error", errors.New(`bad token zebra "7731"`), "url", "https://me:hunter2@host/x", "run", "run_1")
	if text := out.String(); strings.Contains(text, "7731") || strings.Contains(text, "hunter2") || !strings.Contains(text, "run=run_1") {
		t.Error(text)
	}
}
