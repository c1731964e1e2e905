package config

import (
	"strings"
	"testing"
)

func TestASizeThatIsTooLargeIsSaidToBe(t *testing.T) {
	for text, want := range map[string]string{
		"9223372036854775807": "too large", "5000000000GiB": "too large", "1" + strings.Repeat("0", 400): "too large",
		"Inf": "not a size", "-1": "not a size", "-1" + strings.Repeat("0", 400): "not a size", "NaN": "not a size", "": "not a size",
	} {
		if n, err := ParseSize(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}
