package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tenon/daemon/internal/typegen"
	"tenon/daemon/internal/upstream"
)

// learnedType is the type that results of one tool make, as a signature has it.
func learnedType(t *testing.T, results ...string) string {
	t.Helper()
	c := New(Options{})
	l := c.Learn("d", "i", 1, tools("t"))
	for _, r := range results {
		c.Observe(l.Named("t"), []byte(r))
	}
	return l.Named("t").ResultType()
}

func TestResultTypesAreMergedOverResults(t *testing.T) {
	for _, c := range []struct {
		results []string
		want    string
	}{
		{nil, "unknown"},
		{[]string{`"text"`}, "string"},
		{[]string{`"text"`, `5`, `null`}, "string | number | null"},
		{[]string{`["a","b"]`}, "string[]"},
		{[]string{`[]`}, "unknown[]"},
		{[]string{`[]`, `[true,null]`}, "(boolean | null)[]"},
		{[]string{`{"total":2,"rows":[{"id":1,"name":"x"},{"id":2}]}`}, "{ rows: { id: number; name?: string }[]; total: number }"},
		{[]string{`{"a":1,"b":"x"}`, `{"a":null}`}, "{ a: number | null; b?: string }"},
		{[]string{`{}`, `{"a":1}`}, "{ a?: number }"},
		{[]string{`{"a":1}`, `"none"`}, "string | { a: number }"},
		{[]string{`{`, `nonsense`, `{"a":1}{"b":2}`, ``}, "unknown"},
		{[]string{"\n { \"a\" : [ 1 , 2 ] }\t"}, "{ a: number[] }"},
		{[]string{`{"quo\"ted":"\\","b":"]}"}`}, "Record<string, string>"},
	} {
		if got := learnedType(t, c.results...); got != c.want {
			t.Errorf("%s: %s, want %s", c.results, got, c.want)
		}
	}
}

func TestNamesThatAreDataAreNotLearned(t *testing.T) {
	for name, results := range map[string][]string{
		"addresses":      {`{"ann@example.com":1}`},
		"paths":          {`{"src/main.go":{"lines":3}}`, `{"README.md":{"lines":3}}`},
		"days":           {`{"2024-05-01":3,"2024-05-02":4}`},
		"numbers":        {`{"1":"a","2":"b"}`},
		"digests":        {`{"deadbeef01":"a"}`, `{"3f2a9c":"b"}`},
		"identifiers":    {`{"user_123456":{"n":1}}`},
		"uuids":          {`{"a50e8400-e29b-41d4-a716-446655440000":true}`},
		"tokens":         {`{"dQw4w9WgXcQ2b3":true}`},
		"keys":           {`{"AKIAIOSFODNN7EXAMPLE":true}`},
		"sentences":      {`{"what is this":true}`},
		"changing names": {`{"ann":1,"bob":2}`, `{"carol":3}`, `{"dave":3,"eve":1}`},
		"alike objects":  {`{"ann":{"age":1},"bob":{"age":2},"carol":{"age":3}}`},
		"many":           {manyNames(60)},
	} {
		c := New(Options{Dir: t.TempDir()})
		l := c.Learn("d", "i", 1, tools("t"))
		for _, r := range results {
			c.Observe(l.Named("t"), []byte(r))
		}
		if got := l.Named("t").ResultType(); !strings.HasPrefix(got, "Record<string, ") {
			t.Errorf("%s: %s", name, got)
		}
		c.Close()
		for _, file := range files(t, c.returns.dir) {
			var first map[string]any
			_ = json.Unmarshal([]byte(results[len(results)-1]), &first)
			for key := range first {
				if strings.Contains(file, `"`+key+`"`) {
					t.Errorf("%s: the name %q was written: %s", name, key, file)
				}
			}
		}
	}
	for _, name := range []string{"id", "user_id", "@type", "$ref", "sha256", "utf8", "x86_64", "content-type", "größe", "iso8601", "_links", "line2"} {
		if !isWord(name) {
			t.Errorf("%q is a word", name)
		}
	}
}

func manyNames(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, fmt.Sprintf("%q:1", "n"+strings.Repeat("x", i%40)+string(rune('a'+i%26))))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func files(t *testing.T, dir string) (texts []string) {
	t.Helper()
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

func TestNoValueIsKept(t *testing.T) {
	dir := t.TempDir()
	c := New(Options{Dir: dir})
	l := c.Learn("d", "i", 1, tools("t"))
	c.Observe(l.Named("t"), []byte(`{"name":"Ann Smith","age":4711,"ok":true,"tags":["private"],"more":[{"deep":"hidden"}]}`))
	c.Close()
	kept := strings.Join(files(t, filepath.Join(dir, "returns")), "")
	if !strings.Contains(kept, `"name"`) {
		t.Fatalf("nothing was kept: %s", kept)
	}
	for _, value := range []string{"Ann", "4711", "private", "hidden", "true"} {
		if strings.Contains(kept, value) {
			t.Errorf("the value %s was kept: %s", value, kept)
		}
	}
	info, err := os.ReadDir(filepath.Join(dir, "returns"))
	if err != nil || len(info) != 1 {
		t.Fatal(info, err)
	}
	if i, err := info[0].Info(); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", i.Mode(), err)
	}
}

