package history

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWhatADeadDaemonLeftIsCounted(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "journal"), 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	text := fmt.Sprintf(`{"id":1,"type":"run","run":"run_1","session":"S","at":%d}
{"id":2,"type":"call","at":%d,"call":1,"run":"run_1","session":"S","server":"fake","tool":"x"}
{"id":3,"type":"call","at":%d,"call":2,"run":"run_1","session":"S","server":"fake","tool":"y"}
{"id":2,"type":"done","at":%d,"status":"ok"}
`, now, now, now, now)
	if err := os.WriteFile(filepath.Join(dir, "journal", "0123.log"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open1(t, dir)
	if size := s.Sizes(); size.Journal != int64(len(text)) || size.Database != 0 {
		t.Errorf("before: %+v", size)
	}
	if _, err := s.List(bg, Filter{}); err != nil { // opens the database
		t.Fatal(err)
	}
	if calls, runs := s.Recovered(); calls != 1 || runs != 1 {
		t.Errorf("%d calls, %d runs", calls, runs)
	}
	if size := s.Sizes(); size.Database <= 0 {
		t.Errorf("after: %+v", size)
	}
}
