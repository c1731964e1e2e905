package proto

import "encoding/json"

// Headers by which a caller names itself and the place it speaks for.
const (
	HeaderSession  = "Tenon-Session"
	HeaderTicket   = "Tenon-Ticket"
	HeaderDir      = "Tenon-Dir"      // also ?dir=
	HeaderConfig   = "Tenon-Config"   // also ?config=
	HeaderEnv      = "Tenon-Env"      // base64url of a JSON object: the caller's variables
	HeaderProtocol = "Tenon-Protocol" // number; both directions
	HeaderBuild    = "Tenon-Build"    // version, commit, id and time of the executable; both directions

	HeaderInteractive = "Tenon-Interactive" // "1": somebody at a terminal can answer a question
	HeaderDraining    = "Tenon-Draining"    // in answers, "1": not carried out, the daemon is about to go
	// In refusals of POST /v1/exec that said where, "1": nothing was run, since
	// the program is to be executed beside its caller, who attaches for that.
	HeaderAttach = "Tenon-Attach"
)

// UpgradeMCP is the protocol that GET /mcp is upgraded to by tenon mcp: MCP
// messages, one a line, in both directions.
const UpgradeMCP = "tenon-mcp"

// Health is GET /v1/health: the hello of the REST side.
type Health struct {
	Protocol int    `json:"protocol"`
	Build    Build  `json:"build"`
	PID      int    `json:"pid"`
	Started  string `json:"started"` // RFC 3339
	UID      int    `json:"uid"`
	Draining bool   `json:"draining"`
}

// CallRequest is POST /v1/call, answered with CallResult.
type CallRequest struct {
	Server        string          `json:"server"`
	Tool          string          `json:"tool"`
	Arguments     json.RawMessage `json:"arguments,omitempty"`
	Cwd           string          `json:"cwd,omitempty"`
	CallTimeoutMS int64           `json:"callTimeoutMs,omitempty"`
	Raw           bool            `json:"raw,omitempty"`
}

// Server is one row of GET /v1/servers.
type Server struct {
	Name         string     `json:"name"`
	Namespace    string     `json:"namespace"`
	Status       string     `json:"status"` // idle, starting, ready, failed, crash-loop, needs-auth, disabled, untrusted, invalid
	Detail       string     `json:"detail,omitempty"`
	Scope        string     `json:"scope"`
	Kind         string     `json:"kind"`              // stdio, http, sse
	Origin       string     `json:"origin"`            // file:line
	Command      []string   `json:"command,omitempty"` // as written: placeholders unexpanded
	URL          string     `json:"url,omitempty"`
	Instances    []Instance `json:"instances"`
	MaxInstances int        `json:"maxInstances"`
	Tools        []Tool     `json:"tools,omitempty"`
	ToolCount    int        `json:"toolCount"`
	Restarts     int        `json:"restarts"`
	Warnings     []string   `json:"warnings,omitempty"`
}

// Instance is one running connection to a server.
type Instance struct {
	ID       string `json:"id"`
	Server   string `json:"server"`
	State    string `json:"state"` // starting, ready, busy, doubtful, draining, dying
	PID      int    `json:"pid,omitempty"`
	Since    string `json:"since"`
	InFlight int    `json:"inFlight"`
	Calls    int64  `json:"calls"`
	Spare    bool   `json:"spare"`
	Protocol string `json:"protocol,omitempty"`
	Noise    string `json:"noise,omitempty"` // a sample of what it printed that is not MCP
}

// Tool is one tool of a server.
type Tool struct {
	Name         string          `json:"name"`
	Path         string          `json:"path"` // tools.<ns>.<tool> as a program writes it
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Returns      string          `json:"returns"`              // where the type of its results is from: declared, learned, unknown
	ResultType   string          `json:"resultType,omitempty"` // in TypeScript, in short; absent: unknown
	Results      int             `json:"results,omitempty"`    // how many results a learned type was made of
}

// Session is one row of GET /v1/sessions.
type Session struct {
	ID        string   `json:"id"`
	Root      string   `json:"root"`
	Parent    string   `json:"parent,omitempty"`
	Children  []string `json:"children,omitempty"`
	Host      string   `json:"host"`  // opencode-v1, cli, mcp, …
	State     string   `json:"state"` // provisional, attached, named, ephemeral, directory, ending
	Directory string   `json:"directory,omitempty"`
	Agent     string   `json:"agent,omitempty"`
	Title     string   `json:"title,omitempty"`
	Since     string   `json:"since"`
	LastUsed  string   `json:"lastUsed"`
	Runs      int      `json:"runs"`
	Leases    int      `json:"leases"`
	EndsAt    string   `json:"endsAt,omitempty"`
	Note      string   `json:"note,omitempty"`
}

// Lease is one row of GET /v1/leases: a binding, or somebody who waits for one.
type Lease struct {
	ID       string `json:"id"`
	Server   string `json:"server"`
	Scope    string `json:"scope"`
	Key      string `json:"key"`
	Session  string `json:"session,omitempty"`
	Instance string `json:"instance,omitempty"`
	State    string `json:"state"` // held, in-use, waiting
	Uses     int    `json:"uses"`
	Since    string `json:"since"`
	LastUsed string `json:"lastUsed,omitempty"`
	Reason   string `json:"reason,omitempty"` // why it waits, or why it is kept
	Ends     string `json:"ends,omitempty"`   // when it would be evicted
}

