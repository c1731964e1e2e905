package config

import (
	"net/url"
	"path/filepath"
	"strings"
)

// leadsBack reports whether a server entry is tenon itself. Importing it would
// make the daemon a client of itself.
func leadsBack(s *Server, listen, socket string) bool {
	return LeadsBack(s.Command, s.URL, listen, socket)
}

// LeadsBack reports whether a server that a host starts or connects to is tenon
// itself: our own MCP command, however wrapped, or the address we listen on
// (HOST:PORT, empty: none) or the socket's path.
func LeadsBack(command []string, address, listen, socket string) bool {
	var words []string
	for _, arg := range command {
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
	if address == "" {
		return false
	}
	if socket != "" && strings.Contains(address, socket) {
		return true
	}
	u, err := url.Parse(address)
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
