package config

import (
	"net/url"
	"path/filepath"
	"strings"
)

// leadsBack reports whether a server entry is tenon itself: our own MCP
// command, however wrapped, or the address we listen on. Importing it would
// make the daemon a client of itself.
func leadsBack(s *Server, listen, socket string) bool {
	var words []string
	for _, arg := range s.Command {
		words = append(words, strings.Fields(arg)...)
	}
	for i, w := range words {
		name := strings.TrimSuffix(filepath.Base(strings.Trim(w, `"'`)), ".exe")
		if name != "tenon" && !strings.HasPrefix(name, "opencode-tenon") {
			continue
		}
		for _, next := range words[i+1:] {
			if strings.Trim(next, `"'`) == "mcp" {
				return true
			}
		}
	}
	if s.URL == "" {
		return false
	}
	if socket != "" && strings.Contains(s.URL, socket) {
		return true
	}
	u, err := url.Parse(s.URL)
	if err != nil || listen == "" {
		return false
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	at := strings.LastIndexByte(listen, ':')
	if at < 0 || listen[at+1:] != port {
		return false
	}
	own := strings.ToLower(strings.Trim(listen[:at], "[]"))
	return host == own || isLoopback(host) && (isLoopback(own) || own == "" || own == "0.0.0.0" || own == "::")
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}
