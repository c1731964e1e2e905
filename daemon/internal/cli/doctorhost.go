package cli

import (
	"slices"
	"strings"

	"tenon/daemon/internal/cli/opencode"
	"tenon/daemon/internal/config"
)

// opencode says for each generation of the host whether its plugin is
// installed, and what else of tenon's the hosts find. It returns what it saw.
func (d *doctor) opencode() opencodeDocument {
	o := &opencodeOptions{app: d.app}
	doc, err := o.installed()
	if err != nil {
		d.say("problem", "opencode", "", "%v", err)
		return doc
	}
	anywhere := false
	for _, s := range doc.Hosts {
		anywhere = anywhere || s.Installed || len(s.Programs) > 0
		install := "tenon opencode install --" + string(s.Host)
		for _, p := range s.Programs {
			d.say("ok", "opencode", "", "%s is %s", p.Path, p.Version)
		}
		switch {
		case s.Problem != "":
			d.say("problem", "opencode", install, "%s", s.Problem)
		case !s.Installed && len(s.Programs) > 0:
			d.say("note", "opencode", install, "the plugin for %s is not in %s", s.Host, s.Config)
		case s.Installed && !s.Current && s.Carried != "":
			d.say("note", "opencode", install, "the installed plugin for %s (%s) is another build than this program carries (%s)", s.Host, first(s.Version, "unknown version"), s.Carried)
		case s.Installed:
			d.say("ok", "opencode", "", "the plugin for %s is in %s", s.Host, s.Config)
		}
	}
	if !anywhere {
		d.say("note", "opencode", "tenon opencode install --v1, or --v2", "the plugin is not in %s, and no opencode is on the PATH", doc.Hosts[0].Config)
	}
	for _, other := range doc.Others {
		d.say("note", "opencode", "remove it: tenon opencode install puts one where no host looks by itself", "%s (in %s): %s", other.Path, other.In, other.Text)
	}
	dirs, err := o.configDirs()
	if err != nil {
		return doc
	}
	for _, dir := range opencode.Unfinished(dirs) {
		d.say("note", "opencode", "let it end once, with a network; tenon writes nothing there",
			"opencode v1 runs an npm install in %s at its next start, and loads no plugin before it has ended", dir)
	}
	return doc
}

// codeModeFlags make opencode v1 hide MCP tools behind its own code mode.
var codeModeFlags = []string{"OPENCODE_EXPERIMENTAL_CODE_MODE", "OPENCODE_EXPERIMENTAL"}

// nesting names what makes code mode run inside code mode, and where the model
// would see tenon's tools twice.
func (d *doctor) nesting(installed opencodeDocument) {
	flag := ""
	for _, name := range codeModeFlags {
		if v := strings.ToLower(d.app.env[name]); v == "1" || v == "true" {
			flag = name
			break
		}
	}
	if v := strings.ToLower(d.app.env[codeModeFlags[0]]); v == "0" || v == "false" {
		flag = "" // the specific one decides
	}
	if flag != "" {
		d.say("note", "nesting", "tenon's tools stay visible; leave it off unless you want both",
			"%s is set: opencode v1's own code mode hides MCP tools behind execute", flag)
	}
	plugged := slices.ContainsFunc(installed.Hosts, func(s opencode.Status) bool { return s.Installed })
	for _, e := range d.registrations() {
		if plugged {
			d.say("note", "nesting", "take the entry out, or tenon opencode uninstall",
				"mcp server %s in %s is tenon, which is a plugin there as well: the model sees its tools twice", e.Name, e.File)
		}
		if !e.Programs {
			continue // every tool by itself is what another code mode is for
		}
		switch {
		case e.Second && !e.Direct:
			d.say("problem", "nesting", "write \"codemode\": false into the entry, or use tenon mcp --flat",
				"mcp server %s in %s is tenon without \"codemode\": false: opencode v2 puts its exec behind its own execute", e.Name, e.File)
		case !e.Second && flag != "":
			d.say("problem", "nesting", "unset "+flag+", use the plugin, or tenon mcp --flat",
				"mcp server %s in %s is tenon: with %s opencode v1 puts its exec behind its own execute", e.Name, e.File, flag)
		}
	}
}

// registrations are the entries of opencode's files that are tenon itself.
func (d *doctor) registrations() []opencode.Registration {
	dirs, err := (&opencodeOptions{app: d.app}).configDirs()
	if err != nil {
		return nil
	}
	listen, socket := "", ""
	if v, err := d.view(); err == nil {
		listen = v.Daemon.ListenAddress
	}
	if p, err := d.app.paths(); err == nil {
		socket = p.Socket
	}
	return opencode.Registrations(opencode.ConfigFiles(dirs, d.app.Cwd), func(command []string, address string) bool {
		return config.LeadsBack(command, address, listen, socket)
	})
}

// view is the configuration as the daemon reads it here.
func (d *doctor) view() (*config.View, error) { return (&initOptions{app: d.app}).view() }

// surroundings says whose shell this is.
func (d *doctor) surroundings() {
	if d.app.env["TENON_SESSION_ID"] != "" {
		d.say("ok", "session", "", "this shell acts in session %s", d.app.env["TENON_SESSION_ID"])
	} else if d.app.env["OPENCODE"] == "1" || d.app.env["AGENT"] == "1" {
		d.say("note", "session", "install the plugin, so that shells get a ticket", "this is an agent's shell without a session: only explicit allow rules let it call")
	}
}
