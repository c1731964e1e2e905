package serve

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tenon/daemon/internal/api"
	"tenon/daemon/internal/bridge"
	"tenon/daemon/internal/call"
	"tenon/daemon/internal/catalog"
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/consent"
	"tenon/daemon/internal/engine/attached"
	"tenon/daemon/internal/engine/embedded"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/lease"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/mcpserver"
	"tenon/daemon/internal/outbound"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/policy"
	"tenon/daemon/internal/pool"
	"tenon/daemon/internal/proctree"
	"tenon/daemon/internal/run"
	"tenon/daemon/internal/session"
	"tenon/daemon/internal/shelf"
	"tenon/daemon/internal/upstream/auth"
	"tenon/proto"
)

// daemon is every room of one daemon.
type daemon struct {
	o       Options
	log     *slog.Logger
	started time.Time

	record   *proctree.Record
	config   *config.Store
	views    *views
	sessions *session.Manager
	peers    *peer.Resolver
	pool     *pool.Pool
	leases   *lease.Manager
	catalog  *catalog.Catalog
	memory   *policy.Memory
	consent  *consent.Router
	history  *history.Store
	network  *outbound.Network
	logins   *auth.Keeper
	calls    *call.Path
	shelf    *shelf.Shelf
	engine   *embedded.Engine
	runs     *run.Manager
	bridge   *bridge.Server
	mcp      *mcpserver.Server
	api      *api.Server
	gate     *api.Gate
	hub      *api.Hub
	trim     trimmer
	dials    dials
	numbers  *numbers
	tending  sync.WaitGroup // followPool, and warming in the background

	settings config.Daemon
	servers  []*server // what listens
	stop     chan stopping
	newer    atomic.Pointer[local.Stamp] // a later build has called: end when idle
	asked    chan struct{}               // capacity 1: newer is new, look at once

	mu       sync.Mutex
	lastWork time.Time // guarded by mu; when the daemon was last seen busy
}

