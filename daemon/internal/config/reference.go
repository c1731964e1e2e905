package config

import (
	"fmt"
	"strings"

	"tenon/daemon/internal/outbound"
)

// KeyType is the form of a key's value.
type KeyType string

// The forms of values. A duration is written "10m", a size "64KiB".
const (
	TypeString   KeyType = "string"
	TypeStrings  KeyType = "list of strings"
	TypeCommand  KeyType = "string or list of strings"
	TypeMap      KeyType = "names with strings"
	TypeDuration KeyType = "duration"
	TypeSize     KeyType = "size"
	TypeCount    KeyType = "whole number"
	TypeCounts   KeyType = "list of whole numbers"
	TypeBool     KeyType = "true or false"
	TypeSection  KeyType = "section"
	TypeNamed    KeyType = "section of named entries"
	TypeHook     KeyType = "code, or {script: NAME}"
	TypeForeign  KeyType = "entries in another program's form"
	TypeOAuth    KeyType = "false, or section"
)

// Reload says when a change of a key takes effect while the daemon runs.
type Reload string

// When a change takes effect.
const (
	AtNextRun   Reload = "new runs"
	AtNextCall  Reload = "next call"
	NewInstance Reload = "new instances; running ones serve until their run ends"
	InPlace     Reload = "at once"
	AtStart     Reload = "next start of the daemon"
)

// Place says which files a key counts in.
type Place string

// Where a key counts.
const (
	Everywhere  Place = "every file"
	UserOnly    Place = "the user's file only"
	TightenOnly Place = "every file; a project's may only tighten"
)

// Key is one config key: the one source of the docs page, of the checks and
// suggestions, and of the defaults.
type Key struct {
	Path    string   // dotted; * stands for a name of the user's choice
	Type    KeyType  //
	Default string   // as it would be written; empty: none
	Values  []string // the closed list, where there is one
	Doc     string   // one sentence
	Reload  Reload
	Place   Place
	// Check says what is wrong with a text, or with each of a list of strings; nil:
	// nothing can be. The error quotes it.
	Check func(text string) error
}

