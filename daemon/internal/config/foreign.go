package config

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

// readForeignFile takes the servers out of a host's own file. Nothing in it is
// an error except unreadable text: it is another program's file.
func (l *layer) readForeignFile() error {
	root := l.doc
	switch l.source.format {
	case FormatOpencode:
		return l.addForeign(root.get("mcp"), FormatOpencode, false)
	case FormatVSCode:
		return l.addForeign(root.get("servers"), FormatVSCode, false)
	}
	if projects := root.get("projects"); projects != nil && projects.kind == objectNode && l.source.format == FormatClaude {
		l.sections = map[string]*layer{}
		for _, m := range projects.members {
			if entries := m.value.get("mcpServers"); entries != nil && len(entries.members) > 0 {
				section := &layer{source: l.source, doc: m.value}
				if err := section.addForeign(entries, FormatClaude, false); err != nil {
					return err
				}
				l.sections[m.name] = section
			}
		}
	}
	return l.addForeign(root.get("mcpServers"), l.source.format, false)
}

// addForeign reads entries in another program's form. In our own file (ours)
// the keys of tenon's own servers may stand beside the foreign ones, and a
// name used twice is an error; elsewhere everything unknown becomes a note.
func (l *layer) addForeign(entries *node, format string, ours bool) error {
	if entries == nil || entries.kind != objectNode {
		return nil
	}
	// The second generation of opencode puts the entries one level deeper.
	if inner := entries.get("servers"); format == FormatOpencode && inner != nil && inner.get("command") == nil && inner.get("url") == nil {
		entries = inner
	}
	for _, m := range entries.members {
		if err := checkName(m); err != nil {
			if ours {
				return err
			}
			l.note(m.at, "", "%s", err)
			continue
		}
		if m.value.kind != objectNode {
			l.note(m.at, m.name, "server %s is not an object: ignored", m.name)
			continue
		}
		src := l.source
		src.format = format
		s, err := l.foreignServer(m, src, ours)
		if err != nil {
			return err
		}
		if err := l.addServer(s, m); err != nil {
			return err
		}
	}
	return nil
}

// foreignServer reads one entry of any foreign form: their fields have enough
// in common for one reader.
func (l *layer) foreignServer(m member, src source, ours bool) (*Server, error) {
	s := newServer(m.name, src.origin(m.at))
	kind := ""
	for _, f := range m.value.members {
		if known := s.setForeign(f.name, f.value, &kind); known {
			continue
		}
		if key, ok := keyAt("servers.*." + f.name); ours && ok && f.name == "kind" {
			return nil, &placed{at: f.at, message: fmt.Sprintf("server %s: kind is for entries of servers, not for those in another program's form", m.name)}
		} else if ours && ok {
			if err := checkValue(f.value, key, "servers."+m.name+"."+f.name); err != nil {
				return nil, err
			}
			s.set(f.name, f.value)
			continue
		}
		s.Notes = append(s.Notes, fmt.Sprintf("key %q is not used by tenon", f.name))
		l.note(f.at, m.name, "server %s: key %q is not used by tenon", m.name, f.name)
	}
	sort.Strings(s.Notes)
	if s.Problem == "" {
		s.Problem = s.settle(kind)
	}
	if s.Problem != "" {
		l.note(m.at, m.name, "server %s: %s", m.name, s.Problem)
	}
	return s, nil
}

// setForeign takes over one field, and reports whether the form has it.
func (s *Server) setForeign(name string, n *node, kind *string) bool {
	switch name {
	case "type":
		switch strings.ToLower(n.text) {
		case "local", "stdio":
			*kind = "stdio"
		case "sse":
			*kind = "sse"
		case "remote": // opencode: Streamable HTTP, which falls back by itself
			*kind = ""
		case "http", "streamable-http", "streamablehttp":
			*kind = "http"
		default:
			s.Problem = fmt.Sprintf("type %q is not supported", n.text)
		}
	case "command":
		if n.kind == stringNode {
			s.Command = append([]string{n.text}, s.Command...)
		} else if list, ok := n.strings(); ok {
			s.Command = append(list, s.Command...)
		} else {
			s.Problem = "command is neither a string nor a list of strings"
		}
	case "args":
		list, ok := n.strings()
		if !ok {
			s.Problem = "args is not a list of strings"
		}
		s.Command = append(s.Command, list...)
	case "env", "environment":
		s.Env = s.looseMap(name, n)
	case "headers":
		s.Headers = s.looseMap(name, n)
	case "oauth", "auth": // auth is Cursor's name for it
		if n.kind != objectNode && (name == "auth" || n.kind != boolNode) || name == "auth" && n.get("CLIENT_ID") == nil {
			return false
		}
		var unknown []string
		s.OAuth, unknown = readOAuth(n)
		for _, key := range unknown {
			s.Notes = append(s.Notes, fmt.Sprintf("key %q of %s is not used by tenon", key, name))
		}
	case "url", "serverUrl":
		s.URL = n.text
	case "cwd":
		s.Cwd = n.text
	case "enabled":
		s.Enabled = n.text != "false"
	case "disabled":
		s.Enabled = n.text != "true"
	case "timeout": // milliseconds in every one of these forms
		ms, ok := n.integer()
		if !ok || ms <= 0 {
			return false
		}
		s.CallTimeout = time.Duration(ms) * time.Millisecond
	default:
		return false
	}
	return true
}

// looseMap reads names with strings, taking numbers and truth values as they
// are written: the hosts do.
func (s *Server) looseMap(field string, n *node) map[string]string {
	if n.kind != objectNode {
		s.Problem = field + " is not an object"
		return nil
	}
	out := make(map[string]string, len(n.members))
	for _, m := range n.members {
		switch m.value.kind {
		case stringNode, numberNode, boolNode:
			out[m.name] = m.value.text
		case nullNode:
		default:
			s.Problem = field + "." + m.name + " is not a string"
		}
	}
	return out
}
