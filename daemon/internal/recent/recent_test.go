package recent

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatWasNotUsedForLongestGoes(t *testing.T) {
	c := New[string](10, func(s string) int { return len(s) })
	for _, s := range []string{"aaa", "bbb", "ccc"} {
		c.Put(s, s)
	}
	if _, ok := c.Get("aaa"); !ok {
		t.Error("aaa is gone while there is room")
	}
	c.Put("dddd", "dddd")
	for key, want := range map[string]bool{"aaa": true, "bbb": false, "ccc": true, "dddd": true} {
		if v, ok := c.Get(key); ok != want || ok && v != key {
			t.Errorf("%s: %q %v", key, v, ok)
		}
	}
	c.Put("long", "eeeeee")
	if _, ok := c.Get("long"); ok {
		t.Error("one value took more than half")
	}
	c.Put("aaa", "xxx")
	if v, _ := c.Get("aaa"); v != "aaa" {
		t.Errorf("a second value took the place of the first: %q", v)
	}
}

func TestWithoutSizesEachCountsAsOne(t *testing.T) {
	c := New[int, int](2, nil)
	for i := range 5 {
		c.Put(i, i*i)
	}
	for key, want := range map[int]bool{2: false, 3: true, 4: true} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("%d: %v", key, ok)
		}
	}
}
