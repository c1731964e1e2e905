package jsonc

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tenon = Plugin{List: "plugin", Path: "/data/tenon/plugins/tenon.js", Options: map[string]any{"bin": "/usr/bin/tenon"}}

const entry = `["/data/tenon/plugins/tenon.js", {"bin": "/usr/bin/tenon"}]`

// only the needed text changes; twice is once; removing restores.
func TestAddingAPluginChangesOnlyWhatItMustAndRemovingRestores(t *testing.T) {
	cases := []struct{ name, doc, want string }{
		{"bom, crlf, comments, one-line list",
			"\xef\xbb\xbf{\r\n\t// mine\r\n\t\"z\": 1, /* odd */ \"a\": [1,2 ,],\r\n\t\"plugin\": [\"x\", \"y\"], // list\r\n}\r\n",
			"\xef\xbb\xbf{\r\n\t// mine\r\n\t\"z\": 1, /* odd */ \"a\": [1,2 ,],\r\n\t\"plugin\": [\"x\", \"y\", " + entry + "], // list\r\n}\r\n"},
		{"no list yet", "{\n  \"theme\": \"x\"\n}\n", "{\n  \"theme\": \"x\",\n  \"plugin\": [\n    " + entry + "\n  ]\n}\n"},
		{"no list yet, crlf and tabs", "{\r\n\t\"theme\": \"x\" // c\r\n}", "{\r\n\t\"theme\": \"x\", // c\r\n\t\"plugin\": [\r\n\t\t" + entry + "\r\n\t]\r\n}"},
		{"no list yet, trailing comma", "{\n    \"a\": {}, // c\n}", "{\n    \"a\": {}, // c\n    \"plugin\": [\n        " + entry + "\n    ],\n}"},
		{"empty document", "{}", `{"plugin": [ ` + entry + ` ]}`},
		{"empty document on lines", "{\n}\n", "{\n  \"plugin\": [\n    " + entry + "\n  ]\n}\n"},
		{"one line", `{"a": 1}`, `{"a": 1, "plugin": [ ` + entry + ` ]}`},
		{"empty list", "{\n  \"plugin\": []\n}", "{\n  \"plugin\": [" + entry + "]\n}"},
		{"empty list with a blank", `{"plugin": [ ]}`, `{"plugin": [` + entry + ` ]}`},
		{"list on lines", "{\n  \"plugin\": [\n    \"x\" // why x\n  ]\n}", "{\n  \"plugin\": [\n    \"x\", // why x\n    " + entry + "\n  ]\n}"},
		{"list on lines, trailing comma", "{\n  \"plugin\": [\n    \"x\", // why x\n  ]\n}", "{\n  \"plugin\": [\n    \"x\", // why x\n    " + entry + ",\n  ]\n}"},
		{"comment behind the last", `{"plugin": ["x" /* c */]}`, `{"plugin": ["x", ` + entry + ` /* c */]}`},
		{"comment at the end of the file", "{\"plugin\": [\"x\"]} // end", "{\"plugin\": [\"x\", " + entry + "]} // end"},
		{"other brackets in strings", `{"x": "[{//", "plugin": ["]"]}`, `{"x": "[{//", "plugin": ["]", ` + entry + `]}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			added, err := AddPlugin([]byte(c.doc), tenon)
			if err != nil {
				t.Fatal(err)
			}
			if string(added) != c.want {
				t.Fatalf("added:\n%q\nwant\n%q", added, c.want)
			}
			if again, err := AddPlugin(added, tenon); err != nil || string(again) != c.want {
				t.Errorf("a second time: %q, %v", again, err)
			}
			if has, err := HasPlugin(added, tenon.List, tenon.Path); err != nil || !has {
				t.Errorf("has: %v, %v", has, err)
			}
			removed, err := RemovePlugin(added, tenon.List, tenon.Path)
			if err != nil || string(removed) != c.doc {
				t.Errorf("removed:\n%q\nwant\n%q (%v)", removed, c.doc, err)
			}
		})
	}
}

// One file serves both generations of the host: each list has its own form, and
// neither is touched with the other.
func TestEachGenerationsListIsEditedByItself(t *testing.T) {
	second := Plugin{List: "plugins", Path: "/data/tenon/plugins/v2", Options: map[string]any{"bin": "/usr/bin/tenon"}}
	doc := "{\n  \"plugins\": [\"-other\"] // v2's\n}\n"
	both, err := AddPlugin([]byte(doc), tenon)
	if err == nil {
		both, err = AddPlugin(both, second)
	}
	want := "{\n  \"plugins\": [\"-other\", {\"options\": {\"bin\": \"/usr/bin/tenon\"}, \"package\": \"/data/tenon/plugins/v2\"}], // v2's\n  \"plugin\": [\n    " + entry + "\n  ]\n}\n"
	if err != nil || string(both) != want {
		t.Fatalf("got  %q\nwant %q (%v)", both, want, err)
	}
	if again, err := AddPlugin(both, second); err != nil || string(again) != want {
		t.Errorf("a second time: %q, %v", again, err)
	}
	if names, err := Plugins(both, "plugins"); err != nil || strings.Join(names, " ") != "-other "+second.Path {
		t.Errorf("%q, %v", names, err)
	}
	if names, err := Plugins(both, "plugin"); err != nil || strings.Join(names, " ") != tenon.Path {
		t.Errorf("%q, %v", names, err)
	}
	if has, err := HasPlugin(both, "plugin", second.Path); err != nil || has {
		t.Errorf("%v, %v", has, err)
	}
	rest, err := RemovePlugin(both, second.List, second.Path)
	if err == nil {
		rest, err = RemovePlugin(rest, tenon.List, tenon.Path)
	}
	if err != nil || string(rest) != doc {
		t.Errorf("got %q, %v", rest, err)
	}
}

func TestOtherOptionsReplaceTheEntryInPlace(t *testing.T) {
	doc := `{"plugin": ["a", /* ours */ ["/data/tenon/plugins/tenon.js", {"bin": "/old"}], "b"]}`
	got, err := AddPlugin([]byte(doc), tenon)
	if want := `{"plugin": ["a", /* ours */ ` + entry + `, "b"]}`; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
	got, err = RemovePlugin(got, tenon.List, tenon.Path)
	if want := `{"plugin": ["a", /* ours */ "b"]}`; err != nil || string(got) != want {
		t.Errorf("removed: %q, %v", got, err)
	}
}

func TestAnUnreadableDocumentIsRefusedWithItsPlace(t *testing.T) {
	for doc, place := range map[string]string{
		"":                             "line 1, column 1",
		"{\n  \"plugin\": [\n":         "line 3, column 1",
		"{\n  \"a\" 1}":                "line 2, column 7",
		"{\"plugin\": {\"a\": 1}}":     "line 1, column 12: plugin is not a list",
		"[1]":                          "the document is not an object",
		strings.Repeat("[", 100):       "nested too deeply",
		"{\"plugin\": [\"x\"]} // \n}": "line 2, column 1",
	} {
		got, err := AddPlugin([]byte(doc), tenon)
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), place) || got != nil {
			t.Errorf("%q: %q, %v; want %s", doc, got, err, place)
		}
	}
}

func TestSetReplacesAndMakesWhatIsMissing(t *testing.T) {
	cases := []struct {
		name, doc, want string
		path            []string
		value           any
	}{
		{"replace", "{\n  \"a\": 1, // c\n}", "{\n  \"a\": 2, // c\n}", []string{"a"}, 2},
		{"equal is left alone", `{"a": {"y":1,"x":2}}`, `{"a": {"y":1,"x":2}}`, []string{"a"}, map[string]any{"x": 2, "y": 1}},
		{"nested", "{\n  \"mcp\": {\n    \"x\": {\"command\": [\"a\"]}\n  }\n}", "{\n  \"mcp\": {\n    \"x\": {\"command\": [\"a\"], \"enabled\": false}\n  }\n}", []string{"mcp", "x", "enabled"}, false},
		{"made on the way", "{\n  \"a\": 1\n}", "{\n  \"a\": 1,\n  \"mcp\": {\n    \"x\": {\"enabled\": false}\n  }\n}", []string{"mcp", "x", "enabled"}, false},
		{"no html escapes", `{}`, `{"a": "<&>"}`, []string{"a"}, "<&>"},
		{"the last of a name written twice", `{"a": 1, "a": 2}`, `{"a": 1, "a": 3}`, []string{"a"}, 3},
		{"an object on lines", "{\n\t\"s\": {\n\t}\n}", "{\n\t\"s\": {\n\t\t\"fs\": {\n\t\t\t\"command\": [\"x\", \"y\"]\n\t\t}\n\t}\n}", []string{"s", "fs"}, map[string]any{"command": []string{"x", "y"}}},
	}
	for _, c := range cases {
		got, err := Set([]byte(c.doc), c.path, c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n%s\nwant\n%s (%v)", c.name, got, c.want, err)
		}
	}
}

func TestRemoveKeepsCommentsAndCommas(t *testing.T) {
	cases := []struct{ doc, want string }{
		{"{\n  \"a\": 1,\n  // about x\n  \"x\": 2,\n  \"b\": 3\n}", "{\n  \"a\": 1,\n  // about x\n  \"b\": 3\n}"},
		{"{\n  \"a\": 1,\n  \"x\": 2\n}", "{\n  \"a\": 1\n}"},
		{`{"x": 2}`, `{}`},
		{`{"x": 2 /* c */, "b": 1}`, `{ /* c */ "b": 1}`},
		{"{\"a\": 1, // c\n \"x\": 2}", "{\"a\": 1 // c\n }"},
		{"{\"a\": 1, // c\n \"x\": 2, \"b\": 1}", "{\"a\": 1, // c\n \"b\": 1}"},
		{`{"a": 1}`, `{"a": 1}`},
	}
	for _, c := range cases {
		got, err := Remove([]byte(c.doc), []string{"x"})
		if err != nil || string(got) != c.want {
			t.Errorf("%q: got %q, want %q (%v)", c.doc, got, c.want, err)
		}
	}
}

// FuzzEdits: whatever the document, adding and removing restores every byte,
// and no edit damages it.
func FuzzEdits(f *testing.F) {
	for _, doc := range []string{
		"{}", "{ }", "{\n}", "{\r\n\t\"plugin\": [\r\n\t\t\"x\", // c\r\n\t],\r\n}", `{"plugin":["a" /*c*/ , "b"]}`, "{\"plugin\": [ // c\n]}",
		"\xef\xbb\xbf// c\n{\"a\": {\"b\": []}, }", "{\"plugin\": [\n\"x\"]}", "{\"plugin\": [\"x\"\n,]}", "{\"a\":1\n/*c*/,\n//d\n}", "{\"plugin\": [\n \"a\", \"b\",\n ]\n}", "{//c\n}",
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if has, err := HasPlugin(doc, tenon.List, tenon.Path); err != nil || has {
			return
		}
		added, err := AddPlugin(doc, tenon)
		if err != nil {
			t.Fatalf("add to %q: %v", doc, err)
		}
		if has, err := HasPlugin(added, tenon.List, tenon.Path); err != nil || !has {
			t.Fatalf("not there after adding: %q, %v", added, err)
		}
		removed, err := RemovePlugin(added, tenon.List, tenon.Path)
		if err != nil || string(removed) != string(doc) {
			t.Fatalf("%q\nadded %q\nremoved %q (%v)", doc, added, removed, err)
		}
		if _, err := Set(doc, []string{"mcp", "x", "enabled"}, false); err != nil {
			var bad *Error
			if !errors.As(err, &bad) || strings.Contains(err.Error(), "damage") {
				t.Fatalf("set in %q: %v", doc, err)
			}
		}
		if _, err := Remove(doc, []string{"plugin"}); err != nil {
			t.Fatalf("remove from %q: %v", doc, err)
		}
	})
}
