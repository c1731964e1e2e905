package api

import (
	"net/http"

	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// Route is one row of the table of contents of this API. The OpenAPI document
// is made of it, so what a row says about parameters and bodies is what callers
// are told.
type Route struct {
	Method string
	Path   string
	// Summary says in a line what the route does.
	Summary string
	serve   func(*Server, http.ResponseWriter, *http.Request, *peer.Caller) error
	// May is what the caller must be allowed to do; handlers that check against
	// the owner of what they touch leave it empty and use MayTouch.
	may peer.Action
	// query are the parameters of the URL that the route takes, besides those
	// that name the caller's place; others are refused.
	query []param
	// takes is the message in the request's body, and gives that of the answer,
	// as zero values; nil: there is none.
	takes, gives any
	// as is how the answer travels.
	as transport
	// work marks routes that a draining daemon refuses.
	work bool
	// stays marks routes whose connections may stay open for days: their work
	// passes the gate piece by piece.
	stays bool
	// body is the size limit; 0 means MaxBody.
	body int64
}

// transport is how an answer travels.
type transport int

const (
	asDocument transport = iota // one JSON document, or nothing
	asFrames                    // one JSON document, or frames where Accept says so
	asEvents                    // events until the caller goes
	asBytes                     // the bytes of a run
	asUpgrade                   // the connection becomes something else
	asMCP                       // as MCP has it; unknown parameters are ignored there
	asText                      // plain text
)

// param is one parameter of a URL.
type param struct {
	name  string
	kind  string // text, number, flag, time, texts (may be repeated)
	about string
}

const bridgePath = "/v1/bridge"

var (
	pageOfOffers = []param{
		{"server", "text", "of this server only; none: of all"},
		{"cursor", "text", "next of the answer before"},
		{"limit", "number", "entries at most"},
	}
	codeMode = []param{{"codemode", "flag", "false: every tool flat"}}
)

// table is every route; Routes gives it to tests and documents.
var table = []Route{
	{Method: "GET", Path: "/v1/health", Summary: "Protocol, build and process of the daemon",
		serve: (*Server).serveHealth, gives: proto.Health{}},
	{Method: "GET", Path: "/v1/openapi.json", Summary: "This document: every route, with the schemas of what it takes and gives",
		serve: (*Server).serveOpenAPI, gives: document(nil)},
	{Method: "GET", Path: "/v1/status", Summary: "What the daemon holds and runs",
		serve: (*Server).serveStatus, gives: proto.Status{}},
	{Method: "GET", Path: "/v1/caller", Summary: "Whom the daemon takes the caller for, and what that may do",
		serve: (*Server).serveCaller, gives: proto.CallerInfo{}},
	{Method: "POST", Path: "/v1/stop", Summary: "Stop the daemon",
		serve: (*Server).serveStop, may: peer.Stop, takes: proto.StopRequest{}, gives: proto.StopResult{}},
	{Method: "POST", Path: "/v1/trust", Summary: "Trust the files of a project, or a changed configuration",
		serve: (*Server).serveTrust, may: peer.Trust, takes: proto.TrustRequest{}, gives: proto.TrustResult{}},
	{Method: "GET", Path: "/v1/presets", Summary: "The permission settings in effect, and the presets",
		serve: (*Server).servePresets, gives: proto.Presets{}},
	{Method: "POST", Path: "/v1/presets", Summary: "Write the settings of a preset into the user's file",
		serve: (*Server).servePresetUse, may: peer.Presets, takes: proto.PresetUse{}, gives: proto.PresetUsed{}},

	{Method: "GET", Path: "/v1/servers", Summary: "The servers of the caller's directory",
		serve: (*Server).serveServers, gives: []proto.Server{}},
	{Method: "GET", Path: "/v1/servers/{name}", Summary: "One server with its tools",
		serve: (*Server).serveServer, gives: proto.Server{},
		query: []param{{"learn", "flag", "start one that was never listed"}}},
	{Method: "POST", Path: "/v1/servers/{name}/restart", Summary: "End the instances of a server and clear its crash loop",
		serve: (*Server).serveRestart, may: peer.Restart, gives: proto.Server{}},
	{Method: "GET", Path: "/v1/auth", Summary: "How the logins to remote servers stand",
		serve: (*Server).serveLogins, gives: []proto.Login{}},
	{Method: "POST", Path: "/v1/servers/{name}/auth", Summary: "Log in to a remote server, as frames: login for what the user has to do, then result or error",
		serve: (*Server).serveLogin, may: peer.Auth, takes: proto.LoginStart{}, gives: proto.Login{}, as: asFrames, work: true},
	{Method: "DELETE", Path: "/v1/servers/{name}/auth", Summary: "Log out of a remote server",
		serve: (*Server).serveLogout, may: peer.Auth, gives: proto.LoginEnded{}},
	{Method: "GET", Path: "/v1/search", Summary: "Find tools and saved scripts",
		serve: (*Server).serveSearch, gives: proto.SearchResult{},
		query: []param{
			{"query", "text", "words to look for; none: all are listed"},
			{"namespace", "text", "of this namespace only"},
			{"limit", "number", "entries at most"},
			{"offset", "number", "entries to pass over"},
		}},
	{Method: "GET", Path: "/v1/catalog", Summary: "The catalogue as text for a model",
		serve: (*Server).serveCatalog, gives: proto.Catalog{},
		query: []param{
			{"budget", "number", "tokens at most"},
			{"since", "text", "fingerprint of an earlier one: only what changed"},
			{"noStart", "flag", "start no server to learn its tools"},
		}},
	{Method: "GET", Path: "/v1/types", Summary: "TypeScript declarations of tools",
		serve: (*Server).serveTypes, gives: proto.Types{},
		query: []param{{"path", "texts", "a namespace or ns.tool; none: all"}}},
	{Method: "GET", Path: "/v1/resources", Summary: "Resources of the servers",
		serve: (*Server).serveResources, gives: proto.Resources{}, query: pageOfOffers},
	{Method: "GET", Path: "/v1/resources/templates", Summary: "Templates of resources",
		serve: (*Server).serveTemplates, gives: proto.ResourceTemplates{}, query: pageOfOffers},
	{Method: "GET", Path: "/v1/prompts", Summary: "Prompts of the servers",
		serve: (*Server).servePrompts, gives: proto.Prompts{}, query: pageOfOffers},

	{Method: "GET", Path: "/v1/scripts", Summary: "The saved scripts of the caller's directory",
		serve: (*Server).serveScripts, gives: []proto.Script{}},
	{Method: "GET", Path: "/v1/scripts/{name...}", Summary: "One saved script with its code",
		serve: (*Server).serveScript, gives: proto.Script{}},
	{Method: "POST", Path: "/v1/scripts", Summary: "Save a script, from code or from a run",
		serve: (*Server).serveScriptSave, takes: proto.ScriptSave{}, gives: proto.Script{}, body: MaxWorkBody},

	{Method: "GET", Path: "/v1/sessions", Summary: "Live sessions",
		serve: (*Server).serveSessions, gives: []proto.Session{}},
	{Method: "POST", Path: "/v1/sessions", Summary: "Make a named session, or join it",
		serve: (*Server).serveSessionCreate, takes: proto.SessionCreate{}, gives: proto.SessionTicket{}, work: true},
	{Method: "DELETE", Path: "/v1/sessions/{id}", Summary: "End a session, its children and what they hold",
		serve: (*Server).serveSessionEnd},
	{Method: "GET", Path: "/v1/leases", Summary: "Bindings of instances, and who waits for one",
		serve: (*Server).serveLeases, gives: []proto.Lease{}},
	{Method: "DELETE", Path: "/v1/leases/{id}", Summary: "End a binding and its instance, or a wait",
		serve: (*Server).serveRelease},

	{Method: "POST", Path: "/v1/call", Summary: "Call one tool",
		serve: (*Server).serveCall, takes: proto.CallRequest{}, gives: proto.CallResult{}, as: asFrames, work: true, body: MaxWorkBody},
	{Method: "POST", Path: "/v1/resources/read", Summary: "Read a resource",
		serve: (*Server).serveResourceRead, takes: proto.ResourceRead{}, gives: proto.CallResult{}, as: asFrames, work: true},
	{Method: "POST", Path: "/v1/prompts/get", Summary: "Fill a prompt in",
		serve: (*Server).servePromptGet, takes: proto.PromptGet{}, gives: proto.CallResult{}, as: asFrames, work: true},
	{Method: "POST", Path: "/v1/exec", Summary: "Run a program",
		serve: (*Server).serveExec, takes: proto.ExecRequest{}, gives: proto.RunResult{}, as: asFrames, work: true, body: MaxWorkBody},
	{Method: "GET", Path: "/v1/exec/attached", Summary: "Run a program whose process the caller executes (Upgrade: " + proto.UpgradeAttached + ")",
		serve: (*Server).serveAttached, as: asUpgrade, work: true},
	{Method: "GET", Path: "/v1/runs", Summary: "Runs, newest first",
		serve: (*Server).serveRuns, gives: []proto.Run{},
		query: []param{
			{"session", "text", "of this session"},
			{"live", "flag", "that run now"},
			{"status", "text", "running, ok, failed, cancelled or lost"},
			{"since", "time", "begun then or later"},
			{"server", "text", "that called this server"},
			{"tool", "text", "that called a tool of this name"},
			{"limit", "number", "rows at most"},
		}},
	{Method: "GET", Path: "/v1/runs/stats", Summary: "What came of calls",
		serve: (*Server).serveStats, gives: proto.RunStats{},
		query: []param{
			{"by", "text", "tool, server, script or kind"},
			{"since", "time", "of runs begun then or later"},
		}},
	{Method: "GET", Path: "/v1/runs/{id}", Summary: "One run with its result",
		serve: (*Server).serveRun, gives: proto.Run{}},
	{Method: "GET", Path: "/v1/runs/{id}/output", Summary: "The whole output of a run, or one of its artifacts",
		serve: (*Server).serveOutput, as: asBytes,
		query: []param{{"artifact", "text", "id of an artifact; none: the output"}}},
	{Method: "POST", Path: "/v1/runs/{id}/cancel", Summary: "End a run",
		serve: (*Server).serveCancel},

	{Method: "GET", Path: "/v1/approvals", Summary: "Questions that wait for a human",
		serve: (*Server).serveApprovals, gives: []proto.Approval{}},
	{Method: "POST", Path: "/v1/approvals/{id}", Summary: "Answer a question that waits",
		serve: (*Server).serveApproval, may: peer.Approve, takes: proto.ApprovalReply{}},
	{Method: "POST", Path: "/v1/questions/{id}", Summary: "Answer what a server asks in the middle of a call",
		serve: (*Server).serveAnswer, may: peer.Approve, takes: proto.Answer{}, body: MaxWorkBody},
	{Method: "GET", Path: "/v1/events", Summary: "What happens in the daemon, as it happens",
		serve: (*Server).serveEvents, gives: proto.Event{}, as: asEvents,
		query: []param{{"types", "text", "of these types, with commas; none: all"}}},
	{Method: "GET", Path: bridgePath, Summary: "The WebSocket of plugins in a host",
		serve: (*Server).serveBridge, as: asUpgrade, work: true, stays: true},

	{Method: "GET", Path: "/metrics", Summary: "The daemon in numbers, for Prometheus",
		serve: (*Server).serveMetrics, as: asText},

	{Method: "POST", Path: "/mcp", Summary: "MCP over Streamable HTTP: one message",
		serve: (*Server).serveMCP, query: codeMode, as: asMCP, work: true, stays: true, body: MaxWorkBody},
	{Method: "GET", Path: "/mcp", Summary: "An MCP client's stream of notifications",
		serve: (*Server).serveMCP, query: codeMode, as: asMCP, work: true, stays: true},
	{Method: "DELETE", Path: "/mcp", Summary: "End an MCP client's connection",
		serve: (*Server).serveMCP, as: asMCP, work: true, stays: true},
	{Method: "POST", Path: "/mcp/{server}", Summary: "MCP with one server, passed through: one message",
		serve: (*Server).serveMCP, as: asMCP, work: true, stays: true, body: MaxWorkBody},
	{Method: "GET", Path: "/mcp/{server}", Summary: "The stream of a client of one server",
		serve: (*Server).serveMCP, as: asMCP, work: true, stays: true},
	{Method: "DELETE", Path: "/mcp/{server}", Summary: "End the connection of a client of one server",
		serve: (*Server).serveMCP, as: asMCP, work: true, stays: true},
}

// Routes lists every route.
func Routes() []Route { return append([]Route(nil), table...) }