// open opens the rooms from the lowest up. What can wait for its first use
// waits: history's database, the engine's helper, every server.
func open(ctx context.Context, o Options, log *slog.Logger) (*daemon, error) {
	d := &daemon{o: o, log: log, started: time.Now(), lastWork: time.Now(), gate: api.NewGate(), hub: api.NewHub(0), stop: make(chan stopping, 4), asked: make(chan struct{}, 1)}
	d.numbers = newNumbers(d.started)
	var err error
	if d.record, err = proctree.OpenRecord(filepath.Join(o.Paths.Runtime, "groups")); err != nil {
		return nil, fault.New(fault.DaemonUnavailable, "the record of processes cannot be opened: %w", err)
	}
	// Before anything is served: what a killed predecessor left behind.
	ended, err := d.record.Sweep(ctx, log)
	if err != nil {
		log.Warn("leftovers of the former daemon could not all be ended", "error", err)
	}
	if ended > 0 {
		log.Info("ended process groups that the former daemon left behind", "groups", ended)
	}
	attached.Sweep(ctx, o.Paths.Runtime, log)
	if d.config, err = config.Open(config.Options{
		UserFile: o.UserFile, StateDir: o.Paths.State, Home: o.Paths.Home, Environ: config.EnvFrom(o.Environ), Socket: o.Paths.Socket,
		Attached: d.attached, Executable: o.Executable, RuntimeDir: o.Paths.Runtime, Log: log,
	}); err != nil {
		return nil, err
	}
	d.views = newViews(d.config)
	d.readSettings()
	if d.sessions, err = session.New(session.Options{
		RuntimeDir: o.Paths.Runtime, Idle: d.settings.SessionIdle, Grace: d.settings.SessionGrace,
		TicketTTL: d.settings.TicketTTL, Log: log, StartTime: proctree.StartTime,
	}); err != nil {
		return nil, err
	}
	d.peers = peer.New(peer.Options{Sessions: d.sessions, Processes: processes{}, UID: os.Getuid(), Log: log})
	d.pool = pool.New(pool.Options{Dial: d.dial, MaxStarting: d.settings.MaxStarting, Log: log})
	d.leases = lease.New(lease.Options{Pool: d.pool, Log: log})
	d.catalog = catalog.New(catalog.Options{
		Dir: filepath.Join(o.Paths.State, "catalog"), Log: log,
		Secret: func(text string) bool { return d.history.Redactor().Text(text) != text },
		Mask:   func(text string) string { return d.history.Redactor().Known(text) },
	})
	d.catalog.SetLearning(d.settings.Learn)
	d.memory = policy.NewMemory(o.Paths.State, log)
	d.history = history.New(history.Options{Dir: o.Paths.State, Retention: d.settings.HistoryRetention,
		DatabaseBytes: d.settings.HistoryDatabase, ArtifactBytes: d.settings.HistoryArtifacts, Redactor: o.secrets, Log: log})
	d.consent = consent.New(consent.Options{Log: log, Changed: d.approvalChanged, Settled: d.numbers.settled})
	d.network = outbound.New(outbound.Options{})
	d.logins = auth.New(auth.Options{Dir: filepath.Join(o.Paths.State, "tokens"), Network: d.network, Secrets: o.secrets.Put, Log: log})
	d.openShelf()
	d.calls = call.New(call.Options{
		Leases: call.FromLeases(d.leases), Catalog: d.catalog, Memory: d.memory, Consent: d.consent, History: d.history,
		Scripts: d.shelved, Network: d.network, Current: d.views.current, Ensure: d.sessions.Ensure,
		SessionDirs: filepath.Join(o.Paths.Runtime, "sessions"), Log: log, Ended: d.numbers.callEnded,
	})
	if d.engine, err = embedded.New(embedded.Options{
		HelperCommand: []string{o.Executable, HelperCommand}, Start: d.startHelper, Log: log,
	}); err != nil {
		return nil, err
	}
	d.openRuns()
	d.sessions.HoldsBy(func(id string) bool {
		return slices.ContainsFunc(d.leases.List(), func(l proto.Lease) bool { return l.Session == id })
	})
	d.sessions.OnEnd(d.sessionEnded)
	d.sessions.OnAttach(d.sessionAttached)
	d.bridge = bridge.New(bridge.Options{
		Sessions: d.sessions, Peers: d.peers, Work: work{d}, Build: local.Build(), PID: os.Getpid(),
		Socket: o.Paths.Socket, Log: log,
	})
	d.followPool()
	d.followNotices()
	d.openMCP()
	d.numbers.look(d)
	d.api = api.New(api.Options{
		Services: api.Services{
			Callers: d.peers, Life: life{d}, Servers: servers{d}, Sessions: sessions{d}, Leases: leases{d},
			Runs: runs{d}, Approvals: approvals{d}, Presets: presets{d}, Logins: logins{d}, Scripts: scripts{d}, Events: d.hub, Bridge: d.bridge, MCP: d.mcp,
			Metrics: d.numbers,
		},
		Gate: d.gate, Log: log,
	})
	d.dials.note(d, "", "") // from now on a change is one
	return d, nil
}

// HelperCommand is the hidden command that compiles programs.
const HelperCommand = "internal-compile"

// processes answers package peer's questions about processes.
type processes struct{}

func (processes) StartTime(pid int) (string, error)          { return proctree.StartTime(pid) }
func (processes) Parent(pid int) (int, error)                { return proctree.Parent(pid) }
func (processes) Environ(pid int) (map[string]string, error) { return proctree.Environ(pid) }

// attached reports whether a session is attached: looser permissions wait then.
func (d *daemon) attached() bool {
	if d.sessions == nil {
		return false // while starting
	}
	return len(d.sessions.Bridges()) > 0
}

// sessionEnded gives back what a session held.
func (d *daemon) sessionEnded(id, reason string) {
	d.runs.SessionEnded(id, reason)
	d.consent.EndSession(id, reason)
	d.leases.EndSession(id, reason)
	d.calls.SessionEnded(id)
	d.hub.Publish("session", map[string]string{"id": id, "state": "ended", "reason": reason})
}

// approvalChanged tells listeners of a question.
func (d *daemon) approvalChanged(a approval, pending bool) {
	if pending {
		d.hub.Publish("approval", a)
		return
	}
	d.hub.Publish("approval", map[string]any{"settled": a.ID})
}