func TestNothingIsLearnedFromNamesThatAreSecrets(t *testing.T) {
	c := New(Options{Secret: func(text string) bool { return strings.Contains(text, "hunter") }})
	l := c.Learn("d", "i", 1, tools("t"))
	c.Observe(l.Named("t"), []byte(`{"a":[{"hunter":1}]}`))
	if got := l.Named("t").ResultType(); got != "unknown" {
		t.Errorf("learned %s", got)
	}
}

func TestWhatWasLearnedSurvivesARestartAndNoChangeOfTheDefinition(t *testing.T) {
	dir := t.TempDir()
	c := New(Options{Dir: dir})
	c.Observe(c.Learn("d", "i", 1, tools("t")).Named("t"), []byte(`{"a":1}`))
	c.Close()

	c = New(Options{Dir: dir})
	got := c.Base("d").Named("t").Returns()
	if got.From != Learned || got.Results != 1 {
		t.Fatalf("after a restart: %+v", got)
	}
	changed := []upstream.Tool{tool("t", `{"type":"object","properties":{"x":{}}}`)}
	if got := c.Learn("d", "j", 1, changed).Named("t").Returns(); got.From != Unknown {
		t.Errorf("the definition changed, and still %+v", got)
	}
	declared := tool("t", `{"type":"object"}`)
	declared.OutputSchema = json.RawMessage(`{"type":"object","properties":{"b":{}}}`)
	one := c.Learn("e", "k", 1, []upstream.Tool{declared}).Named("t")
	c.Observe(one, []byte(`{"a":1}`))
	if got := one.Returns(); got.From != Declared || got.Results != 0 {
		t.Errorf("declared: %+v", got)
	}
	c.Close()
}

func TestDefinitionsOfOneTemplateLearnTogether(t *testing.T) {
	c := New(Options{})
	c.Akin("here", "template")
	c.Akin("there", "template")
	here, there := c.Learn("here", "i", 1, tools("t")), c.Learn("there", "j", 1, tools("t"))
	c.Observe(here.Named("t"), []byte(`[1]`))
	if got := there.Named("t").ResultType(); got != "number[]" {
		t.Errorf("there: %s", got)
	}
	if got := c.Learn("elsewhere", "k", 1, tools("t")).Named("t").ResultType(); got != "unknown" {
		t.Errorf("another server: %s", got)
	}
}

func TestLearningCanBeSwitchedOff(t *testing.T) {
	dir := t.TempDir()
	c := New(Options{Dir: dir})
	one := c.Learn("d", "i", 1, tools("t")).Named("t")
	c.Observe(one, []byte(`[1]`))
	c.returns.flush()
	c.SetLearning(false)
	if got := one.ResultType(); got != "unknown" {
		t.Errorf("still %s", got)
	}
	c.Observe(one, []byte(`[1]`))
	c.Close()
	if got := files(t, filepath.Join(dir, "returns")); one.ResultType() != "unknown" || len(got) != 0 {
		t.Errorf("learned %s, kept %s", one.ResultType(), got)
	}
	c.SetLearning(true)
	c.Observe(one, []byte(`[1]`))
	if got := one.ResultType(); got != "number[]" {
		t.Errorf("on again: %s", got)
	}
}

