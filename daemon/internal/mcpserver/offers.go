//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/run"
	"tenon/proto"
)

// listMembers are the members of the answers to lists of each kind.
var listMembers = map[catalog.Kind]string{
	catalog.Resources: "resources", catalog.Templates: "resourceTemplates", catalog.Prompts: "prompts",
}

// offered answers resources/list, resources/templates/list and prompts/list, on
// one page: the list of a server that is passed through as it is, or those of
// all servers together. No server is started whose list is known.
func (x *exchange) offered(kind catalog.Kind, cursor string) (mcp.Result, error) {
	if cursor != "" {
		return nil, stale()
	}
	var list []json.RawMessage
	if m := x.c.mode; m.server != "" {
		own, err := x.c.s.o.Path.Offered(x.ctx, x.request(m.server), kind, false)
		if err != nil {
			return nil, err
		}
		for _, o := range own.List {
			list = append(list, o.Raw)
		}
	} else {
		for _, o := range x.together(kind) {
			list = append(list, o.raw)
		}
	}
	x.rememberOffers(kind)
	if list == nil {
		list = []json.RawMessage{}
	}
	return written(map[string]any{listMembers[kind]: list})
}

// shared is one entry of a list over all servers.
type shared struct {
	server string
	own    string // the server's name for it
	key    string // the client's
	raw    json.RawMessage
}

// together are the entries of all servers: prompts under the names that tools
// have there, resources and templates by their URIs, where only one server has
// them. A server that cannot be listed lacks: it has tools to say so.
func (x *exchange) together(kind catalog.Kind) []shared {
	var out []shared
	count := map[string]int{}
	size := 0
	for _, part := range x.c.s.o.Path.OfferedAll(x.ctx, x.request(""), kind) {
		if part.List == nil {
			x.c.s.log.Debug("a server's offers are not listed", "server", part.Server, "kind", kind, "error", part.Err)
			continue
		}
		for _, o := range part.List.List {
			one := shared{server: part.Server, own: o.Key, key: o.Key, raw: o.Raw}
			if kind == catalog.Prompts {
				one.key = catalog.FlatName(part.Namespace, o.Key)
				one.raw = renamed(o.Raw, one.key)
			}
			if size += len(one.raw); one.raw == nil || len(out) >= call.MaxOffered || size > MaxMessage/2 {
				continue
			}
			count[one.key]++
			out = append(out, one)
		}
	}
	return slices.DeleteFunc(out, func(s shared) bool { return count[s.key] > 1 })
}

// renamed is an entry with another name; nil: it cannot have one.
func renamed(raw json.RawMessage, name string) json.RawMessage {
	var entry map[string]json.RawMessage
	if json.Unmarshal(raw, &entry) != nil || entry == nil {
		return nil
	}
	entry["name"], _ = json.Marshal(name) // a text always marshals
	data, err := json.Marshal(entry)
	if err != nil {
		return nil
	}
	return data
}

// promptOf finds the server and the own name of a prompt.
func (x *exchange) promptOf(name string) (server, own string, err error) {
	if m := x.c.mode; m.server != "" {
		return m.server, name, nil
	}
	list := x.together(catalog.Prompts)
	names := make([]string, len(list))
	for i, s := range list {
		if s.key == name {
			return s.server, s.own, nil
		}
		names[i] = s.key
	}
	e := fault.New(fault.NotFound, "there is no prompt %q", name)
	if near := catalog.Nearest(name, names, 3); len(near) > 0 {
		return "", "", e.WithHint("did you mean %s?", strings.Join(near, ", "))
	}
	return "", "", e.WithHint("prompts/list has the names")
}

// readOf answers resources/read of a server's resource.
func (x *exchange) readOf(uri string, token any) (mcp.Result, error) {
	res, err := x.material(x.c.mode.server, call.ReadResource, map[string]any{"uri": uri}, token)
	if fault.KindOf(err) == fault.NotFound {
		return nil, &jsonrpc.Error{Code: codeNoResource, Message: fault.From(err).Message}
	}
	return res, err
}

