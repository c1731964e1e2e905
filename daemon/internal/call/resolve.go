package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/policy"
)

// target is what a call goes to.
type target struct {
	server        *config.Server
	def           *config.Definition
	key           string // scope key
	cwd           string
	session, root string
	args          json.RawMessage // an object
	toolName      string          // the tool's own name as far as it is known
	tool          *catalog.Tool   // nil: the server was never listed, or not since the tool came
	web           string          // the URL of a request of fetch, which goes to no server; empty for calls
}

// resolve finds server, definition and tool in the view.
func (c *call) resolve(ctx context.Context) error {
	req := c.req
	if err := c.arguments(); err != nil {
		return err
	}
	if req.Method != "" {
		return c.resolveMethod(ctx)
	}
	names := c.p.namespaces.of(req.View)
	c.toolName = req.Tool
	c.server = req.View.Servers[req.Server]
	if c.server == nil {
		c.server = req.View.Servers[names.servers[req.Server]]
	}
	if c.server == nil {
		return c.unknownServer(names)
	}
	if err := c.place(ctx); err != nil {
		return err
	}
	bound := c.p.o.Leases.Bound(c.def.ID, c.key)
	list := c.p.o.Catalog.For(c.def.ID, bound)
	c.tool = find(list, req.Tool)
	if c.tool == nil && list != nil && list.Fresh && bound == "" {
		return unknownTool(req, names.names[c.server.Name], c.server.Name, req.Tool, list)
	}
	if c.tool != nil {
		c.toolName = c.tool.Name
	}
	if req.OnStart != nil {
		req.OnStart(c.server.Name, c.toolName)
	}
	return nil
}

// arguments makes sure that they are an object; none are an empty one.
func (c *call) arguments() error {
	args := c.req.Args
	start := 0
	for start < len(args) && strings.IndexByte(" \t\r\n", args[start]) >= 0 {
		start++
	}
	if start == len(args) {
		c.args = json.RawMessage("{}")
		return nil
	}
	if args[start] != '{' {
		return fault.New(fault.InvalidToolInput, "arguments of %s/%s must be a JSON object", c.req.Server, c.req.Tool).
			WithHint(`give named arguments, for example {"text": "hello"}`)
	}
	c.args = args[start:]
	return nil
}

// place finds the definition and the scope key for this caller.
func (c *call) place(ctx context.Context) error {
	req := c.req
	c.cwd = req.Cwd
	var env config.Env
	if req.Session != nil {
		if c.p.o.Ensure != nil {
			if err := c.p.o.Ensure(ctx, req.Session); err != nil {
				return err
			}
		}
		c.session, c.root = req.Session.ID, req.Session.Root()
		env = req.Session.Env()
	}
	if req.Caller != nil {
		if c.cwd == "" {
			c.cwd = req.Caller.Dir
		}
		if env == nil {
			env = req.Caller.Env
		}
	}
	if c.cwd == "" && req.Session != nil {
		c.cwd = req.Session.Dir()
	}
	owner := c.root
	if !c.server.Inherit {
		owner = c.session
	}
	key, dir, err := lease.ScopeKey(c.server.Scope, owner, c.cwd)
	if err != nil {
		return err
	}
	c.key = key
	if dir == "" {
		dir = c.cwd
	}
	c.def, err = c.p.define(req.View, c.server.Name, env, key, dir)
	return err
}

func find(list *catalog.List, name string) *catalog.Tool {
	if t := list.Named(name); t != nil {
		return t
	}
	return list.Ident(name)
}

// definitionKey is what a definition depends on besides the environment.
type definitionKey struct {
	view                   *config.View
	server, key, workspace string
}

// expanded is a definition with the environment it was expanded with.
type expanded struct {
	env  config.Env
	def  *config.Definition
	till time.Time
}

// definitions caches expanded definitions: expanding costs more than the rest
// of a call.
type definitions struct {
	mu    sync.RWMutex
	known map[definitionKey][]expanded
}

const (
	// expandedFor is how long an expansion is believed: it looks for programs
	// in PATH and reads files that are named by placeholders.
	expandedFor = 5 * time.Second
	// maxDefinitions bounds the cache; when it is full it is emptied, since
	// views and sessions come and go.
	maxDefinitions = 4096
	// maxEnvironments bounds it for one key.
	maxEnvironments = 8
)

func (d *definitions) find(key definitionKey, env config.Env, now time.Time) *config.Definition {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, e := range d.known[key] {
		if now.Before(e.till) && maps.Equal(e.env, env) {
			return e.def
		}
	}
	return nil
}

func (d *definitions) keep(key definitionKey, e expanded, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxDefinitions {
		d.known = map[definitionKey][]expanded{}
	}
	fresh := []expanded{e}
	for _, old := range d.known[key] {
		if now.Before(old.till) && len(fresh) < maxEnvironments && !maps.Equal(old.env, e.env) {
			fresh = append(fresh, old)
		}
	}
	d.known[key] = fresh
}

// define is the definition of a server for an environment, a scope key and the
// directory that belongs to the key.
func (p *Path) define(v *config.View, server string, env config.Env, key, workspace string) (*config.Definition, error) {
	id := definitionKey{v, server, key, workspace}
	now := time.Now()
	if def := p.definitions.find(id, env, now); def != nil {
		return def, nil
	}
	def, err := p.o.Define(v, server, env, config.Placeholders{
		Workspace:  workspace,
		SessionDir: func() (string, error) { return p.sessionDir(key) },
	})
	if err != nil {
		return nil, err
	}
	if p.o.History != nil {
		p.o.History.Redactor().Add(def.Secrets...)
	}
	p.o.Catalog.Akin(def.ID, def.Template)
	p.definitions.keep(id, expanded{env, def, now.Add(expandedFor)}, now)
	return def, nil
}

