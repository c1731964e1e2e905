// Package policy decides whether one call may be made: allow, ask or deny. It
// weighs the daemon's rules, the host's own rules and remembered approvals; it
// never asks anybody (package consent does) and never makes the call.
package policy

import (
	"fmt"
	"strings"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

// Action is what a rule or a verdict says.
type Action string

// The three actions, from the loosest to the strictest.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
)

// strictness orders actions; an action nobody defined counts as Ask, so that a
// misspelt rule of the host never opens anything.
func (a Action) strictness() int {
	switch a {
	case Allow:
		return 0
	case Deny:
		return 2
	default:
		return 1
	}
}

// Stricter returns the stricter of a and b.
func Stricter(a, b Action) Action {
	if b.strictness() > a.strictness() {
		return b
	}
	return a
}

// Input is one call to decide on.
type Input struct {
	View   *config.View
	Class  peer.Class
	Server string // the server's name in the view
	Tool   string // the tool's own name
	// Key and Resource are those of what is no tool's call: its key, and what the
	// host's patterns are matched against. Empty: the key of server and tool, "*".
	Key, Resource string
	// Hosted says that the session belongs to a host that has permission rules
	// of its own. Host is that host's ordered list; nil or not confirmed
	// current counts as ask.
	Hosted bool
	Host   *proto.RuleList
	// HostRead is the pattern under which the host asks for its own permission
	// read when it does the same by itself; what that denies is denied. Empty: it
	// asks for no such thing.
	HostRead string
	// SharedWith are other servers of the view with a tool of the same key; a
	// rule over the key cannot tell such pairs apart.
	SharedWith []string
	// Remembered says that the user approved exactly this tool for always.
	Remembered bool
	// Outdated says that the user approved the tool for always, and that its
	// server has changed its definition since. It changes no verdict, and is said.
	Outdated bool
}

// Verdict is the answer, with where it comes from.
type Verdict struct {
	Action Action
	Key    string // <server>_<tool>, as the host writes it
	src    source
	rule   *config.Rule
	host   *proto.Rule
	preset string

	outdated bool // why it is asked again
}

// source is which part of the input settled the verdict.
type source int

const (
	fromDefault source = iota
	fromRule
	fromHost
	fromUnconfirmed
	fromRemembered
	fromStranger
	fromNever
)

// From names what settled the verdict, for messages, approvals and history; and
// for a question that was answered once, why it is put again.
func (v Verdict) From() string {
	if v.outdated {
		return v.source() + "; the server has changed this tool's definition since it was allowed for always"
	}
	return v.source()
}

func (v Verdict) source() string {
	switch v.src {
	case fromRule:
		return describe(v.rule)
	case fromHost:
		if v.host == nil {
			return "no rule of the host names it"
		}
		return fmt.Sprintf("host rule %q %q: %s", v.host.Permission, v.host.Pattern, v.host.Action)
	case fromUnconfirmed:
		return "the host's rules are not confirmed current"
	case fromRemembered:
		return "remembered approval"
	case fromStranger:
		return "the rule for callers without a valid ticket: only what a rule allows"
	case fromNever:
		return "approval policy never"
	default:
		return "preset " + v.preset
	}
}

// describe names one rule of the daemon and where it is written.
func describe(r *config.Rule) string {
	text := fmt.Sprintf("rule %q: %s", r.Pattern, r.Action)
	if r.Origin.File == "" {
		return text
	}
	return fmt.Sprintf("%s (%s:%d)", text, r.Origin.File, r.Origin.Line)
}

