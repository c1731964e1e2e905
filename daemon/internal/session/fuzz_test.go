package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzEnded: an ended session stays ended over a restart, whatever else is in the
// file and whatever its id is.
func FuzzEnded(f *testing.F) {
	f.Add("S", []byte("1 2 Uw\n"))
	f.Add("a b\n\x00é", []byte("x y z\n5 half"))
	f.Add("S", []byte("99999999999999999999 1 Uw\n1 99999999999999999999 Uw\n\xff\n"))
	f.Fuzz(func(t *testing.T, id string, junk []byte) {
		if id == "" {
			return // no session is called so
		}
		dir := t.TempDir()
		now := func() time.Time { return time.Unix(1_700_000_000, 0) }
		later := now().Add(time.Hour)
		line := endedLine(id, ending{now(), later})
		if err := os.WriteFile(filepath.Join(dir, revokedFile), append(append(junk, '\n'), line...), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second reads what the first has rewritten
			k, err := openTickets(dir, now)
			if err != nil {
				t.Fatal(err)
			}
			if e := k.ended[id]; !e.at.Equal(now()) || !e.till.Equal(later) || !k.endedSince(id, now().Add(-time.Second)) {
				t.Fatalf("%q: %+v", id, k.ended)
			}
		}
	})
}

// FuzzTicket: a ticket is for the session and run that it was issued for, and is
// none when a byte of it is another.
func FuzzTicket(f *testing.F) {
	f.Add("S", "run_1", 3, byte('A'))
	f.Add("a.b", "", 60, byte('.'))
	f.Add("\x00\xff", "é", 5, byte(0))
	k, err := openTickets(f.TempDir(), time.Now)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id, run string, at int, with byte) {
		text := k.issue(Ticket{Kind: SessionTicket, ID: id, Run: run}, time.Hour)
		got, err := k.verify(text)
		if len(text) > maxTicket {
			if err == nil {
				t.Fatal("a ticket beyond the limit is believed")
			}
			return
		}
		if err != nil || got.Kind != SessionTicket || got.ID != id || got.Run != run {
			t.Fatalf("%+v, %v", got, err)
		}
		if at < 0 || at >= len(text)-1 || text[at] == with { // the last character holds bits of no byte
			return
		}
		forged := text[:at] + string([]byte{with}) + text[at+1:]
		if got, err := k.verify(forged); err == nil && strings.TrimSpace(forged) != "" {
			t.Fatalf("%q is believed: %+v", forged, got)
		}
	})
}