// Run is one row of GET /v1/runs.
type Run struct {
	ID      string      `json:"id"`
	Session string      `json:"session"`
	Status  string      `json:"status"` // running, ok, failed, cancelled, lost
	Kind    string      `json:"kind,omitempty"`
	Surface string      `json:"surface"`
	Engine  string      `json:"engine"`
	Cwd     string      `json:"cwd"`
	Code    string      `json:"code,omitempty"` // head only in lists
	Started string      `json:"started"`
	Ended   string      `json:"ended,omitempty"`
	Calls   int         `json:"calls"`
	Waiting string      `json:"waiting,omitempty"`
	Options *RunOptions `json:"options,omitempty"`
	Result  *RunResult  `json:"result,omitempty"`
}

// RunOptions is how a run was executed, as its request and the settings had it.
type RunOptions struct {
	Sandbox   string `json:"sandbox,omitempty"`   // the mode that the program was held to
	Typecheck string `json:"typecheck,omitempty"` // off, warn, strict
	Where     string `json:"where,omitempty"`     // local: beside its caller; remote: in the daemon
	Script    string `json:"script,omitempty"`    // the saved script that was run
	Export    string `json:"export,omitempty"`    // the export of it

	Args  []string        `json:"args,omitempty"`  // what it was given, as far as it is short
	Input json.RawMessage `json:"input,omitempty"` // the same; absent: none, or a long one
	Piped bool            `json:"piped,omitempty"` // it had standard input, which is not kept

	Limits *RunLimits `json:"limits,omitempty"` // that it was asked for
	Cut    []string   `json:"cut,omitempty"`    // code, given: what was too long to be kept whole
}

// IsZero reports whether nothing is known.
func (o RunOptions) IsZero() bool {
	return o.Sandbox+o.Typecheck+o.Where+o.Script+o.Export == "" && len(o.Args) == 0 && len(o.Input) == 0 && o.Limits == nil && len(o.Cut) == 0 && !o.Piped
}

// Approval is one row of GET /v1/approvals: a call that must be approved, or what
// a server asks in the middle of one.
type Approval struct {
	ID        string          `json:"id"`
	Session   string          `json:"session"`
	Root      string          `json:"root"`
	Run       string          `json:"run,omitempty"`
	Key       string          `json:"key"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Since     string          `json:"since"`
	Deadline  string          `json:"deadline"`
	Shown     string          `json:"shown,omitempty"`  // where it is before a user
	Reason    string          `json:"reason"`           // the rule that asks
	Kind      string          `json:"kind,omitempty"`   // form or page, which a server asks; absent: a call that must be approved
	Params    json.RawMessage `json:"params,omitempty"` // of a form or page: those of MCP's elicitation/create, as the server sent them
}

// ApprovalReply is POST /v1/approvals/{id}.
type ApprovalReply struct {
	Decision string          `json:"decision"` // approve, always, deny
	Feedback string          `json:"feedback,omitempty"`
	Content  json.RawMessage `json:"content,omitempty"` // with approve, of a form: an object with the values of its fields
}

// SearchResult is GET /v1/search and catalog/search.
type SearchResult struct {
	Items     []SearchItem `json:"items"`
	Total     int          `json:"total"`
	Remaining int          `json:"remaining"`
	Next      *SearchNext  `json:"next"`
}

// SearchItem is one tool or saved script found. Of a script, path is what a
// program calls it by, as run("name"), and server and tool are empty.
type SearchItem struct {
	Kind        string `json:"kind,omitempty"` // tool or script; absent: tool
	Path        string `json:"path"`
	Server      string `json:"server"`
	Tool        string `json:"tool"`
	Signature   string `json:"signature"`
	Description string `json:"description,omitempty"`
}

// SearchNext is where the next page starts.
type SearchNext struct {
	Offset int `json:"offset"`
}

// Search is the query of catalog/search.
type Search struct {
	Session   string `json:"session,omitempty"`
	Directory string `json:"directory,omitempty"`
	Query     string `json:"query"`
	Namespace string `json:"namespace,omitempty"`
	Limit     int    `json:"limit,omitempty"`
	Offset    int    `json:"offset,omitempty"`
}

// CatalogQuery is the query of GET /v1/catalog and catalog/get.
type CatalogQuery struct {
	Session   string `json:"session,omitempty"`
	Directory string `json:"directory,omitempty"`
	Budget    int    `json:"budget,omitempty"` // tokens that the text may cost; 0: 2000
	Since     string `json:"since,omitempty"`  // fingerprint of the catalogue that the asker has
	// NoStart starts no server: one that was never listed is named as such.
	NoStart bool `json:"noStart,omitempty"`
}

// Catalog is GET /v1/catalog and catalog/get: what tools there are, as a text
// for a model.
type Catalog struct {
	Text        string `json:"text"`
	Fingerprint string `json:"fingerprint"` // send it as since to get what changed
	Partial     bool   `json:"partial"`     // the budget did not hold every tool
	Delta       bool   `json:"delta"`       // text is what changed since, not the whole
	Tokens      int    `json:"tokens"`      // estimate of what the text costs
	Total       int    `json:"total"`       // tools there are
	Shown       int    `json:"shown"`       // tools whose signature is in the text
}

// TypesQuery is the query of GET /v1/types and catalog/types.
type TypesQuery struct {
	Session   string   `json:"session,omitempty"`
	Directory string   `json:"directory,omitempty"`
	Paths     []string `json:"paths,omitempty"` // namespaces, or ns.tool; none: all
}

// Types is GET /v1/types and catalog/types: TypeScript declarations of tools.
type Types struct {
	Text     string   `json:"text"`               // always parses
	Warnings []string `json:"warnings,omitempty"` // parts of schemas that became unknown: tool, JSON pointer, reason
}

// SessionStatus is what tenon_status shows.
type SessionStatus struct {
	Session   Session    `json:"session"`
	Leases    []Lease    `json:"leases"`
	Runs      []Run      `json:"runs"`
	Approvals []Approval `json:"approvals"`
	Text      string     `json:"text"` // what a model sees
}

// Status is GET /v1/status.
type Status struct {
	Health    Health    `json:"health"`
	Socket    string    `json:"socket"`
	Config    []string  `json:"config"` // files in effect
	Problems  []Problem `json:"problems"`
	Sessions  int       `json:"sessions"`
	Instances int       `json:"instances"`
	Runs      int       `json:"runs"`
	Approvals int       `json:"approvals"`
	Bridges   []Bridge  `json:"bridges"`
	Engines   []Engine  `json:"engines"`
	Sandbox   *Sandbox  `json:"sandbox,omitempty"` // what processes can be held to here
	RSSBytes  int64     `json:"rssBytes"`
}

// Bridge is one connected plugin.
type Bridge struct {
	Connection string `json:"connection"`
	Plugin     string `json:"plugin"`
	Build      Build  `json:"build"`
	Host       string `json:"host"`
	PID        int    `json:"pid"`
	Directory  string `json:"directory"`
}

// Engine is one way to execute a program on this machine.
type Engine struct {
	Name      string `json:"name"`
	Version   string `json:"version,omitempty"`
	Path      string `json:"path,omitempty"`
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"`
}

