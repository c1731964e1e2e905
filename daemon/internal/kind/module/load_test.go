package module

import (
	"strings"
	"testing"
	"time"
)

func TestATopLevelWithoutEndHoldsNothingUpForGood(t *testing.T) {
	const good, endless = `export const a = () => 1`, `while (true) {} export const a = () => 2`
	for _, engine := range []string{"embedded", "node"} {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, engine, map[string]string{"tools.ts": good})
			r.o.LoadTime = 5 * time.Second // before anything is read
			r.want("a", `{}`, `1`)
			r.write("tools.ts", endless)
			if got := r.says("a", `{}`); got != `1` {
				t.Errorf("the last good code: %s", got)
			}
			deadline := time.Now().Add(30 * time.Second)
			for !strings.Contains(r.stderr.text(), "top level does not end within 5s") {
				if time.Now().After(deadline) {
					t.Fatalf("standard error: %s", r.stderr.text())
				}
				time.Sleep(10 * time.Millisecond) // the interval of the poll
			}
			r.write("tools.ts", `export const a = () => 3`)
			r.want("a", `{}`, `3`)
		})
	}
}

func TestAModuleWithoutFunctionsDoesNotTakeThePlaceOfAGoodOne(t *testing.T) {
	r := newRig(t, "embedded", map[string]string{"tools.ts": `export const a = () => 1`})
	r.want("a", `{}`, `1`)
	r.write("tools.ts", "") // as an editor leaves it for a moment
	r.want("a", `{}`, `1`)
	if got := r.says("b", `{}`); !strings.Contains(got, "tools.ts exports no function") {
		t.Errorf("what is wrong is not told: %s", got)
	}
	r.write("tools.ts", `export const b = () => 2`)
	r.want("b", `{}`, `2`)
}

func TestAModuleWithoutFunctionsSaysSo(t *testing.T) {
	r := newRig(t, "embedded", map[string]string{"tools.ts": `const a = () => 1`})
	if list, err := r.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "exports no function") {
		t.Errorf("%v %v", list, err)
	}
}
