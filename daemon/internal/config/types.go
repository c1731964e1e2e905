// Package config reads what the user and the project wrote about servers,
// permissions and limits, and gives each directory an immutable View of it.
package config

import (
	"time"
)

// Scope says who shares an instance of a server.
type Scope string

// The four scopes; see docs/scopes.md.
const (
	Shared    Scope = "shared"
	Session   Scope = "session"
	Repo      Scope = "repo"
	Directory Scope = "directory"
)

// Origin is where an entry was written.
type Origin struct {
	File   string // absolute path
	Line   int    // 1-based; 0 when unknown
	Format string // tenon, opencode, claude, cursor, vscode, …
	// Base is the directory that relative paths of the entry are meant from:
	// the file's own, or the one that contains .tenon, .opencode, .cursor or
	// .vscode when the file lies in such a folder.
	Base string
	// Project tells a file of the project, which needs trust, from the user's.
	Project bool
}

// Server is one entry as written, after import and merge, before expansion.
type Server struct {
	Name         string
	Namespace    string // as written; empty: catalog derives it
	Kind         string // stdio, http, sse
	Command      []string
	Env          map[string]string
	Cwd          string
	URL          string
	Headers      map[string]string
	OAuth        *OAuth // nil: nothing is said
	Scope        Scope
	Inherit      bool // sub-agents use their root's instance
	Stateless    bool // a shared server that may be replaced without a warning
	MaxInstances int
	Warm         int
	Concurrency  int // calls in flight an instance; 0: no cap
	IdleTimeout  time.Duration
	CallTimeout  time.Duration
	CallWall     time.Duration
	StartTimeout time.Duration
	QueueTimeout time.Duration
	EvictAfter   time.Duration
	Outputs      string // off, warn, strict; empty: Script.Outputs
	Pinned       []string
	Tools        map[string]ToolOptions
	Enabled      bool
	Origin       Origin
	Notes        []string  // unknown keys of foreign shapes, and the like
	Problem      string    // why it cannot be used at all; empty when fine
	Untrusted    bool      // from a project file that is not trusted: shown, never started
	Served       *KindSpec // what tenon itself serves, for entries with kind; nil for all others
}

// ToolOptions override a server's settings for one tool.
type ToolOptions struct {
	CallTimeout time.Duration
	Revert      string
}

// Permissions is the merged permission config of a view.
type Permissions struct {
	Preset     string // request, yolo, …; empty when only the dials are set
	Sandbox    string // confined, read-only, workspace-write, full
	Approval   string // ask, never
	AskTimeout time.Duration
	Presets    []Preset // the user's own, besides the built-in ones
	Rules      []Rule
	Net        Net
}

// Net is where fetch in programs may go.
type Net struct {
	Allow       []string // as outbound.ParseAllow reads them; none: there is no fetch
	Private     bool     // names in full may lead to private addresses
	MaxResponse int64    // bytes
}

// Rule is one permission rule of tenon's own config: the longest pattern wins
// (literal characters counted), the stricter on a tie.
type Rule struct {
	Pattern string // over <server>_<tool>; * and ?
	Action  string // allow, ask, deny
	Origin  Origin
	// Tighten marks a rule that may only make the verdict stricter, whatever
	// its length: rules of projects and of --config files, and rules of a
	// change that nobody has accepted yet. Decide the other rules first, then
	// these by themselves, and take the stricter of the two verdicts.
	Tighten bool
}

// Script holds the defaults of runs.
type Script struct {
	Engine         string
	Runtimes       map[string]string // programs of engines, from the user's file only
	Timeout        time.Duration     // 0: none
	CPU            time.Duration
	Memory         int64
	MaxToolCalls   int
	Concurrency    int
	Typecheck      string
	Outputs        string // off, warn, strict: results that break the tool's output schema
	MaxOutputBytes int64
}

// Daemon holds daemon-wide settings; they come from the user's file only.
type Daemon struct {
	IdleExit         time.Duration // 0: never
	LogLevel         string        // debug, info, warn, error
	SessionIdle      time.Duration
	SessionGrace     time.Duration
	TicketTTL        time.Duration
	HistoryRetention time.Duration
	HistoryDatabase  int64 // bytes of runs and calls
	HistoryArtifacts int64 // bytes of artifacts and whole outputs
	Learn            bool  // result types from results
	MaxStarting      int   // server starts at once
	ListenAddress    string
	ListenToken      string
}

// Note is something to tell about the config: an unknown key, a skipped file.
type Note struct {
	File    string
	Line    int
	Column  int
	Server  string
	Message string
	Error   bool
}

// View is the immutable configuration of one directory. Two views with the
// same Hash are the same configuration.
type View struct {
	Hash        string
	Dir         string             // absolute, links resolved
	Workspace   string             // the repository's top, or Dir outside of one
	Files       []string           // in order of precedence, lowest first
	Servers     map[string]*Server // enabled and disabled, trusted and not
	Permissions Permissions
	Script      Script
	Scripts     Scripts
	Hooks       Hooks
	Daemon      Daemon
	Notes       []Note
	Untrusted   bool // something of the project waits for trust
	Held        bool // looser permissions of the user's file wait for TrustConfig
	// Trusted says that the user has agreed to all that the project's files
	// start. A project that starts nothing has nothing to agree to, and is
	// neither trusted nor untrusted.
	Trusted bool

	home     string // the user's, for ~ and for servers of user files
	fallback Env    // the daemon's own environment
	places   kindPlaces
}

// Env is a set of environment variables: those of a caller.
type Env map[string]string

// Placeholders are the values of ${workspace} and ${sessionDir}.
type Placeholders struct {
	Workspace  string                 // the caller's directory or repository top; empty: the view's
	SessionDir func() (string, error) // private directory of the scope key; made when first asked for
}

// Definition is a server expanded for one caller: what is started.
type Definition struct {
	ID       string // sharing key: digest of every expanded field
	Template string // digest of the fields as written: what MaxInstances counts
	Server   *Server
	Command  []string          // [0] resolved to an absolute path
	Env      map[string]string // declared variables, expanded
	BaseEnv  map[string]string // allow-listed variables of the caller
	Cwd      string
	URL      string
	Headers  map[string]string
	OAuth    *OAuth   // expanded; nil: nothing is said
	Personal bool     // names caller placeholders: no warm spares
	Secrets  []string // values that must never be shown
}
