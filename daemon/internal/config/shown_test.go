package config

import (
	"slices"
	"testing"
)

func TestListingsHideSecretsThatAreWrittenOut(t *testing.T) {
	for written, want := range map[string]string{
		"https://mcp.example.com/mcp":                       "https://mcp.example.com/mcp",
		"https://mcp.example.com/mcp?key=abcdefgh&page=2#x": "https://mcp.example.com/mcp?key=[redacted]&page=2#x",
		"https://mcp.example.com/mcp?api%5Fkey=abcdefgh":    "https://mcp.example.com/mcp?api%5Fkey=[redacted]",
		"https://mcp.example.com/mcp?key=${KEY}":            "https://mcp.example.com/mcp?key=${KEY}",
		"https://me:secret@mcp.example.com/a/b":             "https://me:[redacted]@mcp.example.com/a/b",
		"https://me:secret@mcp.example.com":                 "https://me:[redacted]@mcp.example.com",
		"https://me:${PASSWORD}@mcp.example.com/":           "https://me:${PASSWORD}@mcp.example.com/",
		"": "",
	} {
		if got := (&Server{URL: written}).ShownURL(); got != want {
			t.Errorf("%s is shown as %s, want %s", written, got, want)
		}
	}
	for _, words := range [][2][]string{
		{{"npx", "-y", "server", "--token", "abc", "--root", "/x"}, {"npx", "-y", "server", "--token", "[redacted]", "--root", "/x"}},
		{{"npx", "--api-key=abc", "PASSWORD=x", "--page=2"}, {"npx", "--api-key=[redacted]", "PASSWORD=[redacted]", "--page=2"}},
		{{"npx", "--token", "${TOKEN}", "--token", "--verbose"}, {"npx", "--token", "${TOKEN}", "--token", "--verbose"}},
		{{"tokens", "list", "https://x/?token=1"}, {"tokens", "list", "https://x/?token=1"}},
	} {
		if got := (&Server{Command: words[0]}).ShownCommand(); !slices.Equal(got, words[1]) {
			t.Errorf("%q is shown as %q", words[0], got)
		}
	}
}
