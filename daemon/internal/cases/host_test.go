package cases

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenon/daemon/internal/rig"
	"tenon/proto"
)

// mainHost is the host that sessions belong to unless they say otherwise.
const mainHost = "host"

// hostVerb starts the double of an opencode with tenon's plugin.
func hostVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) < 1 {
		return outcome{}, usage("host NAME [interactive=false] [config=FILE] [env='K=V …']")
	}
	opts := options(p.words[1:])
	_, err := s.StartHost(p.words[0], p.dir, rig.HostOptions{
		Config: opts["config"], Silent: opts["interactive"] == "false", Env: strings.Fields(opts["env"]),
	})
	return outcome{}, err
}

// sessionVerb attaches a session and keeps its ticket, also as TICKET_ID.
func sessionVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) < 1 {
		return outcome{}, usage("session ID [parent=ID] [dir=DIR] [agent=NAME] [rules=FILE] [host=NAME]")
	}
	id, opts := p.words[0], options(p.words[1:])
	name := opts["host"]
	if name == "" {
		name = mainHost
	}
	h, err := s.Host(name)
	if err != nil {
		if h, err = s.StartHost(name, p.dir, rig.HostOptions{}); err != nil {
			return outcome{}, err
		}
	}
	a := proto.Attach{Session: id, Parent: opts["parent"], Directory: p.dir, Agent: opts["agent"], Title: "case " + id}
	if opts["dir"] != "" {
		a.Directory = filepath.Join(p.dir, opts["dir"])
		if filepath.IsAbs(opts["dir"]) {
			a.Directory = opts["dir"]
		}
	}
	if a.Agent == "" {
		a.Agent = "build"
	}
	if a.Rules, err = rules(p.dir, opts["rules"], a.Agent); err != nil {
		return outcome{}, err
	}
	o, err := s.Attach(h, a)
	if err != nil || o.Code != 0 {
		return o, err
	}
	attached, err := s.Session(id)
	if err == nil {
		s.Set("TICKET_"+id, attached.Ticket)
	}
	return o, err
}

// rules reads a file of opencode's rules: a list of {permission, pattern,
// action}. Without a file everything is allowed.
func rules(dir, file, agent string) (*proto.RuleList, error) {
	list := rig.AllowAll(agent)
	if file == "" {
		return list, nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	list.Version, list.Rules = file, nil
	return list, json.Unmarshal(raw, &list.Rules)
}

// millis reads "2s" as the number of milliseconds that messages carry.
func millis(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	return d.Milliseconds(), err
}
