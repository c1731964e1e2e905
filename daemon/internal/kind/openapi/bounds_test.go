package openapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenon/daemon/internal/config"
)

func parsed(t *testing.T, text string) *document {
	t.Helper()
	d, err := parseDocument("api.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func none(parameter) bool { return false }

func TestASchemaThatEveryOperationRefersToIsBoundedOverAll(t *testing.T) {
	const properties, operations = 15_000, 300 // 4.5 million parts, from half a megabyte
	var b strings.Builder
	b.WriteString(`{"openapi":"3.1.0","components":{"schemas":{"Big":{"type":"object","additionalProperties":false,"properties":{"z":{}`)
	for i := range properties {
		fmt.Fprintf(&b, `,"p%d":{"type":"string"}`, i)
	}
	b.WriteString(`}}}},"paths":{"/last":{"get":{"parameters":[{"in":"query","name":"q","schema":{"type":"integer"}}]}}`)
	for i := range operations {
		fmt.Fprintf(&b, `,"/%d":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Big"}}}}}}`, i)
	}
	d := parsed(t, b.String()+`}}`)
	list, notes := d.operations(none)
	if len(list) != operations+1 || len(notes) > 0 {
		t.Fatalf("%d operations, %v", len(list), notes)
	}
	size := 0
	for _, o := range list {
		size += len(o.input)
	}
	if size > 40<<20 {
		t.Errorf("all inputs have %d MiB", size>>20)
	}
	if first := string(list[0].input); !strings.Contains(first, `"p14999"`) {
		t.Errorf("the first is not whole: %.200s", first)
	}
	// What is cut allows everything: no list of properties that forbids the rest.
	for _, o := range list {
		if text := string(o.input); !strings.Contains(text, `"p14999"`) && strings.Contains(text, `"p0"`) {
			t.Fatalf("%s has a part of the properties: %.200s", o.name, text)
		}
	}
	if last := string(list[len(list)-1].input); list[len(list)-1].path == "/last" && !strings.Contains(last, "integer") {
		t.Errorf("a small one at the end is not told: %s", last)
	}
	long := parsed(t, `{"openapi":"3.1.0","paths":{"/":{"get":{"parameters":[{"in":"query","name":"q","schema":{"enum":["`+strings.Repeat("x", 64*maxSchema)+`"]}}]}}}}`)
	if list, _ := long.operations(none); len(list) != 1 || len(list[0].input) > 1000 {
		t.Errorf("a text of %d bytes counts as nothing", 64*maxSchema)
	}
}

func TestWhatIsLeftOutIsToldInBounds(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"openapi":"3.1.0","paths":{"/ok":{"get":{}}`)
	for i := range 5000 {
		fmt.Fprintf(&b, ",\n"+`"/p%d":{"get":{"parameters":[{"name":"x","in":"nowhere"}]}}`, i)
	}
	d := parsed(t, b.String()+`}}`)
	list, notes := d.operations(none)
	if len(list) != 1 || len(notes) != maxNotes+1 || notes[maxNotes] != fmt.Sprint(5000-maxNotes, " more") {
		t.Errorf("%d operations, %d notes, the last %q", len(list), len(notes), notes[len(notes)-1])
	}
	if !strings.HasPrefix(notes[0], "api.json:2: paths./p0.get: ") {
		t.Errorf("%q", notes[0])
	}
}

func TestNoArgumentMakesAPathLeadElsewhere(t *testing.T) {
	d := parsed(t, `{"openapi":"3.1.0","paths":{
		"/a/{x}{y}/b": {"get":{"parameters":[{"in":"path","name":"x"},{"in":"path","name":"y"}]}},
		"/c/{x}/d": {"get":{"parameters":[{"in":"path","name":"x","style":"label"}]}},
		"/e/.{x}": {"get":{"parameters":[{"in":"path","name":"x"}]}},
		"/f/./{x}": {"get":{"parameters":[{"in":"path","name":"x"}]}}}}`)
	list, _ := d.operations(none)
	byPath := map[string]*operation{}
	for _, o := range list {
		byPath[o.path] = o
	}
	for _, c := range []struct{ path, args, want string }{
		{"/a/{x}{y}/b", `{"x":"1","y":"2"}`, "/a/12/b"},
		{"/a/{x}{y}/b", `{"x":".","y":"."}`, ""},
		{"/c/{x}/d", `{"x":"v"}`, "/c/.v/d"},
		{"/c/{x}/d", `{"x":"."}`, ""},
		{"/c/{x}/d", `{"x":""}`, ""},
		{"/e/.{x}", `{"x":"."}`, ""},
		{"/e/.{x}", `{"x":"../../y"}`, "/e/...%2F..%2Fy"},
		{"/f/./{x}", `{"x":"1"}`, "/f/./1"},
	} {
		r, err := byPath[c.path].request(t.Context(), "http://h", json.RawMessage(c.args))
		if got := ""; err != nil != (c.want == "") {
			t.Errorf("%s %s: %v %v", c.path, c.args, r, err)
		} else if err == nil {
			if got = r.URL.EscapedPath(); got != c.want {
				t.Errorf("%s %s: %s, want %s", c.path, c.args, got, c.want)
			}
		}
	}
}

// An address may hold a proof of who asks; what is wrong with the document is
// told to programs.
func TestTheAddressOfADocumentIsToldWithoutItsQuery(t *testing.T) {
	for _, text := range []string{"{broken", "a: [", `{"openapi":"3.1.0"}`, `{"openapi":"3.1.0","paths":{}}`, `{"openapi":"3.1.0","servers":[{"url":"ftp://x"}],"paths":{"/x":{"get":{}}}}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		address := strings.Replace(server.URL, "//", "//someone:hunter3@", 1) + "/api?token=hunter2"
		stderr := &lines{}
		s := New(Options{Spec: &config.KindSpec{Name: "a", OpenAPI: &config.OpenAPISpec{Document: address}}, Stderr: stderr})
		_, err := s.Tools(t.Context())
		s.Close()
		server.Close()
		if err == nil || strings.Contains(err.Error()+stderr.text(), "hunter") {
			t.Errorf("%s: %v\n%s", text, err, stderr.text())
		}
	}
}
