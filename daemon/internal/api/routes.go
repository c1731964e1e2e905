package api

import (
	"net/http"

	"tenon/daemon/internal/peer"
)

// Route is one row of the table of contents of this API.
type Route struct {
	Method string
	Path   string
	serve  func(*Server, http.ResponseWriter, *http.Request, *peer.Caller) error
	// May is what the caller must be allowed to do; handlers that check against
	// the owner of what they touch leave it empty and use MayTouch.
	may peer.Action
	// work marks routes that a draining daemon refuses.
	work bool
	// stays marks routes whose connections may stay open for days: their work
	// passes the gate piece by piece.
	stays bool
	// body is the size limit; 0 means MaxBody.
	body int64
}

const bridgePath = "/v1/bridge"

// table is every route; Routes gives it to tests and documents.
var table = []Route{
	{Method: "GET", Path: "/v1/health", serve: (*Server).serveHealth},
	{Method: "GET", Path: "/v1/status", serve: (*Server).serveStatus},
	{Method: "GET", Path: "/v1/caller", serve: (*Server).serveCaller},
	{Method: "POST", Path: "/v1/stop", serve: (*Server).serveStop, may: peer.Stop},
	{Method: "POST", Path: "/v1/trust", serve: (*Server).serveTrust, may: peer.Trust},
	{Method: "GET", Path: "/v1/presets", serve: (*Server).servePresets},
	{Method: "POST", Path: "/v1/presets", serve: (*Server).servePresetUse, may: peer.Presets},

	{Method: "GET", Path: "/v1/servers", serve: (*Server).serveServers},
	{Method: "GET", Path: "/v1/servers/{name}", serve: (*Server).serveServer},
	{Method: "POST", Path: "/v1/servers/{name}/restart", serve: (*Server).serveRestart, may: peer.Restart},
	{Method: "GET", Path: "/v1/search", serve: (*Server).serveSearch},
	{Method: "GET", Path: "/v1/catalog", serve: (*Server).serveCatalog},
	{Method: "GET", Path: "/v1/types", serve: (*Server).serveTypes},
	{Method: "GET", Path: "/v1/resources", serve: (*Server).serveResources},
	{Method: "GET", Path: "/v1/resources/templates", serve: (*Server).serveTemplates},
	{Method: "GET", Path: "/v1/prompts", serve: (*Server).servePrompts},

	{Method: "GET", Path: "/v1/scripts", serve: (*Server).serveScripts},
	{Method: "GET", Path: "/v1/scripts/{name...}", serve: (*Server).serveScript},
	{Method: "POST", Path: "/v1/scripts", serve: (*Server).serveScriptSave, body: MaxWorkBody},

	{Method: "GET", Path: "/v1/sessions", serve: (*Server).serveSessions},
	{Method: "POST", Path: "/v1/sessions", serve: (*Server).serveSessionCreate, work: true},
	{Method: "DELETE", Path: "/v1/sessions/{id}", serve: (*Server).serveSessionEnd},
	{Method: "GET", Path: "/v1/leases", serve: (*Server).serveLeases},
	{Method: "DELETE", Path: "/v1/leases/{id}", serve: (*Server).serveRelease},

	{Method: "POST", Path: "/v1/call", serve: (*Server).serveCall, work: true, body: MaxWorkBody},
	{Method: "POST", Path: "/v1/resources/read", serve: (*Server).serveResourceRead, work: true},
	{Method: "POST", Path: "/v1/prompts/get", serve: (*Server).servePromptGet, work: true},
	{Method: "POST", Path: "/v1/exec", serve: (*Server).serveExec, work: true, body: MaxWorkBody},
	{Method: "GET", Path: "/v1/exec/attached", serve: (*Server).serveAttached, work: true},
	{Method: "GET", Path: "/v1/runs", serve: (*Server).serveRuns},
	{Method: "GET", Path: "/v1/runs/stats", serve: (*Server).serveStats},
	{Method: "GET", Path: "/v1/runs/{id}", serve: (*Server).serveRun},
	{Method: "GET", Path: "/v1/runs/{id}/output", serve: (*Server).serveOutput},
	{Method: "POST", Path: "/v1/runs/{id}/cancel", serve: (*Server).serveCancel},

	{Method: "GET", Path: "/v1/approvals", serve: (*Server).serveApprovals},
	{Method: "POST", Path: "/v1/approvals/{id}", serve: (*Server).serveApproval, may: peer.Approve},
	{Method: "POST", Path: "/v1/questions/{id}", serve: (*Server).serveAnswer, may: peer.Approve, body: MaxWorkBody},
	{Method: "GET", Path: "/v1/events", serve: (*Server).serveEvents},
	{Method: "GET", Path: bridgePath, serve: (*Server).serveBridge, work: true, stays: true},

	{Method: "POST", Path: "/mcp", serve: (*Server).serveMCP, work: true, stays: true, body: MaxWorkBody},
	{Method: "GET", Path: "/mcp", serve: (*Server).serveMCP, work: true, stays: true},
	{Method: "DELETE", Path: "/mcp", serve: (*Server).serveMCP, work: true, stays: true},
	{Method: "POST", Path: "/mcp/{server}", serve: (*Server).serveMCP, work: true, stays: true, body: MaxWorkBody},
	{Method: "GET", Path: "/mcp/{server}", serve: (*Server).serveMCP, work: true, stays: true},
	{Method: "DELETE", Path: "/mcp/{server}", serve: (*Server).serveMCP, work: true, stays: true},
}

// Routes lists every route.
func Routes() []Route { return append([]Route(nil), table...) }
