package call

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/upstream"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// grepTree finds files that hold a text.
func grepTree(t *testing.T, dir, text string) (found []error) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, fmt.Errorf("%s holds it", path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestResultsAreUnwrapped(t *testing.T) {
	for name, c := range map[string]struct{ result, want string }{
		"structured":              {`{"structuredContent":{"a":1,"big":12345678901234567890},"content":[{"type":"text","text":"{}"}]}`, `{"a":1,"big":12345678901234567890}`},
		"structured null":         {`{"structuredContent":null,"content":[{"type":"text","text":"t"}]}`, `"t"`},
		"structured list":         {`{"structuredContent":[1,2],"content":[]}`, `[1,2]`},
		"plain text":              {`{"content":[{"type":"text","text":"hello \"you\""}]}`, `"hello \"you\""`},
		"object in text":          {`{"content":[{"type":"text","text":"{\"n\": 9007199254740993}"}]}`, `{"n": 9007199254740993}`},
		"array in text":           {`{"content":[{"type":"text","text":"\n [1,2] \n"}]}`, `[1,2]`},
		"a number stays text":     {`{"content":[{"type":"text","text":"5"}]}`, `"5"`},
		"broken JSON stays text":  {`{"content":[{"type":"text","text":"{oops"}]}`, `"{oops"`},
		"starts with Error:":      {`{"content":[{"type":"text","text":"Error: none"}]}`, `"Error: none"`},
		"two blocks":              {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		"object behind a mark":    {`{"content":[{"type":"text","text":"\ufeff {\"a\":1}"}]}`, `{"a":1}`},
		"one value after another": {`{"content":[{"type":"text","text":"{\"a\":1}\n{\"a\":2}"}]}`, `"{\"a\":1}\n{\"a\":2}"`},
		"null stays text":         {`{"content":[{"type":"text","text":"null"}]}`, `"null"`},
		"twice the same name":     {`{"content":[{"type":"text","text":"{\"a\":1,\"a\":2}"}]}`, `{"a":1,"a":2}`},
		"odd numbers and texts":   {`{"structuredContent":{"a":-0,"b":1e400,"c":1.10,"d":"\ud800\u0000"}}`, `{"a":-0,"b":1e400,"c":1.10,"d":"\ud800\u0000"}`},
		"too deep to be parsed":   {`{"content":[{"type":"text","text":"` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `"}]}`, `"` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `"`},
		"wrapped by an SDK":       {`{"structuredContent":{"result":[1,2]},"content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]}`, `{"result":[1,2]}`},
		"a kind of the future":    {`{"content":[{"type":"hologram","depth":3,"data":"short"}]}`, `[{"type":"hologram","depth":3,"data":"short"}]`},
		"no blocks":               {`{"content":[]}`, `[]`},
		"link":                    {`{"content":[{"type":"resource_link","uri":"x:y"}]}`, `[{"type":"resource_link","uri":"x:y"}]`},
		"embedded text":           {`{"content":[{"type":"resource","resource":{"uri":"x:y","text":"t"}}]}`, `[{"type":"resource","resource":{"uri":"x:y","text":"t"}}]`},
		"nothing":                 {`{}`, `null`},
		"oldest protocol":         {`{"toolResult":{"a":1}}`, `{"a":1}`},
		"spread over lines":       {"{\n \"content\" : [ {\n\"type\" : \"text\" , \"text\" : \"x\" } ] , \"isError\" : false\n}", `"x"`},
		"a text that looks alike": {`{"content":[{"type":"text","text":"\"isError\":true,\\\"}]"}]}`, `"\"isError\":true,\\\"}]"`},
		"unknown members":         {`{"_meta":{"isError":true},"content":[{"type":"text","text":"x","annotations":{"type":"image"}}]}`, `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.answers(c.result)
			res := r.mustCall("read-file", `{}`)
			if string(res.Value) != c.want {
				t.Errorf("value %s, want %s", res.Value, c.want)
			}
			if string(res.Raw) != c.result {
				t.Errorf("raw %s", res.Raw)
			}
		})
	}
}

func TestTextIsParsedOnlyWithoutAnOutputSchema(t *testing.T) {
	r := newRig(t)
	r.shelf.set(upstream.Tool{Name: "typed", OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)})
	r.answers(`{"content":[{"type":"text","text":"{\"n\":1}"}]}`)
	if res := r.mustCall("typed", `{}`); string(res.Value) != `"{\"n\":1}"` {
		t.Errorf("value %s", res.Value)
	}
	r.answers(`{"structuredContent":{"n":"one"},"content":[]}`)
	res := r.mustCall("typed", `{}`)
	if len(res.Warnings) != 1 || res.Warnings[0].Kind != "InvalidToolOutput" || !strings.Contains(res.Warnings[0].Message, "/n") {
		t.Errorf("warnings %+v", res.Warnings)
	}
}

//
func TestAFailedToolIsAFailure(t *testing.T) {
	r := newRig(t)
	for result, message := range map[string]string{
		`{"isError":true,"content":[{"type":"text","text":"nope"}]}`: "nope",
		`{"isError":true,"content":[]}`:                              "says nothing",
		`{"isError":true}`:                                           "says nothing",
	} {
		r.answers(result)
		_, err := r.call("read-file", `{}`)
		if err == nil || err.Kind != fault.ToolFailure || !strings.Contains(err.Message, message) || !json.Valid(err.Content) || err.Content[0] != '[' {
			t.Errorf("%s: %+v", result, err)
		}
	}
	r.answers(`{"isError":false,"content":[{"type":"text","text":"Error: fine"}]}`)
	if res := r.mustCall("read-file", `{}`); string(res.Value) != `"Error: fine"` {
		t.Errorf("value %s", res.Value)
	}
}

func TestWhatIsNoResultIsSaidToBeNone(t *testing.T) {
	r := newRig(t)
	for _, result := range []string{`[]`, `"x"`, `null`, ``} {
		r.answers(result)
		if _, err := r.call("read-file", `{}`); err == nil || err.Kind != fault.InvalidToolOutput {
			t.Errorf("%q: %+v", result, err)
		}
	}
}

// bytes become artifacts, identical and apart.
func TestImagesBecomeArtifacts(t *testing.T) {
	r := newRig(t)
	png := bytes.Repeat([]byte{0x89, 'P', 'N', 'G', 0, 1, 2, 3}, 256<<10)
	encoded := base64.StdEncoding.EncodeToString(png)
	r.answers(`{"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"` + encoded + `"},
		{"type":"resource","resource":{"uri":"file:///a.bin","mimeType":"application/octet-stream","blob":"AAEC"}}]}`)
	res := r.mustCall("read-file", `{}`)
	if len(res.Value) > 1000 || strings.Contains(string(res.Value), encoded[:64]) || !json.Valid(res.Value) {
		t.Fatalf("value of %d bytes: %.200s", len(res.Value), res.Value)
	}
	var blocks []struct {
		Type, MimeType, Artifact, Text, URI string
		Bytes                               int
	}
	if err := json.Unmarshal(res.Value, &blocks); err != nil {
		t.Fatal(err)
	}
	if blocks[0].Text != "see" || blocks[1].Type != "image" || blocks[1].MimeType != "image/png" || blocks[1].Bytes != len(png) || blocks[2].URI != "file:///a.bin" || blocks[2].Bytes != 3 {
		t.Errorf("blocks %+v", blocks)
	}
	if len(res.Artifacts) != 2 || res.Artifacts[0].ID != blocks[1].Artifact {
		t.Errorf("artifacts %+v", res.Artifacts)
	}
	_, data, err := r.history.Open(context.Background(), blocks[1].Artifact)
	if err != nil || !bytes.Equal(data, png) {
		t.Errorf("%d bytes back, %v", len(data), err)
	}
	if !strings.Contains(string(res.Raw), encoded[:64]) {
		t.Error("raw keeps what the server sent")
	}
}

func TestWhatStandsBesideBytesIsKept(t *testing.T) {
	long := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("film"), 1000))
	for name, c := range map[string]struct{ block, want string }{
		"annotations":         {`{"type":"image","data":"AAEC","mimeType":"image/gif","annotations":{"audience":["user"]},"_meta":{"k":1}}`, `{"type":"image","mimeType":"image/gif","annotations":{"audience":["user"]},"_meta":{"k":1},"bytes":3,"artifact":"ID"}`},
		"audio":               {`{"type":"audio","mimeType":"audio/wav","data":"AAEC"}`, `{"type":"audio","mimeType":"audio/wav","bytes":3,"artifact":"ID"}`},
		"no media type":       {`{"type":"image","data":"R0lGODlhAQABAAAAACw="}`, `{"type":"image","mimeType":"image/gif","bytes":14,"artifact":"ID"}`},
		"resource":            {`{"type":"resource","_meta":{"a":1},"resource":{"uri":"x:y","mimeType":"a/b","blob":"AAEC","_meta":{"b":2}},"annotations":{"priority":1}}`, `{"type":"resource","_meta":{"a":1},"annotations":{"priority":1},"uri":"x:y","mimeType":"a/b","bytes":3,"artifact":"ID"}`},
		"unknown kind":        {`{"type":"video","data":"` + long + `","mimeType":"video/mp4","seconds":3}`, `{"type":"video","mimeType":"video/mp4","seconds":3,"bytes":4000,"artifact":"ID"}`},
		"escaped name":        {`{"type":"image","d\u0061ta":"AAEC","mimeType":"a/b"}`, `{"type":"image","mimeType":"a/b","bytes":3,"artifact":"ID"}`},
		"a handle of its own": {`{"type":"image","artifact":"x","bytes":"y","data":"AAEC","mimeType":"a/b"}`, `{"type":"image","mimeType":"a/b","bytes":3,"artifact":"ID"}`},
	} {
		r := newRig(t)
		r.answers(`{"content":[` + c.block + `,{"type":"text","text":"t","annotations":{"priority":0.5}}]}`)
		res := r.mustCall("read-file", `{}`)
		if len(res.Artifacts) != 1 {
			t.Errorf("%s: %s, artifacts %+v", name, res.Value, res.Artifacts)
			continue
		}
		want := "[" + strings.Replace(c.want, "ID", res.Artifacts[0].ID, 1) + `,{"type":"text","text":"t","annotations":{"priority":0.5}}]`
		if string(res.Value) != want {
			t.Errorf("%s: %s, want %s", name, res.Value, want)
		}
	}
}

func TestAnImageInAFailureIsLiftedToo(t *testing.T) {
	r := newRig(t)
	r.answers(`{"isError":true,"content":[{"type":"image","mimeType":"image/png","data":"AAEC"},{"type":"text","text":"why"}]}`)
	_, err := r.call("read-file", `{}`)
	if err == nil || err.Message != "why" || strings.Contains(string(err.Content), "AAEC") {
		t.Errorf("%+v %s", err, err.Content)
	}
}

func FuzzConvert(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"x"}]}`, `{"content":[{"type":"image","data":"AA=="}]}`, `{"a":"\\"}`, `{"a":{`, `{"a":[1,{"b":"]"}]}`, `{,}`, `{"a" 1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, ok := split(raw)
		if !json.Valid(raw) {
			return // it must only not panic
		}
		var want struct {
			Content json.RawMessage `json:"content"`
		}
		object := bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
		if ok != object {
			t.Fatalf("object %v, found %v", object, ok)
		}
		if !object || bytes.Contains(bytes.ToLower(raw), []byte(`\u`)) || strings.Count(strings.ToLower(string(raw)), `"content"`) != 1 || !bytes.Contains(raw, []byte(`"content"`)) {
			return
		}
		if json.Unmarshal(raw, &want) == nil && want.Content != nil && string(want.Content) != "null" && !bytes.Equal(bytes.TrimSpace(want.Content), bytes.TrimSpace(p.content)) {
			t.Fatalf("content %s, want %s", p.content, want.Content)
		}
		unwrap(p.content, true)
	})
}
