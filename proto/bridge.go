package proto

import "encoding/json"

// Methods of the bridge (JSON-RPC 2.0 over WebSocket at GET /v1/bridge).
const (
	// Plugin to daemon.
	MethodHello         = "bridge/hello"
	MethodAttach        = "session/attach"
	MethodDetach        = "session/detach"
	MethodRunStart      = "run/start"
	MethodRunCancel     = "run/cancel"
	MethodCallStart     = "call/start"
	MethodStatusGet     = "status/get"
	MethodCatalogSearch = "catalog/search"
	MethodCatalogGet    = "catalog/get"
	MethodCatalogTypes  = "catalog/types"
	MethodRulesChanged  = "rules/changed"
	MethodToolOutcome   = "tool/outcome"
	// Notification from plugin to daemon: the question is before the user.
	MethodAskShown = "permission/shown"

	// Daemon to plugin.
	MethodResolve  = "session/resolve"
	MethodAsk      = "permission/ask"
	MethodWithdraw = "permission/withdraw" // of both kinds of question
	MethodQuestion = "elicitation/ask"
	MethodNotice   = "notice/show"
	MethodRunEvent = "run/event" // notification, Frame
	// Notification: a list of tools that this host could see has changed.
	MethodCatalogChanged = "catalog/changed"

	// Both.
	MethodCancelRequest = "$/cancelRequest" // notification {id}
)

// Hello opens a bridge; the daemon answers HelloResult. Either side that cannot
// speak the other's Protocol answers a ProtocolMismatch error naming both.
type Hello struct {
	Protocol    int               `json:"protocol"`
	Build       Build             `json:"build"`
	Plugin      string            `json:"plugin"` // opencode-tenon, opencode-tenon-v2
	Host        string            `json:"host"`   // opencode-v1, opencode-v2
	HostVersion string            `json:"hostVersion,omitempty"`
	Runtime     string            `json:"runtime,omitempty"` // "bun 1.3.14"
	PID         int               `json:"pid"`
	Directory   string            `json:"directory"`
	Worktree    string            `json:"worktree,omitempty"`
	Interactive bool              `json:"interactive"` // somebody sees questions here
	Config      string            `json:"config,omitempty"`
	Events      bool              `json:"events,omitempty"` // send run/event
	Env         map[string]string `json:"env"`              // allow-listed variables of the host
}

// HelloResult answers Hello.
type HelloResult struct {
	Protocol   int      `json:"protocol"`
	Build      Build    `json:"build"`
	PID        int      `json:"pid"`
	Connection string   `json:"connection"` // id of this bridge, for logs
	Socket     string   `json:"socket"`
	HostTicket string   `json:"hostTicket"`
	Wants      []string `json:"wants"`   // environment variables this directory's view names
	Session    string   `json:"session"` // the directory's terminal session, "dir:<hash>"
	Ticket     string   `json:"ticket"`  // its ticket
}

// Rule is one of the host's permission rules, as the host orders them: the
// last one that matches wins.
type Rule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     string `json:"action"` // allow, deny, ask
}

// RuleList is the host's ordered list for one leaf session and agent. A list
// not confirmed current (Confirmed false) counts as "ask".
type RuleList struct {
	Version   string `json:"version"` // changes whenever the list does
	Agent     string `json:"agent"`
	Confirmed bool   `json:"confirmed"`
	Rules     []Rule `json:"rules"`
}

// Attach tells the daemon about a session. Sending it again with the same
// content changes nothing.
type Attach struct {
	Session   string            `json:"session"`
	Parent    string            `json:"parent,omitempty"`
	Directory string            `json:"directory"`
	Agent     string            `json:"agent,omitempty"`
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Rules     *RuleList         `json:"rules,omitempty"`
}

// AttachResult answers Attach.
type AttachResult struct {
	Session string `json:"session"`
	Root    string `json:"root"`
	Ticket  string `json:"ticket"`
	Socket  string `json:"socket"`
}

// Detach ends this bridge's claim on a session. Deleted means the host deleted
// it: bindings end at once; otherwise they keep their grace.
type Detach struct {
	Session string `json:"session"`
	Deleted bool   `json:"deleted"`
}

// Origin is the host's own name of the tool call a run or call belongs to.
type Origin struct {
	Session string `json:"session"`
	Message string `json:"message,omitempty"`
	Call    string `json:"call,omitempty"`
	Agent   string `json:"agent,omitempty"`
}

// TextLimits bounds the text made for a model; the marker is included.
type TextLimits struct {
	Bytes int `json:"bytes,omitempty"`
	Lines int `json:"lines,omitempty"`
}

