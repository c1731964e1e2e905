package config

import "slices"

// presetDials is what a preset writes to the two dials.
var presetDials = map[string]struct{ sandbox, approval string }{
	"request": {"workspace-write", "ask"},
	"yolo":    {"full", "never"},
}

// sandboxes and approvals are in order, strictest first.
var (
	sandboxes = []string{"confined", "read-only", "workspace-write", "full"}
	approvals = []string{"ask", "never"}
)

// permissionsOf reads the permissions of one file; absent dials stay empty.
func permissionsOf(l *layer) Permissions {
	if l == nil {
		return Permissions{}
	}
	p := Permissions{Rules: l.rules}
	n := l.doc.get("permissions")
	if v := n.get("preset"); v != nil {
		p.Preset = v.text
		p.Sandbox, p.Approval = presetDials[v.text].sandbox, presetDials[v.text].approval
	}
	if v := n.get("sandbox"); v != nil {
		p.Sandbox = v.text
	}
	if v := n.get("approval"); v != nil {
		p.Approval = v.text
	}
	return p
}

// complete fills empty dials from the default preset.
func (p Permissions) complete() Permissions {
	if p.Preset == "" && p.Sandbox == "" && p.Approval == "" {
		p.Preset = "request"
	}
	d := presetDials["request"]
	if p.Sandbox == "" {
		p.Sandbox = d.sandbox
	}
	if p.Approval == "" {
		p.Approval = d.approval
	}
	return p
}

// tightened is p with what other makes stricter: stricter dials, and its ask
// and deny rules as rules that can only tighten. other's empty dials and allow
// rules change nothing.
func (p Permissions) tightened(other Permissions) Permissions {
	p.Rules = slices.Clone(p.Rules)
	if other.Sandbox != "" {
		p.Sandbox = stricter(sandboxes, p.Sandbox, other.Sandbox)
	}
	if other.Approval != "" {
		p.Approval = stricter(approvals, p.Approval, other.Approval)
	}
	for _, r := range other.Rules {
		if r.Action == "allow" {
			continue
		}
		r.Tighten = true
		if !slices.ContainsFunc(p.Rules, func(have Rule) bool { return sameRule(have, r) }) {
			p.Rules = append(p.Rules, r)
		}
	}
	return p
}

func stricter(order []string, a, b string) string {
	return order[min(slices.Index(order, a), slices.Index(order, b))]
}

func sameRule(a, b Rule) bool {
	return a.Pattern == b.Pattern && a.Action == b.Action
}

// loosens reports whether next could allow anything that p does not. It errs
// on the side of yes: a new ask counts, since it can be longer than a deny.
func (p Permissions) loosens(next Permissions) bool {
	if stricter(sandboxes, p.Sandbox, next.Sandbox) != next.Sandbox || stricter(approvals, p.Approval, next.Approval) != next.Approval {
		return true
	}
	strictness := map[string]int{"allow": 0, "ask": 1, "deny": 2}
	for _, old := range p.Rules {
		i := slices.IndexFunc(next.Rules, func(r Rule) bool { return r.Pattern == old.Pattern })
		if i < 0 && old.Action != "allow" || i >= 0 && strictness[next.Rules[i].Action] < strictness[old.Action] {
			return true
		}
	}
	for _, r := range next.Rules {
		known := slices.ContainsFunc(p.Rules, func(old Rule) bool { return old.Pattern == r.Pattern })
		if !known && r.Action != "deny" {
			return true
		}
	}
	return false
}
