package config

import (
	"strconv"
	"strings"
	"time"
)

// newServer is a server with every default of the reference.
func newServer(name string, origin Origin) *Server {
	return &Server{
		Name: name, Origin: origin,
		Scope:        Scope(defaultOf("servers.*.scope")),
		Inherit:      defaultOf("servers.*.inherit") == "true",
		Enabled:      defaultOf("servers.*.enabled") == "true",
		MaxInstances: defaultCount("servers.*.maxInstances"),
		IdleTimeout:  defaultDuration("servers.*.idleTimeout"),
		CallTimeout:  defaultDuration("servers.*.callTimeout"),
		CallWall:     defaultDuration("servers.*.callWall"),
		StartTimeout: defaultDuration("servers.*.startTimeout"),
		QueueTimeout: defaultDuration("servers.*.queueTimeout"),
		EvictAfter:   defaultDuration("servers.*.evictAfter"),
	}
}

func defaultDuration(path string) time.Duration {
	d, _ := ParseDuration(defaultOf(path))
	return d
}

func defaultCount(path string) int {
	n, _ := strconv.Atoi(defaultOf(path))
	return n
}

// ownServer reads an entry of servers. The document is checked: only rules
// between keys are left to test.
func ownServer(m member, src source) (*Server, error) {
	if err := checkName(m); err != nil {
		return nil, err
	}
	s := newServer(m.name, src.origin(m.at))
	kind := ""
	for _, field := range m.value.members {
		if field.name == "type" {
			kind = field.value.text
		}
		s.set(field.name, field.value)
	}
	if err := s.readKind(m); err != nil {
		return nil, err
	}
	if problem := s.settle(kind); problem != "" {
		return nil, &placed{at: m.at, message: "server " + m.name + ": " + problem}
	}
	return s, nil
}

// set takes over one checked field of our own shape.
func (s *Server) set(name string, n *node) {
	switch name {
	case "command":
		if n.kind == stringNode {
			s.Command = append([]string{n.text}, s.Command...)
		} else {
			list, _ := n.strings()
			s.Command = append(list, s.Command...)
		}
	case "args":
		list, _ := n.strings()
		s.Command = append(s.Command, list...)
	case "env":
		s.Env = stringMap(n)
	case "cwd":
		s.Cwd = n.text
	case "url":
		s.URL = n.text
	case "headers":
		s.Headers = stringMap(n)
	case "oauth":
		s.OAuth, _ = readOAuth(n)
	case "namespace":
		s.Namespace = n.text
	case "outputs":
		s.Outputs = n.text
	case "scope":
		s.Scope = Scope(n.text)
	case "inherit":
		s.Inherit = n.text == "true"
	case "stateless":
		s.Stateless = n.text == "true"
	case "enabled":
		s.Enabled = n.text == "true"
	case "pinned":
		s.Pinned, _ = n.strings()
	case "tools":
		s.Tools = toolOptions(n)
	case "maxInstances", "warm", "concurrency":
		i, _ := n.integer()
		*map[string]*int{"maxInstances": &s.MaxInstances, "warm": &s.Warm, "concurrency": &s.Concurrency}[name] = int(i)
	case "idleTimeout", "callTimeout", "callWall", "startTimeout", "queueTimeout", "evictAfter":
		d, _ := ParseDuration(n.text)
		*map[string]*time.Duration{
			"idleTimeout": &s.IdleTimeout, "callTimeout": &s.CallTimeout, "callWall": &s.CallWall,
			"startTimeout": &s.StartTimeout, "queueTimeout": &s.QueueTimeout, "evictAfter": &s.EvictAfter,
		}[name] = d
	}
}

// settle derives the transport and says what is wrong between fields; kind is
// the transport as written, or empty.
func (s *Server) settle(kind string) string {
	hasCommand := len(s.Command) > 0 && s.Command[0] != ""
	switch {
	case hasCommand && s.URL != "":
		return "has both command and url; keep one"
	case !hasCommand && s.URL == "":
		return "has neither command nor url"
	case kind == "":
		s.Kind = "stdio"
		if s.URL != "" {
			s.Kind = "http"
		}
	case (kind == "stdio") != hasCommand:
		return "type " + kind + " does not go with " + map[bool]string{true: "command", false: "url"}[hasCommand]
	default:
		s.Kind = kind
	}
	if hasCommand && len(s.Headers) > 0 {
		return "headers are for servers with url"
	}
	if hasCommand && s.OAuth != nil && !s.OAuth.Off {
		return "oauth is for servers with url"
	}
	if problem := s.OAuth.problem(); problem != "" {
		return problem
	}
	if s.MaxInstances < 1 {
		return "maxInstances must be at least 1"
	}
	if s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") &&
		!strings.HasPrefix(s.URL, "${") && !strings.HasPrefix(s.URL, "{") {
		return "url must start with http:// or https://"
	}
	return ""
}

func stringMap(n *node) map[string]string {
	out := make(map[string]string, len(n.members))
	for _, m := range n.members {
		out[m.name] = m.value.text
	}
	return out
}

func toolOptions(n *node) map[string]ToolOptions {
	out := make(map[string]ToolOptions, len(n.members))
	for _, m := range n.members {
		var o ToolOptions
		if v := m.value.get("callTimeout"); v != nil {
			o.CallTimeout, _ = ParseDuration(v.text)
		}
		if v := m.value.get("revert"); v != nil {
			o.Revert = v.text
		}
		out[m.name] = o
	}
	return out
}