// RunStart starts a program and is answered with RunStarted when it ends.
// Cancel it with $/cancelRequest.
type RunStart struct {
	Origin    Origin          `json:"origin"`
	Directory string          `json:"directory"`
	Code      string          `json:"code"`
	Engine    string          `json:"engine,omitempty"`
	TimeoutMS int64           `json:"timeoutMs,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Rules     *RuleList       `json:"rules,omitempty"`
	Text      TextLimits      `json:"text"`
}

// RunDone answers RunStart.
type RunDone struct {
	Result RunResult `json:"result"`
	Text   string    `json:"text"` // what the model sees
}

// RunCancel cancels somebody else's run (one's own: $/cancelRequest).
type RunCancel struct {
	Run    string `json:"run"`
	Reason string `json:"reason,omitempty"`
}

// CallStart makes one call and is answered with CallResult.
type CallStart struct {
	Origin    Origin          `json:"origin"`
	Directory string          `json:"directory"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Rules     *RuleList       `json:"rules,omitempty"`
	Text      TextLimits      `json:"text"`
}

// StatusGet asks for one session's state; answered with SessionStatus.
type StatusGet struct {
	Session string `json:"session"`
}

// RulesChanged replaces the rules of one attached session.
type RulesChanged struct {
	Session string   `json:"session"`
	Rules   RuleList `json:"rules"`
}

// ToolOutcome records the outcome of one of the host's own tools.
type ToolOutcome struct {
	Origin Origin `json:"origin"`
	Tool   string `json:"tool"`
	Status string `json:"status"` // ok, error
	MS     int64  `json:"ms,omitempty"`
	Title  string `json:"title,omitempty"`
}

// Resolve asks the host who a session is; answered with Resolved within 1 s.
type Resolve struct {
	Session string `json:"session"`
}

// Resolved answers Resolve. Known false means the host does not know it.
type Resolved struct {
	Known     bool      `json:"known"`
	Session   string    `json:"session"`
	Parent    string    `json:"parent,omitempty"`
	Root      string    `json:"root,omitempty"`
	Directory string    `json:"directory,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Rules     *RuleList `json:"rules,omitempty"`
}

// Ask puts one call to the host's user; answered with AskReply.
type Ask struct {
	ID        string          `json:"id"`
	Origin    Origin          `json:"origin"`
	Run       string          `json:"run,omitempty"`
	Key       string          `json:"key"`                // <server>_<tool>, exact
	Resource  string          `json:"resource,omitempty"` // what the host's patterns are matched against, a URL; absent: "*"
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // shortened, secrets masked
	Deadline  string          `json:"deadline,omitempty"`  // RFC 3339
}

// AskReply answers Ask. "always" is for tenon to remember; a host that remembers
// by itself says "once".
type AskReply struct {
	Reply    string `json:"reply"` // once, always, reject, unavailable
	Feedback string `json:"feedback,omitempty"`
	Denied   bool   `json:"denied,omitempty"` // a rule of the host denied it; nobody was asked
}

// Question is what a server asks in the middle of a call; answered with Answer.
// The host validates nothing: the daemon holds the result against what was
// asked. Like an Ask it is acknowledged with permission/shown within 2 s, or
// the next who could answer is asked, and is taken back with
// permission/withdraw.
type Question struct {
	ID       string          `json:"id"`
	Origin   Origin          `json:"origin"`
	Run      string          `json:"run,omitempty"`
	Server   string          `json:"server"`
	Tool     string          `json:"tool"`
	Kind     string          `json:"kind"`               // elicitation, sampling
	Params   json.RawMessage `json:"params"`             // of MCP's elicitation/create or sampling/createMessage; upstream text, never to be printed raw
	Deadline string          `json:"deadline,omitempty"` // RFC 3339
}

// Answer answers Question: either the result, or why nobody could be asked.
type Answer struct {
	Result      json.RawMessage `json:"result,omitempty"` // of the same MCP method
	Unavailable string          `json:"unavailable,omitempty"`
}

// AskShown says that the question is before the user.
type AskShown struct {
	ID string `json:"id"`
}

// Withdraw takes a question back; idempotent.
type Withdraw struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// Notice shows a short message to the user.
type Notice struct {
	Level   string `json:"level"` // info, success, warning, error
	Message string `json:"message"`
	Session string `json:"session,omitempty"`
}

// CancelRequest is the parameter of $/cancelRequest.
type CancelRequest struct {
	ID     json.RawMessage `json:"id"`
	Reason string          `json:"reason,omitempty"` // user, timeout, …
}