// Sandbox is what a process can be held to on this machine.
type Sandbox struct {
	Modes    []string `json:"modes"`            // that can be enforced, strictest first
	Landlock int      `json:"landlock"`         // version of the kernel's; 0: none
	Reason   string   `json:"reason,omitempty"` // why the others cannot
	Gaps     []string `json:"gaps,omitempty"`   // what strict modes leave open on this kernel
}

// Event is one frame of GET /v1/events.
type Event struct {
	Seq  int64           `json:"seq"`
	Type string          `json:"type"` // session, lease, instance, run, approval, config, daemon
	Time string          `json:"time"`
	Data json.RawMessage `json:"data"`
}

// CallerInfo is GET /v1/caller: how the daemon sees the one who asks.
type CallerInfo struct {
	Class   string   `json:"class"` // user, session, stranger
	Session string   `json:"session,omitempty"`
	May     []string `json:"may"` // actions this caller is allowed
}

// SessionCreate is POST /v1/sessions: makes a named session, or joins it.
type SessionCreate struct {
	ID        string `json:"id"`
	Directory string `json:"directory,omitempty"`
}

// SessionTicket answers SessionCreate.
type SessionTicket struct {
	Session Session `json:"session"`
	Ticket  string  `json:"ticket"`
}

// StopRequest is POST /v1/stop.
type StopRequest struct {
	WhenIdle bool   `json:"whenIdle,omitempty"` // only once no run, question or stateful binding is alive
	Force    bool   `json:"force,omitempty"`    // cancel what runs instead of waiting for it
	Reason   string `json:"reason,omitempty"`
}

// StopResult answers StopRequest: what the stop ends or waits for.
type StopResult struct {
	PID      int  `json:"pid"`
	Runs     int  `json:"runs"`
	Leases   int  `json:"leases"`
	Sessions int  `json:"sessions"`
	Stopping bool `json:"stopping"` // false: it goes on until it is idle
}

// TrustRequest is POST /v1/trust: trusts the project files of a directory, or
// accepts looser permissions of the user's own file.
type TrustRequest struct {
	Directory string `json:"directory,omitempty"`
	Config    bool   `json:"config,omitempty"`
	Look      bool   `json:"look,omitempty"`   // only says what a directory's files would start
	Digest    string `json:"digest,omitempty"` // of what was looked at: anything else is refused
}

// TrustResult answers TrustRequest.
type TrustResult struct {
	Path    string   `json:"path"`
	Trusted bool     `json:"trusted"`
	Changed bool     `json:"changed"` // by this request
	Digest  string   `json:"digest,omitempty"`
	Files   []string `json:"files"`
	Servers []Server `json:"servers"` // what is or would be started; status is its kind: server, import or script
}