// sessionDir is the private directory of a scope key (0700).
func (p *Path) sessionDir(key string) (string, error) {
	if p.o.SessionDirs == "" {
		return "", fault.New(fault.ConfigError, "${sessionDir} is not available here")
	}
	dir := p.sessionPath(key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("${sessionDir}: %w", err)
	}
	return dir, nil
}

func (p *Path) sessionPath(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(p.o.SessionDirs, hex.EncodeToString(sum[:12]))
}

// SessionEnded forgets what was kept of a session, its private directory
// included. Its instances must be ending.
func (p *Path) SessionEnded(id string) {
	scope, _, err := lease.ScopeKey(config.Session, id, "")
	if err != nil { // there is no such session
		return
	}
	d := &p.definitions
	d.mu.Lock()
	for key := range d.known {
		if key.key == scope {
			delete(d.known, key)
		}
	}
	d.mu.Unlock()
	if p.o.SessionDirs == "" {
		return
	}
	if err := os.RemoveAll(p.sessionPath(scope)); err != nil {
		p.log.Warn("private directory of a session not removed", "session", id, "error", err)
	}
}

// namespaces caches the names of each view.
type namespaces struct {
	mu    sync.RWMutex
	known map[*config.View]*viewNames
}

type viewNames struct {
	names   map[string]string // server -> namespace
	servers map[string]string // namespace -> server
	near    map[string][]near // server -> servers whose tools may share a key with its own
}

// near is a server with the beginning of its permission keys.
type near struct{ server, prefix string }

// sharing are the servers with a tool whose permission key is the same. One
// that was never listed counts if it may have such a tool.
func (c *call) sharing(ctx context.Context, tool string) []string {
	var out []string
	for _, n := range c.p.namespaces.of(c.req.View).near[c.server.Name] {
		key := policy.Key(c.server.Name, tool)
		if !strings.HasPrefix(key, n.prefix) {
			continue
		}
		req := *c.req
		req.Server = n.server
		list := c.p.Seen(ctx, req)
		if list == nil || slices.ContainsFunc(list.Tools, func(t *catalog.Tool) bool { return policy.Key(n.server, t.Name) == key }) {
			out = append(out, n.server)
		}
	}
	return out
}

func (n *namespaces) of(v *config.View) *viewNames {
	n.mu.RLock()
	names := n.known[v]
	n.mu.RUnlock()
	if names != nil {
		return names
	}
	names = &viewNames{names: map[string]string{}, servers: map[string]string{}, near: map[string][]near{}}
	all := catalog.Namespaces(v)
	for _, one := range all {
		names.names[one.Server], names.servers[one.Namespace] = one.Namespace, one.Server
		mine := policy.Key(one.Server, "")
		for _, other := range all {
			prefix := policy.Key(other.Server, "")
			related := strings.HasPrefix(mine, prefix) || strings.HasPrefix(prefix, mine)
			if other.Server != one.Server && related && Usable(v.Servers[other.Server]) {
				names.near[one.Server] = append(names.near[one.Server], near{other.Server, prefix})
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= 256 {
		n.known = map[*config.View]*viewNames{}
	}
	n.known[v] = names
	return names
}

// unknownServer suggests what was meant, as its caller writes servers: a program
// by their namespaces.
func (c *call) unknownServer(names *viewNames) error {
	e := unknownServer(c.req.View, c.req.Server)
	if hint := elsewhere(c.req, c.req.Server, c.req.Tool); hint != "" {
		return e.WithHint("%s", hint)
	}
	if c.req.Lone || len(names.servers) == 0 {
		return e
	}
	near := catalog.Nearest(c.req.Server, slices.Sorted(maps.Keys(names.servers)), 3)
	if len(near) == 0 {
		return e.WithHint("Object.keys(tools) lists the servers")
	}
	return e.WithHint("did you mean tools.%s? Object.keys(tools) lists the servers", strings.Join(near, ", tools."))
}

func unknownServer(v *config.View, name string) *fault.Error {
	var known []string
	for server := range v.Servers {
		known = append(known, server)
	}
	slices.Sort(known)
	e := fault.New(fault.UnknownTool, "no server is named %q here", name).At(name, "")
	if near := catalog.Nearest(name, known, 3); len(near) > 0 {
		return e.WithHint("did you mean %s? tenon ls shows all servers", strings.Join(near, ", "))
	}
	if len(known) == 0 {
		return e.WithHint("no server is configured for this directory: tenon init")
	}
	return e.WithHint("tenon ls shows the servers of this directory")
}

// unknownTool suggests what was meant, as its caller writes names: a program by
// their paths, whoever makes one call by the server's own.
func unknownTool(req *Request, namespace, server, name string, list *catalog.List) error {
	var known []string
	for _, t := range list.Tools {
		known = append(known, t.Ident)
	}
	e := fault.New(fault.UnknownTool, "server %s has no tool named %q", server, name).At(server, name)
	if hint := elsewhere(req, server, name); hint != "" {
		return e.WithHint("%s", hint)
	}
	near := catalog.Nearest(name, known, 3)
	for i, ident := range near {
		if near[i] = catalog.Path(namespace, ident); req.Lone {
			near[i] = strconv.Quote(list.Ident(ident).Name)
		}
	}
	find := fmt.Sprintf("search(%q) finds tools by words", name)
	switch {
	case req.shell():
		find = "tenon ls " + server + " lists the tools"
	case req.Lone:
		find = "tenon_search finds tools by words"
	}
	if len(near) > 0 {
		return e.WithHint("did you mean %s? %s", strings.Join(near, ", "), find)
	}
	return e.WithHint("%s", find)
}
