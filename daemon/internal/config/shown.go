package config

import (
	"net/url"
	"slices"
	"strings"
)

// hidden stands in a listing where a secret is written out in the configuration.
const hidden = "[redacted]"

// ShownURL is the server's address for listings, as written: placeholders stay
// names, and a password or a parameter whose name says that it is secret is
// hidden where its value is written out.
func (s *Server) ShownURL() string {
	head, query, asked := strings.Cut(s.URL, "?")
	if scheme, rest, ok := strings.Cut(head, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			if user, password, ok := strings.Cut(host[:at], ":"); ok && literal(password) {
				head = strings.TrimSuffix(scheme+"://"+user+":"+hidden+host[at:]+"/"+path, "/")
			}
		}
	}
	if !asked {
		return head
	}
	query, fragment, marked := strings.Cut(query, "#")
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil && looksSecret(plain) && literal(value) {
			pairs[i] = name + "=" + hidden
		}
	}
	head += "?" + strings.Join(pairs, "&")
	if marked {
		head += "#" + fragment
	}
	return head
}

// ShownCommand is the server's command line for listings, as written: the value
// of an option or a variable whose name says that it is secret is hidden where it
// is written out.
func (s *Server) ShownCommand() []string {
	words := slices.Clone(s.Command)
	for i, word := range words {
		name, value, assigned := strings.Cut(word, "=")
		switch {
		case assigned && plainName(name) && looksSecret(name) && literal(value):
			words[i] = name + "=" + hidden
		case i > 0 && strings.HasPrefix(s.Command[i-1], "-") && plainName(s.Command[i-1]) && looksSecret(s.Command[i-1]) &&
			!strings.HasPrefix(word, "-") && literal(word):
			words[i] = hidden
		}
	}
	return words
}

// plainName is whether a text can be the name of an option or a variable.
func plainName(text string) bool {
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}

// literal is whether a value is itself, and not the name of where it stands.
func literal(value string) bool {
	return value != "" && !strings.Contains(value, "${") && !strings.Contains(value, "{env:") && !strings.Contains(value, "{file:")
}