func TestALearnedTypeSaysSo(t *testing.T) {
	c := New(Options{})
	l := c.Learn("d", "i", 1, tools("t", "u"))
	c.Observe(l.Named("t"), []byte(`{"a":1}`))
	c.Observe(l.Named("t"), []byte(`{"a":2}`))
	if got := Signature("s", l.Named("t")); got != "tools.s.t(): Promise<{ a: number }> /* learned */" {
		t.Errorf("signature %s", got)
	}
	entries := []Entry{{Server: "s", Namespace: "s", List: l}}
	text, _ := typegen.Declare(Spaces(entries), typegen.Options{})
	if !strings.Contains(text, "learned from 2 results, not declared. */\n  function t(args?: Record<string, unknown>): Promise<{ a: number }>;") ||
		!strings.Contains(text, "function u(args?: Record<string, unknown>): Promise<unknown>;") {
		t.Error(text)
	}
	checker, _ := typegen.Declare(Spaces(entries), typegen.Options{Checker: true})
	if strings.Contains(checker, "a: number") {
		t.Error("a checker must not hold programs to what was only seen")
	}
	if strings.Contains(Whole(entries, 0).Text, "a: number") {
		t.Error("a catalogue changes with definitions only")
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	dir := t.TempDir()
	c := New(Options{Dir: dir})
	var wide strings.Builder
	for i := range 40 {
		fmt.Fprintf(&wide, `"%s":{"a":{"x":1},"b":[{"y":1}]%s},`, "n"+strings.Repeat("x", i), fmt.Sprintf(`,"c%d":1`, i))
	}
	deep := `{` + wide.String() + `"z":` + strings.Repeat(`{"a":`, 500) + `1` + strings.Repeat(`}`, 500) + `}`
	for version := range 10 {
		schema := fmt.Sprintf(`{"type":"object","title":"%d"}`, version)
		l := c.Learn("d", fmt.Sprint("i", version), 1, []upstream.Tool{tool("t", schema)})
		for range 3 {
			c.Observe(l.Named("t"), []byte(deep))
		}
		if n := len(l.Named("t").Returns().Schema); n == 0 || n > 32<<10 {
			t.Fatalf("a schema of %d bytes", n)
		}
	}
	c.returns.flush()
	if kept := files(t, filepath.Join(dir, "returns")); len(kept) != 1 || strings.Count(kept[0], `"fingerprint"`) != maxVersions {
		t.Errorf("kept %d files: %.200s", len(kept), kept)
	}
	l := c.Learn("e", "e", 1, tools("t"))
	c.Observe(l.Named("t"), []byte(`["`+strings.Repeat("x", maxObserved)+`"]`))
	if got := l.Named("t").ResultType(); got != "unknown" {
		t.Errorf("a huge result was looked at: %s", got)
	}
	for i := range maxFiles + 20 {
		id := fmt.Sprint("s", i)
		c.Observe(c.Learn(id, id, 1, tools("t")).Named("t"), []byte(`1`))
	}
	c.Close()
	if n := len(files(t, filepath.Join(dir, "returns"))); n > maxFiles {
		t.Errorf("%d files are kept", n)
	}
}

func TestManyLearnAtOnce(t *testing.T) {
	c := New(Options{Dir: t.TempDir()})
	l := c.Learn("d", "i", 1, tools("t"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 200 {
				c.Observe(l.Named("t"), []byte(fmt.Sprintf(`{"a":%d}`, i)))
				_ = l.Named("t").ResultType()
				_ = l.Named("t").Returns()
			}
		})
	}
	all.Wait()
	c.Close()
	if got := l.Named("t").ResultType(); got != "{ a: number }" {
		t.Error(got)
	}
}

// After the first results nearly all cost next to nothing.
func BenchmarkObserve(b *testing.B) {
	var rows []string
	for i := range 100 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"title":"a title of some length","labels":["a","b"],"user":{"login":"ann","url":"https://example.com"}}`, i))
	}
	result := []byte(`{"items":[` + strings.Join(rows, ",") + `],"total":100}`)
	b.Run("looked at", func(b *testing.B) {
		b.SetBytes(int64(len(result)))
		b.ReportAllocs()
		l := &learned{name: "t", of: &kept{}}
		for b.Loop() {
			l.take(shapeOf(result))
		}
	})
	b.Run("of a tool that is called often", func(b *testing.B) {
		b.ReportAllocs()
		c := New(Options{})
		one := c.Learn("d", "i", 1, tools("t")).Named("t")
		began, n := time.Now(), 0
		for b.Loop() {
			c.Observe(one, result)
			n++
		}
		b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(n), "ns/result")
	})
}

func FuzzShape(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":null}],"a":2}`, `[[[]]]`, `"\\\""`, `{"":{}}`, `-1e5`, `{"a@b.c":[{}]}`} {
		f.Add([]byte(s), []byte(`{"a":1}`))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		total := &shape{}
		for _, text := range [][]byte{a, b, a} {
			fresh := shapeOf(text)
			if fresh == nil {
				if len(text) < maxObserved && json.Valid(text) {
					t.Fatalf("not looked at: %s", text)
				}
				continue
			}
			total.merge(fresh)
		}
		left := shapeNodes
		total.bound(shapeDepth, &left)
		schema := total.appendSchema(nil)
		if !json.Valid(schema) {
			t.Fatalf("no schema: %s", schema)
		}
		kept, err := json.Marshal(total)
		var again shape
		if err != nil || json.Unmarshal(kept, &again) != nil || string(again.appendSchema(nil)) != string(schema) {
			t.Fatalf("kept otherwise: %s", kept)
		}
	})
}
