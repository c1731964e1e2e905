package fakeserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// schema is one tool as tools/list shows it.
func (t *tool) schema() string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{%s},"required":[%s]}}`,
		t.name, t.about, t.props, t.required)
}

// listed returns the tools that exist now: honest, generated, loaded.
func (s *server) listed() []string {
	var all []string
	for i := range honest {
		if honest[i].name == "update" && !s.o.material {
			continue
		}
		all = append(all, honest[i].schema())
	}
	plain := func(name string) {
		all = append(all, fmt.Sprintf(`{"name":%q,"description":"generated","inputSchema":{"type":"object"}}`, name))
	}
	for i := range s.o.more {
		plain("t" + strconv.Itoa(i+1))
	}
	for _, name := range s.extras() {
		plain(name)
	}
	return all
}

func (s *server) extras() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for i := range s.loaded {
		name := "extra"
		if i > 0 {
			name += strconv.Itoa(i + 1)
		}
		names = append(names, name)
	}
	return names
}

// has reports whether a tool without a program of its own is listed; such a
// tool answers with its name and arguments.
func (s *server) has(name string) bool {
	if s.tools != nil {
		var list struct {
			Tools []json.RawMessage `json:"tools"`
		}
		_ = json.Unmarshal(s.tools, &list) // what is no list has no tool
		return slices.ContainsFunc(list.Tools, func(raw json.RawMessage) bool {
			var tool struct {
				Name *string `json:"name"`
			}
			return json.Unmarshal(raw, &tool) == nil && tool.Name != nil && *tool.Name == name
		})
	}
	for _, t := range s.listed() {
		if strings.HasPrefix(t, `{"name":`+strconv.Quote(name)) {
			return true
		}
	}
	return false
}

func (s *server) listTools(params json.RawMessage) []byte {
	if s.tools != nil {
		return s.tools
	}
	cut, next := s.pageOf(params, s.listed())
	return []byte(`{"tools":[` + strings.Join(cut, ",") + `]` + next + `}`)
}

// pageOf is the page of a list that the params of a request ask for, and the
// member that leads to the next one.
func (s *server) pageOf(params json.RawMessage, all []string) (cut []string, next string) {
	var page struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(params, &page) // no params: the first page
	from, _ := strconv.Atoi(page.Cursor)
	size := s.o.pages
	if size <= 0 {
		size = len(all)
	}
	start := min(from, len(all))
	end := min(start+size, len(all))
	switch {
	case s.o.cursor == "repeat":
		next = "again"
	case s.o.cursor == "endless":
		next = strconv.Itoa(from + size)
	case end < len(all):
		next = strconv.Itoa(end)
	}
	if next != "" {
		next = `,"nextCursor":"` + next + `"`
	}
	return all[start:end], next
}
