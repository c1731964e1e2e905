package history

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf16"
)

// shortestForm is the least of a piece of base64 that is looked for: what
// stands within other text shows only a part of the value.
const shortestForm = 12

// formsOf lists how a secret may stand in a text: as it is, escaped in JSON
// (once, or twice as JSON within JSON, by Go, JavaScript or Python), in an
// address, in hexadecimal, and in base64, also within a longer text that was
// encoded as one, such as "user:secret".
func formsOf(secret string) []string {
	forms := []string{
		secret,
		url.QueryEscape(secret), url.PathEscape(secret),
		lowerEscapes(url.QueryEscape(secret)), lowerEscapes(url.PathEscape(secret)),
		hex.EncodeToString([]byte(secret)),
	}
	for _, escaped := range []string{jsonText(secret, true), jsonText(secret, false), asciiJSON(secret)} {
		forms = append(forms, escaped, jsonText(escaped, false))
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, enc.EncodeToString([]byte(secret)))
		for before := range 3 {
			// What stands before shifts the groups of three bytes; the first and the
			// last characters then depend on the neighbours and are left out.
			text := enc.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
			from, to := (before*8+5)/6, (before+len(secret))*8/6
			if to-from >= shortestForm {
				forms = append(forms, text[from:to])
			}
		}
	}
	return forms
}

// jsonText is s within a JSON string; html as Go escapes it by default.
func jsonText(s string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(s) != nil { // a string always marshals
		return s
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// asciiJSON is s within a JSON string of ASCII only.
func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range jsonText(s, false) {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// lowerEscapes writes the escapes of an address with small letters.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
		}
	}
	return string(b)
}
