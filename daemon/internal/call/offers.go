package call

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// maxOffersPage is how many entries stand on one page of a list over servers.
const maxOffersPage = 1000

// offered is one entry of a list over servers.
type offered struct {
	server, namespace string
	entry             map[string]json.RawMessage
}

// text is a member that is a text, or nothing: servers write what they like.
func (o offered) text(member string) string {
	var s string
	_ = json.Unmarshal(o.entry[member], &s) // what is no text is left out
	return s
}

// Resources lists the resources of one server, which is asked, or of all: of
// those, running ones are asked, and of the others what is known counts.
func (p *Path) Resources(ctx context.Context, req Request, q proto.OfferQuery) (*proto.Resources, error) {
	list, problems, next, err := p.offers(ctx, req, catalog.Resources, q)
	if err != nil {
		return nil, err
	}
	out := &proto.Resources{Resources: make([]proto.Resource, len(list)), Problems: problems, NextCursor: next}
	for i, o := range list {
		var size float64
		_ = json.Unmarshal(o.entry["size"], &size) // as in text
		if size < 0 || size > math.MaxInt32*1e6 {
			size = 0
		}
		out.Resources[i] = proto.Resource{
			Server: o.server, Namespace: o.namespace, URI: o.text("uri"), Name: o.text("name"), Title: o.text("title"),
			Description: o.text("description"), MimeType: o.text("mimeType"), Size: int64(size),
		}
	}
	return out, nil
}

// Templates is Resources for the templates of resources.
func (p *Path) Templates(ctx context.Context, req Request, q proto.OfferQuery) (*proto.ResourceTemplates, error) {
	list, problems, next, err := p.offers(ctx, req, catalog.Templates, q)
	if err != nil {
		return nil, err
	}
	out := &proto.ResourceTemplates{ResourceTemplates: make([]proto.ResourceTemplate, len(list)), Problems: problems, NextCursor: next}
	for i, o := range list {
		out.ResourceTemplates[i] = proto.ResourceTemplate{
			Server: o.server, Namespace: o.namespace, URITemplate: o.text("uriTemplate"), Name: o.text("name"), Title: o.text("title"),
			Description: o.text("description"), MimeType: o.text("mimeType"),
		}
	}
	return out, nil
}

// Prompts is Resources for prompts.
func (p *Path) Prompts(ctx context.Context, req Request, q proto.OfferQuery) (*proto.Prompts, error) {
	list, problems, next, err := p.offers(ctx, req, catalog.Prompts, q)
	if err != nil {
		return nil, err
	}
	out := &proto.Prompts{Prompts: make([]proto.Prompt, len(list)), Problems: problems, NextCursor: next}
	for i, o := range list {
		one := proto.Prompt{
			Server: o.server, Namespace: o.namespace, Name: o.text("name"), Title: o.text("title"), Description: o.text("description"),
		}
		var arguments []map[string]json.RawMessage
		_ = json.Unmarshal(o.entry["arguments"], &arguments) // as in text
		for _, a := range arguments {
			given := offered{entry: a}
			if name := given.text("name"); name != "" {
				one.Arguments = append(one.Arguments, proto.OfferArgument{
					Name: name, Title: given.text("title"), Description: given.text("description"), Required: string(a["required"]) == "true",
				})
			}
		}
		out.Prompts[i] = one
	}
	return out, nil
}

// offers is a page of a list over one server or all.
func (p *Path) offers(ctx context.Context, req Request, kind catalog.Kind, q proto.OfferQuery) (page []offered, problems []proto.OfferProblem, next string, err error) {
	from := 0
	if q.Cursor != "" {
		if from, err = strconv.Atoi(q.Cursor); err != nil || from < 0 {
			return nil, nil, "", fault.New(fault.InvalidToolInput, "the cursor %q is none of this list", clip(q.Cursor, 50)).WithHint("take nextCursor of the page before")
		}
	}
	limit := q.Limit
	if limit <= 0 || limit > maxOffersPage {
		limit = maxOffersPage
	}
	parts, err := p.partsOf(ctx, req, kind, q.Server)
	if err != nil {
		return nil, nil, "", err
	}
	at := 0
	for _, part := range parts {
		switch {
		case part.Err != nil:
			problems = append(problems, proto.OfferProblem{Server: part.Server, Kind: string(part.Err.Kind), Message: part.Err.Message})
			continue
		case part.List.Cut != "":
			problems = append(problems, proto.OfferProblem{Server: part.Server, Message: part.List.Cut})
		}
		for _, o := range part.List.List {
			at++
			if at <= from {
				continue
			}
			if len(page) == limit {
				next = strconv.Itoa(from + limit)
				continue
			}
			var entry map[string]json.RawMessage
			_ = json.Unmarshal(o.Raw, &entry) // it was read as an object already
			page = append(page, offered{part.Server, part.Namespace, entry})
		}
	}
	return page, problems, next, nil
}

// partsOf are the lists of all servers, or of one, which must offer the kind.
func (p *Path) partsOf(ctx context.Context, req Request, kind catalog.Kind, server string) ([]OfferedBy, error) {
	if server == "" {
		return p.OfferedAll(ctx, req, kind), nil
	}
	req.Server = server
	list, err := p.Offered(ctx, req, kind, true)
	if err != nil {
		return nil, err
	}
	own := p.serverOf(req).Name // Offered has found it
	if hello, err := p.Hello(ctx, req); err == nil && hello != nil && !hello.Offers(kind) {
		what := "resources"
		if kind == catalog.Prompts {
			what = "prompts"
		}
		return nil, lacks(own, what)
	}
	return []OfferedBy{{Server: own, Namespace: p.namespaces.of(req.View).names[own], List: list}}, nil
}