var reference = []Key{
	{Path: "$schema", Type: TypeString, Doc: "Ignored: for editors.", Reload: InPlace, Place: Everywhere},
	{Path: "servers", Type: TypeNamed, Doc: "The MCP servers, by name.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*", Type: TypeSection, Doc: "One server: command, url or kind.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.kind", Type: TypeString, Values: []string{KindModule, KindOpenAPI, KindCommand}, Doc: "What tenon itself serves, in place of a program: [module](modules.md), [openapi](openapi.md), [command](commands.md).", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.module", Type: TypeString, Doc: "module: the TypeScript or JavaScript file whose exported functions are the tools.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.engine", Type: TypeString, Default: "embedded", Values: []string{"embedded", "deno", "bun", "node"}, Doc: "module: what executes the functions.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.sandbox", Type: TypeString, Values: []string{"read-only", "workspace-write", "full"}, Doc: "module, command: what its processes may reach; default: read-only for a module on deno, bun or node, full for commands.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.document", Type: TypeString, Doc: "openapi: the OpenAPI 3.0 or 3.1 document, a file or an address.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.baseUrl", Type: TypeString, Doc: "openapi: where requests go; default: the document's first server.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.auth", Type: TypeSection, Doc: "openapi: what proves who asks; never shown to programs.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.auth.bearer", Type: TypeString, Doc: "openapi: the token of `Authorization: Bearer`.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.auth.basic", Type: TypeSection, Doc: "openapi: HTTP's basic scheme.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.auth.basic.username", Type: TypeString, Doc: "openapi: the user of the basic scheme.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.auth.basic.password", Type: TypeString, Doc: "openapi: the password of the basic scheme.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.auth.header", Type: TypeMap, Doc: "openapi: headers of every request.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.auth.query", Type: TypeMap, Doc: "openapi: query parameters of every request.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.operations", Type: TypeSection, Doc: "openapi: which operations become tools.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.operations.include", Type: TypeStrings, Doc: "openapi: patterns (`*`, `?`) over an operation's id, its tag as `tag:NAME`, or `METHOD /path`; none: all.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.operations.exclude", Type: TypeStrings, Doc: "openapi: operations that do not become tools; stronger than include.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.operations.readOnly", Type: TypeBool, Default: "false", Doc: "openapi: only GET and HEAD.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.command", Type: TypeCommand, Doc: "The program, with its arguments or with args; a relative path is meant from the project's directory (or the file's own).", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.args", Type: TypeStrings, Doc: "Arguments put after command.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.env", Type: TypeMap, Doc: "Environment variables of the server, besides the allow-listed ones of the caller.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.cwd", Type: TypeString, Doc: "Working directory; default: the project's directory, the home directory for the user's file, the scope's directory for scopes repo and directory.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.url", Type: TypeString, Doc: "Address of a remote server.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.type", Type: TypeString, Values: []string{"stdio", "http", "sse"}, Doc: "Transport; default: stdio with command, http with url.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.headers", Type: TypeMap, Doc: "HTTP headers sent to a remote server.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.oauth", Type: TypeOAuth, Doc: "[Login](auth.md) to a remote server, where it wants one; false: none, whatever it says.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.oauth.clientId", Type: TypeString, Doc: "Id of a client that you have registered; default: tenon registers itself.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.oauth.clientSecret", Type: TypeString, Doc: "Its secret, if it has one; name a variable rather than writing it down.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.oauth.clientMetadataUrl", Type: TypeString, Doc: "Address of a client id metadata document, used where the authorization server reads such.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.oauth.scope", Type: TypeString, Doc: "Scopes to ask for, with blanks between; default: what the server names.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.oauth.callbackPort", Type: TypeCount, Doc: "Port of http://127.0.0.1:PORT/callback, for a client that is registered with one; default: any.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.oauth.redirectUri", Type: TypeString, Doc: "The whole loopback address, where the client is registered with another.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.oauth.authServerMetadataUrl", Type: TypeString, Doc: "Where the authorization server's metadata is, for a server that does not tell.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.scope", Type: TypeString, Default: "shared", Values: []string{"shared", "session", "repo", "directory"}, Doc: "Who shares an instance.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.inherit", Type: TypeBool, Default: "true", Doc: "A sub-agent uses the instance of its root session.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.stateless", Type: TypeBool, Default: "false", Doc: "A shared server that may be replaced without a warning.", Reload: InPlace, Place: Everywhere},
	{Path: "servers.*.maxInstances", Type: TypeCount, Default: "8", Doc: "Instances alive at once; 0 is refused.", Reload: InPlace, Place: Everywhere},
	{Path: "servers.*.warm", Type: TypeCount, Default: "0", Doc: "Spare instances kept started.", Reload: InPlace, Place: Everywhere},
	{Path: "servers.*.concurrency", Type: TypeCount, Default: "0", Doc: "Calls in flight on one instance; 0: no cap.", Reload: InPlace, Place: Everywhere},
	{Path: "servers.*.idleTimeout", Type: TypeDuration, Default: "10m", Doc: "An instance unused for this long ends; 0: never.", Reload: InPlace, Place: Everywhere},
	{Path: "servers.*.callTimeout", Type: TypeDuration, Default: "60s", Doc: "Limit of one call, armed again by each progress notification.", Reload: AtNextCall, Place: Everywhere},
	{Path: "servers.*.callWall", Type: TypeDuration, Default: "30m", Doc: "Hard limit of one call, progress or not; 0: none.", Reload: AtNextCall, Place: Everywhere},
	{Path: "servers.*.startTimeout", Type: TypeDuration, Default: "60s", Doc: "Limit of start, handshake and first tool list together.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.queueTimeout", Type: TypeDuration, Default: "30s", Doc: "How long a call waits for a free instance.", Reload: AtNextCall, Place: Everywhere},
	{Path: "servers.*.evictAfter", Type: TypeDuration, Default: "60s", Doc: "A binding without a call for this long may be ended for another session.", Reload: InPlace, Place: Everywhere},
	{Path: "servers.*.outputs", Type: TypeString, Values: []string{"off", "warn", "strict"}, Doc: "What a result comes to that is not what the tool's output schema says; default: script.outputs.", Reload: AtNextCall, Place: Everywhere},
	{Path: "servers.*.namespace", Type: TypeString, Doc: "Name of the server in programs; default: derived from its name.", Reload: AtNextRun, Place: Everywhere},
	{Path: "servers.*.pinned", Type: TypeStrings, Doc: "Tools listed first in the catalogue.", Reload: AtNextRun, Place: Everywhere},
	{Path: "servers.*.tools", Type: TypeNamed, Doc: "Settings for single tools.", Reload: AtNextCall, Place: Everywhere},
	{Path: "servers.*.tools.*", Type: TypeSection, Doc: "One tool, by the server's own name for it.", Reload: AtNextCall, Place: Everywhere},
	{Path: "servers.*.tools.*.callTimeout", Type: TypeDuration, Doc: "Limit of one call of this tool.", Reload: AtNextCall, Place: Everywhere},
	{Path: "servers.*.tools.*.revert", Type: TypeString, Doc: "How a call of this tool is undone.", Reload: AtNextCall, Place: Everywhere},
	{Path: "servers.*.tools.*.command", Type: TypeCommand, Doc: "command: the program and its words, with placeholders such as {name}; no shell reads it.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.tools.*.description", Type: TypeString, Doc: "command: what the tool does.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.tools.*.input", Type: TypeForeign, Doc: "command: the arguments, as names with types or as a JSON Schema; default: what the placeholders name.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.tools.*.output", Type: TypeString, Default: "text", Values: []string{"text", "lines", "json", "jsonl"}, Doc: "command: how its standard output is read.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.tools.*.stdin", Type: TypeString, Doc: "command: its standard input, with placeholders.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.tools.*.cwd", Type: TypeString, Doc: "command: its working directory; default: the server's.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.tools.*.exitCodes", Type: TypeCounts, Doc: "command: exit codes that are no failure; default: 0 alone.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.tools.*.options", Type: TypeBool, Default: "false", Doc: "command: an argument may begin with -, and so be an option.", Reload: NewInstance, Place: Everywhere},
	{Path: "servers.*.enabled", Type: TypeBool, Default: "true", Doc: "A disabled server is listed and never started.", Reload: NewInstance, Place: Everywhere},
	{Path: "mcpServers", Type: TypeForeign, Doc: "Servers in the form of Claude and Cursor.", Reload: NewInstance, Place: Everywhere},
	{Path: "mcp", Type: TypeForeign, Doc: "Servers in opencode's form.", Reload: NewInstance, Place: Everywhere},
	{Path: "import", Type: TypeStrings, Values: []string{"opencode", "claude", "cursor", "vscode"}, Doc: "Hosts whose own files are read for servers as well.", Reload: InPlace, Place: Everywhere},
	{Path: "permissions", Type: TypeSection, Doc: "What calls are allowed, asked about and denied.", Reload: AtNextCall, Place: TightenOnly},
	{Path: "permissions.preset", Type: TypeString, Doc: "Sets both dials: request is workspace-write and ask (the default), yolo is full and never; or one of permissions.presets.", Reload: AtNextCall, Place: TightenOnly},
	{Path: "permissions.sandbox", Type: TypeString, Values: []string{"confined", "read-only", "workspace-write", "full"}, Doc: "Widest sandbox mode of scripts; overrides the preset's.", Reload: AtNextRun, Place: TightenOnly},
	{Path: "permissions.approval", Type: TypeString, Values: []string{"ask", "never"}, Doc: "Whether a human is asked at all; overrides the preset's.", Reload: AtNextCall, Place: TightenOnly},
	{Path: "permissions.presets", Type: TypeNamed, Doc: "Presets of your own, for tenon preset use.", Reload: AtNextCall, Place: UserOnly},
	{Path: "permissions.presets.*", Type: TypeSection, Doc: "One preset; both dials are required.", Reload: AtNextCall, Place: UserOnly},
	{Path: "permissions.presets.*.sandbox", Type: TypeString, Values: []string{"confined", "read-only", "workspace-write", "full"}, Doc: "The preset's sandbox mode.", Reload: AtNextCall, Place: UserOnly},
	{Path: "permissions.presets.*.approval", Type: TypeString, Values: []string{"ask", "never"}, Doc: "Whether the preset asks a human at all.", Reload: AtNextCall, Place: UserOnly},
	{Path: "permissions.askTimeout", Type: TypeDuration, Default: "90s", Doc: "How long an ask waits for an answer.", Reload: AtNextCall, Place: UserOnly},
	{Path: "permissions.rules", Type: TypeMap, Doc: "Patterns over SERVER_TOOL (* and ?) with allow, ask or deny; the longest pattern wins, the stricter on a tie.", Reload: AtNextCall, Place: TightenOnly},
	{Path: "script", Type: TypeSection, Doc: "Defaults of runs.", Reload: AtNextRun, Place: Everywhere},
	{Path: "script.engine", Type: TypeString, Default: "embedded", Values: []string{"embedded", "deno", "bun", "node", "auto"}, Doc: "What executes programs.", Reload: AtNextRun, Place: Everywhere},
	{Path: "script.runtimes", Type: TypeMap, Doc: "Programs of the engines deno, bun and node, by these names, in place of a search in PATH.", Reload: AtNextRun, Place: UserOnly},
	{Path: "script.timeout", Type: TypeDuration, Default: "120s", Doc: "Limit of a run, human time not counted; 0: none.", Reload: AtNextRun, Place: Everywhere},
	{Path: "script.cpu", Type: TypeDuration, Default: "60s", Doc: "Computing time of a run.", Reload: AtNextRun, Place: Everywhere},
	{Path: "script.memory", Type: TypeSize, Default: "64MiB", Doc: "Memory of a run.", Reload: AtNextRun, Place: Everywhere},
	{Path: "script.maxToolCalls", Type: TypeCount, Default: "1000", Doc: "Calls of one run; 0: none are allowed.", Reload: AtNextRun, Place: Everywhere},
	{Path: "script.concurrency", Type: TypeCount, Default: "16", Doc: "Calls of one run in flight at once.", Reload: AtNextRun, Place: Everywhere},
	{Path: "script.typecheck", Type: TypeString, Default: "off", Values: []string{"off", "warn", "strict"}, Doc: "Type check before a run.", Reload: AtNextRun, Place: Everywhere},
	{Path: "script.outputs", Type: TypeString, Default: "warn", Values: []string{"off", "warn", "strict"}, Doc: "What a result comes to that is not what the tool's output schema says: nothing, a warning beside it, or InvalidToolOutput in its place.", Reload: AtNextCall, Place: Everywhere},
	{Path: "script.maxOutputBytes", Type: TypeSize, Default: "64KiB", Doc: "Value, stdout and logs as returned; the whole output is kept in history.", Reload: AtNextRun, Place: Everywhere},
	{Path: "catalog", Type: TypeSection, Doc: "What is known of tools.", Reload: InPlace, Place: UserOnly},
	{Path: "catalog.learn", Type: TypeBool, Default: "true", Doc: "Result types of tools without an output schema are [learned](catalogue.md) from results: names of properties and kinds of values, never values.", Reload: InPlace, Place: UserOnly},
	{Path: "scripts", Type: TypeSection, Doc: "[Saved scripts](scripts.md).", Reload: AtNextCall, Place: TightenOnly},
	{Path: "scripts.hostOnly", Type: TypeBool, Default: "false", Doc: "Only the user saves scripts, no session does.", Reload: AtNextCall, Place: TightenOnly},
	{Path: "hooks", Type: TypeSection, Doc: "[Snippets](scripts.md#hooks) that run around each run; those of a project run besides the user's.", Reload: AtNextRun, Place: Everywhere},
	{Path: "hooks.before", Type: TypeHook, Doc: "Runs before the program, which does not run when it fails.", Reload: AtNextRun, Place: Everywhere},
	{Path: "hooks.onSuccess", Type: TypeHook, Doc: "Runs after a program that succeeded.", Reload: AtNextRun, Place: Everywhere},
	{Path: "hooks.onError", Type: TypeHook, Doc: "Runs after a program that failed.", Reload: AtNextRun, Place: Everywhere},
	{Path: "hooks.after", Type: TypeHook, Doc: "Runs last, however the program ended.", Reload: AtNextRun, Place: Everywhere},
	{Path: "net", Type: TypeSection, Doc: "[Network](network.md) of programs in the embedded engine.", Reload: AtNextRun, Place: UserOnly},
	{Path: "net.allow", Type: TypeStrings, Doc: "Hosts that fetch may reach, such as api.example.com, *.example.com, http://localhost:3000, 10.0.0.0/8; none: there is no fetch.", Reload: AtNextRun, Place: UserOnly, Check: checkHost},
	{Path: "net.private", Type: TypeBool, Default: "false", Doc: "Names written in full in net.allow may lead to addresses of private networks and of this machine.", Reload: AtNextRun, Place: UserOnly},
	{Path: "net.maxResponse", Type: TypeSize, Default: "10MiB", Doc: "Longest body that fetch takes, unpacked.", Reload: AtNextRun, Place: UserOnly},
	{Path: "daemon", Type: TypeSection, Doc: "The daemon itself.", Reload: InPlace, Place: UserOnly},
	{Path: "daemon.idleExit", Type: TypeDuration, Default: "10m", Doc: "The daemon ends after this long with nothing to do; 0: never.", Reload: InPlace, Place: UserOnly},
	{Path: "daemon.logLevel", Type: TypeString, Default: "info", Values: []string{"debug", "info", "warn", "error"}, Doc: "What the [log](daemon.md#logs) holds; `TENON_LOG` of a daemon's start goes before it.", Reload: InPlace, Place: UserOnly},
	{Path: "daemon.maxStarting", Type: TypeCount, Default: "4", Doc: "Servers being started at once.", Reload: AtStart, Place: UserOnly},
	{Path: "sessions", Type: TypeSection, Doc: "Lives of sessions.", Reload: InPlace, Place: UserOnly},
	{Path: "sessions.idle", Type: TypeDuration, Default: "30m", Doc: "A named session unused for this long ends.", Reload: InPlace, Place: UserOnly},
	{Path: "sessions.grace", Type: TypeDuration, Default: "60s", Doc: "A session nobody refers to is kept for this long.", Reload: InPlace, Place: UserOnly},
	{Path: "tickets", Type: TypeSection, Doc: "Proofs of a session for shells.", Reload: InPlace, Place: UserOnly},
	{Path: "tickets.ttl", Type: TypeDuration, Default: "24h", Doc: "Life of a ticket, renewed on attach.", Reload: InPlace, Place: UserOnly},
	{Path: "listen", Type: TypeSection, Doc: "TCP besides the unix socket; off unless set.", Reload: AtStart, Place: UserOnly},
	{Path: "listen.address", Type: TypeString, Doc: "HOST:PORT to listen on.", Reload: AtStart, Place: UserOnly},
	{Path: "listen.token", Type: TypeString, Doc: "Bearer token that TCP clients must send, at least 16 characters; placeholders are expanded.", Reload: AtStart, Place: UserOnly},
	{Path: "history", Type: TypeSection, Doc: "What is kept of runs.", Reload: InPlace, Place: UserOnly},
	{Path: "history.retention", Type: TypeDuration, Default: "30d", Doc: "Age at which history is removed.", Reload: InPlace, Place: UserOnly},
	{Path: "history.maxDatabase", Type: TypeSize, Default: "512MiB", Doc: "Runs and calls together, at least 1MiB: above it the oldest runs go with their calls.", Reload: InPlace, Place: UserOnly, Check: checkHistory},
	{Path: "history.maxArtifacts", Type: TypeSize, Default: "1GiB", Doc: "Artifacts and whole outputs together, at least 1MiB: above it the oldest go.", Reload: InPlace, Place: UserOnly, Check: checkHistory},
}

// Reference lists every config key in documentation order.
func Reference() []Key {
	out := make([]Key, len(reference))
	copy(out, reference)
	return out
}

// checkHost refuses what is no entry of net.allow.
func checkHost(text string) error {
	_, err := outbound.ParsePattern(text)
	return err
}

// minHistory is the least that a bound of history may be, in bytes: with less, what a
// run has just left would be gone before anybody looks.
const minHistory = 1 << 20

// checkHistory refuses a bound under which nothing could be kept.
func checkHistory(text string) error {
	if n, err := ParseSize(text); err == nil && n < minHistory { // what is no size is told elsewhere
		return fmt.Errorf("%q is too little: 1MiB is the least", text)
	}
	return nil
}

// keyAt returns the key of a dotted path in which * stands for any name.
func keyAt(path string) (*Key, bool) {
	for i := range reference {
		if reference[i].Path == path {
			return &reference[i], true
		}
	}
	return nil, false
}

// below lists the names directly below path ("" is the top).
func below(path string) []string {
	if path != "" {
		path += "."
	}
	var names []string
	for _, k := range reference {
		if rest, ok := strings.CutPrefix(k.Path, path); ok && !strings.Contains(rest, ".") {
			names = append(names, rest)
		}
	}
	return names
}

// defaultOf is the default of a key as written; the table guarantees it.
func defaultOf(path string) string {
	if k, ok := keyAt(path); ok {
		return k.Default
	}
	return ""
}
