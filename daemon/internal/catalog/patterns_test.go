package catalog

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestPatternsCostNoMoreThanTheirBounds(t *testing.T) {
	value := func(n int) []byte { return []byte(`"` + strings.Repeat("a", n) + `!"`) }
	// What takes for ever where expressions go back and forth is an instant here.
	for _, pattern := range []string{`^(a+)+$`, `^(a|aa)+$`, `^(a|a)*b`, `(.*a){20}`, `^([a-zA-Z0-9]+\s?)*$`} {
		start := time.Now()
		bad, err := compiled(t, fmt.Sprintf(`{"pattern":%q}`, pattern)).check(value(20_000))
		if err != nil || time.Since(start) > 30*time.Second {
			t.Errorf("%s: %v, %v, took %s", pattern, bad, err, time.Since(start))
		}
	}
	// Look-ahead and what goes back is the server's own to check.
	for _, pattern := range []string{`^(?=.*a).*$`, `(a)\\1`, `(?<!x)a`} {
		if bad, err := compiled(t, `{"pattern":"`+pattern+`"}`).check(value(10)); len(bad) > 0 || err != nil {
			t.Errorf("%s: %v, %v", pattern, bad, err)
		}
	}
	// Thirty thousand small expressions of a thousand instructions each.
	var many, keys strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&many, `{"pattern":"(.{30}){3%d}"},`, i%4)
		fmt.Fprintf(&keys, `"%d(.{30}){33}":{},`, i)
	}
	for name, schema := range map[string]string{
		"patterns": `{"allOf":[` + many.String() + `{}]}`, "patternProperties": `{"patternProperties":{` + keys.String() + `"x":{}}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := compile([]byte(schema))
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 4000 {
			t.Errorf("%s: %d MiB were allocated", name, n)
		}
		if n := int64(after.HeapAlloc-before.HeapAlloc) >> 20; n > 1000 {
			t.Errorf("%s: %d MiB are held", name, n)
		}
		if name == "patternProperties" {
			if err == nil {
				t.Errorf("%s are compiled: %d instructions", name, c.matching)
			}
			continue
		}
		start := time.Now()
		if _, err := c.check(value(16 << 20)); err == nil || time.Since(start) > 30*time.Second {
			t.Errorf("%s: a text of 16 MiB: %v, took %s", name, err, time.Since(start))
		}
		if _, err := c.check(value(10)); err != nil {
			t.Errorf("%s: a short text: %v", name, err)
		}
	}
}
