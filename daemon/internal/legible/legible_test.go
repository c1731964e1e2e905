package legible

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// hidden are characters that act, or are read by machines alone.
var hidden = map[string]string{
	"escape":               "\x1b",
	"bell":                 "\a",
	"carriage return":      "\r",
	"delete":               "\x7f",
	"CSI as one character": "\u009b",
	"next line":            "\u0085",
	"override":             "\u202e",
	"isolate":              "\u2066",
	"right-to-left mark":   "\u200f",
	"arabic letter mark":   "\u061c",
	"zero width space":     "\u200b",
	"byte order mark":      "\ufeff",
	"soft hyphen":          "\u00ad",
	"line separator":       "\u2028",
	"tag letter":           "\U000e0041",
	"variant 17":           "\U000e0100",
	"hangul filler":        "\u3164",
	"joiner in ASCII":      "a\u200db",
	"variant on nothing":   " \ufe0f",
	"variants in a row":    "☎\ufe0e\ufe0f",
}

func TestWhatActsOrHidesIsWrittenOutOrLeftOut(t *testing.T) {
	for name, text := range hidden {
		for _, out := range []string{Show("a" + text + "b"), Drop("a" + text + "b"), Line("a" + text + "b")} {
			for _, r := range out {
				if r != '\n' && !unicode.IsGraphic(r) {
					t.Errorf("%s: %q still has %U", name, out, r)
				}
			}
		}
		if shown := Show("a" + text + "b"); !strings.Contains(shown, `\`) {
			t.Errorf("%s: nothing tells that it was there: %q", name, shown)
		}
	}
	if got := Show("a\x1b[2Jb\u009bc\u202ed\n\te"); got != `a\x1b[2Jb\x9bc\u202ed`+"\n\te" {
		t.Errorf("Show: %q", got)
	}
	if got := Drop("one\r\ntwo\rthree\u2028four\u0085five"); got != "one\ntwo\nthree\nfour\nfive" {
		t.Errorf("Drop: %q", got)
	}
	if got := Line("one\ntwo\t\u202e"); got != `one\ntwo\t\u202e` {
		t.Errorf("Line: %q", got)
	}
}

func TestTextOfEveryScriptStays(t *testing.T) {
	for _, text := range []string{
		"plain", "Grüße, naïve café", "中文 日本語 한국어", "می\u200cخواهم", "क्\u200dष", "👩\u200d💻 👩\u200d❤\ufe0f\u200d👨 ☎\ufe0f 1\ufe0f\u20e3", "שלום عربي", "line\nline\ttab", "a bad byte \xff stays one",
	} {
		want := strings.ToValidUTF8(text, "\ufffd")
		if got := Show(text); got != want && got != text {
			t.Errorf("Show(%q) = %q", text, got)
		}
		if got := Drop(text); got != want && got != text {
			t.Errorf("Drop(%q) = %q", text, got)
		}
	}
}

func TestAJSONDocumentKeepsItsMeaning(t *testing.T) {
	for name, text := range hidden {
		doc, err := json.Marshal(map[string]string{"k" + text: text})
		if err != nil {
			t.Fatal(err)
		}
		shown := JSON(doc)
		for _, r := range string(shown) {
			if !unicode.IsGraphic(r) {
				t.Errorf("%s: %q still has %U", name, shown, r)
			}
		}
		var back map[string]string
		if err := json.Unmarshal(shown, &back); err != nil || back["k"+text] != text {
			t.Errorf("%s: %s means %q, %v", name, shown, back, err)
		}
	}
}