// Decide gives the verdict on one call: the stricter of the daemon's and the
// host's. Where the daemon's comes from no rule but only from the preset, the
// host decides. A remembered approval, or the approval policy "never", turns
// the daemon's ask into allow; nothing turns a deny.
func Decide(in Input) Verdict {
	key := in.Key
	if key == "" {
		key = Key(in.Server, in.Tool)
	}
	v := Verdict{Key: key, Action: Allow, preset: Derive(in.View.Permissions)}
	rules := in.View.Permissions.Rules
	rule := best(rules, false, key, in.Server, in.Tool)
	if len(in.SharedWith) > 0 && (rule == nil || !isPair(rule.Pattern)) {
		rule = strictest(in, key, rule)
	}
	if t := best(rules, true, key, in.Server, in.Tool); t != nil && (rule == nil || Action(t.Action).strictness() > Action(rule.Action).strictness()) {
		rule = t
	}
	if rule != nil {
		v.Action, v.src, v.rule = Action(rule.Action), fromRule, rule
	}
	if in.Class == peer.Stranger {
		return stranger(v)
	}
	_, approval := Dials(in.View.Permissions)
	hosted := in.Class == peer.Agent && in.Hosted
	if rule == nil && in.Class == peer.Agent && !hosted {
		v.Action = Ask // nobody else decides for a session without a host
	}
	if v.Action == Ask && approval == Never {
		v.Action, v.src = Allow, fromNever
	}
	if hosted {
		v = hostReads(withHost(v, in.Host, in.Resource), in)
	}
	if v.Action == Ask && in.Remembered {
		v.Action, v.src = Allow, fromRemembered
	}
	v.outdated = v.Action == Ask && in.Outdated
	return v
}

// stranger keeps only what a rule allows in so many words.
func stranger(v Verdict) Verdict {
	if v.src == fromRule && v.Action == Allow {
		return v
	}
	if v.Action != Deny {
		v.Action, v.src = Deny, fromStranger
	}
	return v
}

// hostReads denies what the host does not read by itself.
func hostReads(v Verdict, in Input) Verdict {
	if in.HostRead == "" || in.Host == nil || !in.Host.Confirmed || v.Action == Deny {
		return v
	}
	if rule := Evaluate(in.Host.Rules, "read", in.HostRead); rule != nil && Action(rule.Action) == Deny {
		v.Action, v.src, v.host = Deny, fromHost, rule
	}
	return v
}

// withHost takes the stricter of v and the host's verdict; on a tie the
// daemon's own rule is named, a mere default never is.
func withHost(v Verdict, list *proto.RuleList, resource string) Verdict {
	if resource == "" {
		resource = "*"
	}
	host := Verdict{Key: v.Key, Action: Ask, src: fromUnconfirmed, preset: v.preset}
	if list != nil && list.Confirmed {
		host.host = Evaluate(list.Rules, v.Key, resource)
		host.src = fromHost
		if host.host != nil {
			host.Action = Action(host.host.Action)
		}
	}
	if v.src == fromDefault || host.Action.strictness() > v.Action.strictness() {
		return host
	}
	return v
}

// strictest is the rule for a key that several pairs share: a longer pattern
// may be meant for the other server, so that what a rule says of one of the
// servers as a whole ("foo_*") is not outvoted by it. A rule that names the pair
// is not concerned.
func strictest(in Input, key string, rule *config.Rule) *config.Rule {
	rules := in.View.Permissions.Rules
	for _, server := range append([]string{in.Server}, in.SharedWith...) {
		prefix := Key(server, "")
		for i := range rules {
			r := &rules[i]
			whole := strings.HasPrefix(r.Pattern, prefix) && strings.Trim(r.Pattern[len(prefix):], "*") == ""
			if !whole || !Match(r.Pattern, key) {
				continue
			}
			if rule == nil || Action(r.Action).strictness() > Action(rule.Action).strictness() {
				rule = r
			}
		}
	}
	return rule
}

// best is the daemon's rule for a call: the one with most literal characters
// wins, on a tie the stricter. A pattern with a slash names the pair
// "server/tool" by their own names, which tells apart two tools that share a
// key; sanitised keys never hold a slash, so the two forms cannot be confused.
// Rules that only tighten are judged by themselves, so that a long ask of a
// project never outvotes a deny of the user's; one that says allow is none.
func best(rules []config.Rule, tighten bool, key, server, tool string) *config.Rule {
	var found *config.Rule
	most := -1
	for i := range rules {
		r := &rules[i]
		if r.Tighten != tighten || tighten && Action(r.Action) == Allow {
			continue
		}
		subject := key
		if isPair(r.Pattern) {
			subject = server + "/" + tool
		}
		if !Match(r.Pattern, subject) {
			continue
		}
		n := literals(r.Pattern)
		if n > most || n == most && Action(r.Action).strictness() > Action(found.Action).strictness() {
			found, most = r, n
		}
	}
	return found
}
