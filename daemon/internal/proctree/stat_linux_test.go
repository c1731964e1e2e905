package proctree

import "testing"

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a b) c) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1"))
	f.Add([]byte("7 ()"))
	f.Add([]byte(")("))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = parseStat(data) })
}

func TestStatOfANameWithParentheses(t *testing.T) {
	s, err := parseStat([]byte("7 (a) S (b) R 3 5 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1"))
	if err != nil || s != (stat{'R', 3, 5, "12345"}) {
		t.Errorf("got %+v, %v", s, err)
	}
}
