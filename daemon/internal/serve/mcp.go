package serve

import (
	"tenon/daemon/internal/config"
	"tenon/daemon/internal/local"
	"tenon/daemon/internal/mcpserver"
	"tenon/daemon/internal/peer"
	"tenon/daemon/internal/proctree"
)

// openMCP makes the room of MCP clients.
func (d *daemon) openMCP() {
	d.mcp = mcpserver.New(mcpserver.Options{
		Callers: d.peers, Sessions: d.sessions, Runs: d.runs, Path: d.calls,
		View:     func(c *peer.Caller) (*config.View, error) { return d.view(c, "") },
		Artifact: runs{d}.artifact,
		Status:   work{d}.Status, Enter: d.gate.Enter, Home: d.o.Paths.Home,
		StartTime: proctree.StartTime, Idle: d.settings.SessionIdle, Version: local.Build().Version, Log: d.log,
	})
	d.catalog.OnChange(func(string) { d.mcp.Changed() })
}