// codeNoResource is the protocol's code, of all versions that are spoken, for a
// resource that is not there.
const codeNoResource = -32002

// promptGet answers prompts/get.
func (x *exchange) promptGet(name string, args map[string]string, token any) (mcp.Result, error) {
	server, own, err := x.promptOf(name)
	if err != nil {
		return nil, err
	}
	given := map[string]any{"name": own}
	if args != nil {
		given["arguments"] = args
	}
	return x.material(server, call.GetPrompt, given, token)
}

// material makes a call that is no tool's, and gives the server's answer as it
// came.
func (x *exchange) material(server, method string, args, token any) (mcp.Result, error) {
	data, err := proto.Marshal(args)
	if err != nil {
		return nil, fault.New(fault.InternalError, "%w", err)
	}
	feed := x.feed(token)
	defer feed.close()
	x.onFrame = feed.frame()
	var answer json.RawMessage
	_, err = x.c.s.o.Runs.Call(x.ctx, run.CallSpec{
		Spec: x.spec(), Server: server, Method: method, Arguments: data, Listener: x.c.listener(), OnLog: feed.serverLog(server),
		OnAnswer: func(raw json.RawMessage) { answer = append(json.RawMessage(nil), raw...) },
	})
	feed.close()
	if err != nil {
		return nil, err
	}
	if !json.Valid(answer) {
		return nil, fault.New(fault.InvalidToolOutput, "server %s answered %s with no JSON", server, method)
	}
	return &raw{json: answer}, nil
}

// complete answers completion/complete.
func (x *exchange) complete(p *mcp.CompleteParams) (mcp.Result, error) {
	if p == nil || p.Ref == nil {
		return nil, fault.New(fault.InvalidToolInput, "completion/complete needs a reference")
	}
	ref := *p.Ref
	server := x.c.mode.server
	if x.c.mode.flat && ref.Type == "ref/prompt" {
		var err error
		if server, ref.Name, err = x.promptOf(ref.Name); err != nil {
			return nil, err
		}
	} else if x.c.mode.flat {
		list := x.together(catalog.Templates)
		i := slices.IndexFunc(list, func(s shared) bool { return s.key == ref.URI })
		if i < 0 {
			return nil, fault.New(fault.NotFound, "there is no resource template %q", ref.URI)
		}
		server = list[i].server
	}
	asked := map[string]any{"ref": ref, "argument": p.Argument}
	if p.Context != nil {
		asked["context"] = p.Context
	}
	params, err := proto.Marshal(asked)
	if err != nil {
		return nil, fault.New(fault.InternalError, "%w", err)
	}
	answer, err := x.c.s.o.Path.Complete(x.ctx, x.request(server), params)
	if err != nil {
		return nil, err
	}
	return &raw{json: answer}, nil
}

// rememberOffers notes what the client has listed, so that it can be told of a
// change.
func (x *exchange) rememberOffers(kind catalog.Kind) {
	if kind == catalog.Templates {
		kind = catalog.Resources
	}
	now := x.offersDigest(kind)
	x.c.mu.Lock()
	defer x.c.mu.Unlock()
	x.c.offers[kind], x.c.lister = now, x.caller
}

// offersDigest is that of the lists of a kind which the client sees, without
// starting a server.
func (x *exchange) offersDigest(kind catalog.Kind) string {
	var out strings.Builder
	for _, at := range listable(x.view) {
		if m := x.c.mode; m.server != "" && at.Server != serverOf(x.view, m.server) {
			continue
		}
		out.WriteString(at.Server + "\x00" + at.Namespace)
		kinds := []catalog.Kind{kind}
		if kind == catalog.Resources {
			kinds = append(kinds, catalog.Templates)
		}
		for _, k := range kinds {
			out.WriteByte(0)
			if list := x.c.s.o.Path.OfferedSeen(x.ctx, x.request(at.Server), k); list != nil {
				out.WriteString(list.Fingerprint)
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}
