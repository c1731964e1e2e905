package proto

import "encoding/json"

// OfferArgument is an argument of a prompt.
type OfferArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Resource is one resource of a server.
type Resource struct {
	Server      string `json:"server"`
	Namespace   string `json:"namespace"` // of the server, as programs write it
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MimeType    string `json:"mimeType,omitempty"`
	Size        int64  `json:"size,omitempty"` // bytes; absent: not told
}

// ResourceTemplate makes URIs of resources.
type ResourceTemplate struct {
	Server      string `json:"server"`
	Namespace   string `json:"namespace"`   // as in Resource
	URITemplate string `json:"uriTemplate"` // RFC 6570
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MimeType    string `json:"mimeType,omitempty"`
}

// Prompt is one prompt of a server.
type Prompt struct {
	Server      string          `json:"server"`
	Namespace   string          `json:"namespace"` // as in Resource
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Arguments   []OfferArgument `json:"arguments"`
}

// OfferProblem is why a list lacks something of a server.
type OfferProblem struct {
	Server  string `json:"server"`
	Kind    string `json:"kind,omitempty"` // of the failure; absent: the list goes on, but not in here
	Message string `json:"message"`
}

// Resources is GET /v1/resources.
type Resources struct {
	Resources  []Resource     `json:"resources"`
	Problems   []OfferProblem `json:"problems"`
	NextCursor string         `json:"nextCursor,omitempty"` // absent: this is the last page
}

// ResourceTemplates is GET /v1/resources/templates.
type ResourceTemplates struct {
	ResourceTemplates []ResourceTemplate `json:"resourceTemplates"`
	Problems          []OfferProblem     `json:"problems"`
	NextCursor        string             `json:"nextCursor,omitempty"` // as in Resources
}

// Prompts is GET /v1/prompts.
type Prompts struct {
	Prompts    []Prompt       `json:"prompts"`
	Problems   []OfferProblem `json:"problems"`
	NextCursor string         `json:"nextCursor,omitempty"` // as in Resources
}

// OfferQuery is what a list of resources, templates or prompts is asked with.
type OfferQuery struct {
	Server string `json:"server,omitempty"` // its name or namespace; absent: all servers
	Cursor string `json:"cursor,omitempty"` // NextCursor of the page before
	Limit  int    `json:"limit,omitempty"`  // entries on a page; 0: 1,000, which is the most
}

// ResourceRead is POST /v1/resources/read.
type ResourceRead struct {
	URI           string `json:"uri"`
	Server        string `json:"server,omitempty"` // absent: the one that has it
	Raw           bool   `json:"raw,omitempty"`    // also the server's answer as it came
	Cwd           string `json:"cwd,omitempty"`
	CallTimeoutMS int64  `json:"callTimeoutMs,omitempty"`
}

// PromptGet is POST /v1/prompts/get.
type PromptGet struct {
	Name          string          `json:"name"`
	Arguments     json.RawMessage `json:"arguments,omitempty"` // an object of texts
	Server        string          `json:"server,omitempty"`    // absent: the one that has it
	Raw           bool            `json:"raw,omitempty"`       // as in ResourceRead
	Cwd           string          `json:"cwd,omitempty"`
	CallTimeoutMS int64           `json:"callTimeoutMs,omitempty"`
}

// MarshalJSON writes absent lists as empty arrays.
func (p Prompt) MarshalJSON() ([]byte, error) {
	type plain Prompt
	p.Arguments = list(p.Arguments)
	return Marshal(plain(p))
}

// MarshalJSON writes absent lists as empty arrays.
func (r Resources) MarshalJSON() ([]byte, error) {
	type plain Resources
	r.Resources, r.Problems = list(r.Resources), list(r.Problems)
	return Marshal(plain(r))
}

// MarshalJSON writes absent lists as empty arrays.
func (r ResourceTemplates) MarshalJSON() ([]byte, error) {
	type plain ResourceTemplates
	r.ResourceTemplates, r.Problems = list(r.ResourceTemplates), list(r.Problems)
	return Marshal(plain(r))
}

// MarshalJSON writes absent lists as empty arrays.
func (p Prompts) MarshalJSON() ([]byte, error) {
	type plain Prompts
	p.Prompts, p.Problems = list(p.Prompts), list(p.Problems)
	return Marshal(plain(p))
}
