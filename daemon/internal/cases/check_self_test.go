package cases

import (
	"strings"
	"testing"
)

func TestChecksOfJSON(t *testing.T) {
	const document = `{"a":{"b":[{"id":"x","n":1},{"id":"y","n":2},{"id":"x","n":10}]},"s":"hé","none":null,"big":9007199254740993,"length":7}`
	for _, line := range []string{
		`.a.b[0].id == x`, `.a.b[-1].n == 10`, `.a.b.length == 3`, `.s.length == 2`, `.length == 7`,
		`.a.b[*].id.distinct == 2`, `.a.b[*].id == ["x","y","x"]`, `.a.b[id=x].length == 2`, `.a.b[id=y][0].n == 2`,
		`.a.b[1].n > 1`, `.a.b[1].n <= 2`, `.s ~ ^h`, `.s !~ z`, `.nothing absent`, `.none absent`, `.none.length == 0`,
		`.none == null`, `.big == 9007199254740993`, `.big != 9007199254740992`, `.a exists`, `. ~ "big"`,
	} {
		c, err := parseCheck(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.judge([]byte(document)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{
		`.a.b.length == 4`, `.a exists2`, `.nothing == 1`, `.s == h`, `.a.b[9].id == x`, `.s > 1`, `.a[] == 1`,
		`.a absent`, `.s ~ [`, `.big == 9007199254740992`,
	} {
		c, err := parseCheck(strings.Fields(line))
		if err != nil {
			continue
		}
		if c.judge([]byte(document)) == nil {
			t.Errorf("%s should not hold", line)
		}
	}
}

func TestOutputThatIsNotOneDocumentFailsACheck(t *testing.T) {
	c := &check{path: ".", op: "exists"}
	for _, out := range []string{"", "plain", `{}{}`, `{} {}`} {
		if c.judge([]byte(out)) == nil {
			t.Errorf("%q passed as one JSON document", out)
		}
	}
}
