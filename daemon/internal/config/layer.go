package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
)

// Formats of files and entries, as Origin.Format names them.
const (
	FormatTenon    = "tenon"
	FormatOpencode = "opencode"
	FormatClaude   = "claude"
	FormatCursor   = "cursor"
	FormatVSCode   = "vscode"
)

// layer is one file, read and checked; immutable once made.
type layer struct {
	source  source
	doc     *node
	servers []*Server // in order of writing
	imports []string
	rules   []Rule
	presets []Preset
	notes   []Note
	// sections are the servers that ~/.claude.json keeps for single
	// directories; they are the user's own.
	sections map[string]*layer
}

// source says which file a layer is read from and what it is.
type source struct {
	file    string
	format  string
	project bool
}

// base is the directory that relative paths in the file are meant from.
func (s source) base() string {
	dir := filepath.Dir(s.file)
	switch filepath.Base(dir) {
	case ".tenon", ".opencode", ".cursor", ".vscode":
		return filepath.Dir(dir)
	}
	return dir
}

func (s source) origin(at place) Origin {
	return Origin{File: s.file, Line: at.line, Format: s.format, Base: s.base(), Project: s.project}
}

// readLayer parses and checks one document.
func readLayer(src source, doc []byte) (*layer, error) {
	root, err := parse(src.file, doc)
	if err != nil {
		return nil, err
	}
	if root.kind == nullNode {
		root = &node{kind: objectNode, at: root.at}
	}
	l := &layer{source: src, doc: root}
	if src.format != FormatTenon {
		return l, l.readForeignFile()
	}
	if err := check(root); err != nil {
		return nil, err
	}
	if n := root.get("servers"); n != nil {
		for _, m := range n.members {
			s, err := ownServer(m, src)
			if err != nil {
				return nil, err
			}
			if err := l.addServer(s, m); err != nil {
				return nil, err
			}
		}
	}
	if n := root.get("mcpServers"); n != nil {
		if err := l.addForeign(n, FormatClaude, true); err != nil {
			return nil, err
		}
	}
	if n := root.get("mcp"); n != nil {
		if err := l.addForeign(n, FormatOpencode, true); err != nil {
			return nil, err
		}
	}
	if n := root.get("import"); n != nil {
		l.imports, _ = n.strings()
	}
	if err := l.readPresets(); err != nil {
		return nil, err
	}
	return l, l.readRules()
}

// addServer refuses a name that the same file uses in another section.
func (l *layer) addServer(s *Server, m member) error {
	for _, other := range l.servers {
		if other.Name == s.Name {
			return &placed{at: m.at, message: fmt.Sprintf("server %q is written twice (first in line %d)", s.Name, other.Origin.Line)}
		}
	}
	l.servers = append(l.servers, s)
	return nil
}

func (l *layer) readRules() error {
	n := l.doc.get("permissions").get("rules")
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		switch m.value.text {
		case "allow", "ask", "deny":
		default:
			p := badAt(m.value, "permissions.rules.%s: %q is none of allow, ask, deny", m.name, m.value.text)
			if near := nearest(m.value.text, []string{"allow", "ask", "deny"}); near != "" {
				p.hint = fmt.Sprintf("did you mean %q?", near)
			}
			return p
		}
		if m.name == "" {
			return &placed{at: m.at, message: "a rule's pattern must not be empty", hint: `"*" matches every tool`}
		}
		l.rules = append(l.rules, Rule{Pattern: m.name, Action: m.value.text, Origin: l.source.origin(m.at)})
	}
	return nil
}

// note adds a remark about the place at.
func (l *layer) note(at place, server, format string, args ...any) {
	l.notes = append(l.notes, Note{File: l.source.file, Line: at.line, Column: at.column, Server: server, Message: fmt.Sprintf(format, args...)})
}

// checkName refuses names that could not be shown or typed.
func checkName(m member) error {
	const longest = 128
	if m.name == "." || m.name == ".." { // a step in a path, as of the address of a server's route
		return &placed{at: m.at, message: fmt.Sprintf("%q cannot be a server's name: it is a step in a path", m.name)}
	}
	if m.name == "" || len(m.name) > longest || strings.ContainsFunc(m.name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return &placed{at: m.at, message: fmt.Sprintf("%q cannot be a server's name: 1 to %d bytes that all print", m.name, longest)}
	}
	return nil
}
