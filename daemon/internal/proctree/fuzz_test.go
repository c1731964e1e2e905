package proctree

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRecord: whatever a killed daemon left, no line of it hides a group that was
// recorded, and none that has ended comes back.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"op":"started","token":"a","pid":1,"start":"5"}` + "\n" + `{"op":"ended","token":"a"}` + "\n"))
	f.Add([]byte("{\"token\":\"b\",\"pid\":-1}\n{\"tok"))
	f.Add([]byte("null\n[]\n\xff\n{\"op\":\"ended\"}"))
	f.Fuzz(func(t *testing.T, junk []byte) {
		if bytes.Contains(junk, []byte("mine")) || bytes.Contains(junk, []byte(`\u`)) {
			return
		}
		path := filepath.Join(t.TempDir(), "groups")
		read := func(parts ...[]byte) map[string]entry {
			if err := os.WriteFile(path, bytes.Join(parts, []byte("\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			left, err := readRecord(path)
			if err != nil {
				t.Fatal(err)
			}
			return left
		}
		mine, err := json.Marshal(entry{Op: "started", Token: "mine", PID: 7, Start: "3"})
		if err != nil {
			t.Fatal(err)
		}
		ended, err := json.Marshal(entry{Op: "ended", Token: "mine"})
		if err != nil {
			t.Fatal(err)
		}
		alone := read(junk)
		if got := read(junk, mine, junk); got["mine"].PID != 7 || len(got) != len(alone)+1 {
			t.Fatalf("%+v of %+v", got, alone)
		}
		if got := read(junk, mine, ended, junk); !maps.Equal(got, alone) {
			t.Fatalf("%+v, without the group %+v", got, alone)
		}
	})
}
