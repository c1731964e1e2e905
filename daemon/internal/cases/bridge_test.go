package cases

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tenon/daemon/internal/rig"
	"tenon/proto"
)

const bridgeUsage = `bridge exec SESSION CODE|@FILE [timeout=DUR] [engine=NAME] [input=JSON]
       bridge call SESSION SERVER TOOL [JSON]
       bridge cancel JOB [reason=TEXT]
       bridge status SESSION · bridge search SESSION QUERY
       bridge catalog SESSION [since=FINGERPRINT] [budget=N] · bridge types SESSION [PATH…]
       bridge rules SESSION @FILE · bridge detach SESSION [deleted]
       bridge answer REPLY [after=DUR] [key=KEY] [feedback=TEXT] [unshown=true] [host=NAME]
       bridge seen|close|kill [host=NAME]`

// modelLimits are those the plugin for opencode v1 asks for.
var modelLimits = proto.TextLimits{Bytes: 48 << 10, Lines: 1900}

// bridgeVerb lets a double do what the plugin in opencode would.
func bridgeVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	work, err := s.bridgeLater(p, &job{})
	if err != nil {
		return outcome{}, err
	}
	return work()
}

// bridgeLater prepares what a bridge line does. The request's id is known when
// it returns, so that "bridge cancel" can follow at once.
func (s *scene) bridgeLater(p *plan, j *job) (func() (outcome, error), error) {
	if len(p.words) == 0 {
		return nil, usage(bridgeUsage)
	}
	what, words := p.words[0], p.words[1:]
	opts := options(words)
	switch what {
	case "seen", "close", "kill", "answer":
		name := opts["host"]
		if name == "" {
			name = mainHost
		}
		h, err := s.Host(name)
		if err != nil {
			return nil, err
		}
		return func() (outcome, error) { return s.onHost(what, words, h, name, opts) }, nil
	case "cancel":
		if len(words) < 1 {
			return nil, usage(bridgeUsage)
		}
		other, err := s.job(words[0])
		if err != nil {
			return nil, err
		}
		return func() (outcome, error) { return outcome{}, other.cancelRequest(opts["reason"]) }, nil
	}
	if len(words) < 1 {
		return nil, usage(bridgeUsage)
	}
	a, err := s.Session(words[0])
	if err != nil {
		return nil, err
	}
	j.host, j.ask = a.Host, a.Host.NextID()
	dir := p.dir
	if !p.placed {
		dir = a.Dir
	}
	for i, w := range words { // files are meant from where the line runs
		if file, ok := strings.CutPrefix(w, "@"); ok && !filepath.IsAbs(file) {
			words[i] = "@" + filepath.Join(p.dir, file)
		}
	}
	method, params, err := message(what, words, dir, opts, j.ask)
	if err != nil {
		return nil, err
	}
	return func() (outcome, error) {
		o, err := a.Host.Request(method, params, j.ask)
		if what == "exec" {
			o = rig.AsRun(o)
		}
		return o, err
	}, nil
}

// message makes the request of a bridge line.
func message(what string, words []string, dir string, opts map[string]string, n int64) (string, any, error) {
	id := words[0]
	origin := proto.Origin{Session: id, Message: "message-1", Call: rig.CallID(n), Agent: "build"}
	switch {
	case what == "exec" && len(words) >= 2:
		code := words[1]
		if file, ok := strings.CutPrefix(code, "@"); ok {
			raw, err := os.ReadFile(file)
			if err != nil {
				return "", nil, err
			}
			code = string(raw)
		}
		ms, err := millis(opts["timeout"])
		return proto.MethodRunStart, proto.RunStart{
			Origin: origin, Directory: dir, Code: code, Engine: opts["engine"], TimeoutMS: ms,
			Input: json.RawMessage(opts["input"]), Text: modelLimits,
		}, err
	case what == "call" && len(words) >= 3:
		c := proto.CallStart{Origin: origin, Directory: dir, Server: words[1], Tool: words[2], Text: modelLimits}
		if len(words) > 3 {
			c.Arguments = json.RawMessage(words[3])
		}
		return proto.MethodCallStart, c, nil
	case what == "status":
		return proto.MethodStatusGet, proto.StatusGet{Session: id}, nil
	case what == "search" && len(words) == 2:
		return proto.MethodCatalogSearch, proto.Search{Session: id, Directory: dir, Query: words[1]}, nil
	case what == "catalog":
		q := proto.CatalogQuery{Session: id, Directory: dir, Since: opts["since"]}
		if text := opts["budget"]; text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return "", nil, usage(bridgeUsage)
			}
			q.Budget = n
		}
		return proto.MethodCatalogGet, q, nil
	case what == "types":
		return proto.MethodCatalogTypes, proto.TypesQuery{Session: id, Directory: dir, Paths: words[1:]}, nil
	case what == "rules" && len(words) == 2:
		list, err := rules("", strings.TrimPrefix(words[1], "@"), "build")
		if err != nil {
			return "", nil, err
		}
		return proto.MethodRulesChanged, proto.RulesChanged{Session: id, Rules: *list}, nil
	case what == "detach":
		return proto.MethodDetach, proto.Detach{Session: id, Deleted: len(words) > 1 && words[1] == "deleted"}, nil
	}
	return "", nil, usage(bridgeUsage)
}

func (s *scene) onHost(what string, words []string, h *rig.Host, name string, opts map[string]string) (outcome, error) {
	switch what {
	case "seen":
		seen, err := h.Seen()
		return outcome{Stdout: seen}, err
	case "close":
		return outcome{}, h.Close()
	case "kill":
		return outcome{}, s.KillHost(name)
	}
	if len(words) < 1 {
		return outcome{}, usage(bridgeUsage)
	}
	policy := rig.Policy{Reply: words[0], Key: opts["key"], Feedback: opts["feedback"], Unshown: opts["unshown"] == "true"}
	if d := opts["after"]; d != "" {
		after, err := time.ParseDuration(d)
		if err != nil {
			return outcome{}, err
		}
		policy.After = after
	}
	return outcome{}, h.Answer(policy)
}

// cancelRequest takes a job's request back, as the plugin does on abort.
func (j *job) cancelRequest(reason string) error {
	if j.host == nil {
		return errors.New("only a bridge job can be cancelled")
	}
	if reason == "" {
		reason = "user"
	}
	return j.host.Cancel(j.ask, reason)
}
