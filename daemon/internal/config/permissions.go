package config

import (
	"slices"
	"strings"
)

// Preset is a named combination of the two dials.
type Preset struct {
	Name     string
	Sandbox  string // confined, read-only, workspace-write, full
	Approval string // ask, never
}

// DefaultPreset is in effect where nothing is set.
const DefaultPreset = "request"

// CustomPreset names every combination that no preset has. It is what is found,
// never a setting to choose.
const CustomPreset = "custom"

// builtin is the table of docs/permissions.md; the default comes first.
var builtin = []Preset{
	{Name: DefaultPreset, Sandbox: "workspace-write", Approval: "ask"},
	{Name: "yolo", Sandbox: "full", Approval: "never"},
}

// BuiltinPresets lists the presets that exist without any configuration.
func BuiltinPresets() []Preset { return slices.Clone(builtin) }

// presetNamed finds a preset, also among the own ones.
func presetNamed(name string, own []Preset) (Preset, bool) {
	for _, p := range slices.Concat(builtin, own) {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// readPresets reads the presets of one file, in the order of their names, and
// checks that permissions.preset names one that counts there: a project's file
// has no presets of its own.
func (l *layer) readPresets() error {
	n := l.doc.get("permissions")
	if presets := n.get("presets"); presets != nil && !l.source.project {
		for _, m := range presets.members {
			if err := checkPreset(m); err != nil {
				return err
			}
			l.presets = append(l.presets, Preset{
				Name: m.name, Sandbox: m.value.get("sandbox").text, Approval: m.value.get("approval").text,
			})
		}
		slices.SortFunc(l.presets, func(a, b Preset) int { return strings.Compare(a.Name, b.Name) })
	}
	v := n.get("preset")
	if v == nil {
		return nil
	}
	if _, known := presetNamed(v.text, l.presets); !known {
		names := presetNames(l.presets)
		p := badAt(v, "permissions.preset: %q is none of %s", v.text, strings.Join(names, ", "))
		if near := nearest(v.text, names); near != "" {
			p.hint = "did you mean \"" + near + "\"?"
		}
		return p
	}
	return nil
}

func presetNames(own []Preset) []string {
	var names []string
	for _, p := range slices.Concat(builtin, own) {
		names = append(names, p.Name)
	}
	return names
}

// checkPreset refuses a preset that is not whole, or whose name means something
// else already.
func checkPreset(m member) error {
	_, taken := presetNamed(m.name, nil)
	switch {
	case taken || m.name == CustomPreset:
		return &placed{at: m.at, message: "permissions.presets: the name " + m.name + " is taken", hint: "choose another one"}
	case m.name == "" || visible(m.name) != m.name:
		return &placed{at: m.at, message: "permissions.presets: a name must be printable text"}
	}
	for _, dial := range []string{"sandbox", "approval"} {
		if m.value.get(dial) == nil {
			return &placed{at: m.at, message: "permissions.presets." + m.name + ": " + dial + " is missing", hint: "a preset sets both dials: sandbox and approval"}
		}
	}
	return nil
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
	p := Permissions{Rules: l.rules, Presets: l.presets}
	n := l.doc.get("permissions")
	if v := n.get("preset"); v != nil {
		p.Preset = v.text
		known, _ := presetNamed(v.text, l.presets) // the file has been checked
		p.Sandbox, p.Approval = known.Sandbox, known.Approval
	}
	if v := n.get("sandbox"); v != nil {
		p.Sandbox = v.text
	}
	if v := n.get("approval"); v != nil {
		p.Approval = v.text
	}
	if net := l.doc.get("net"); net != nil && !l.source.project {
		if allow := net.get("allow"); allow != nil {
			p.Net.Allow, _ = allow.strings() // the file has been checked
		}
		private := net.get("private")
		p.Net.Private = private != nil && private.text == "true"
	}
	return p
}

// loosens reports whether next could lead anywhere that n does not.
func (n Net) loosens(next Net) bool {
	return next.Private && !n.Private || slices.ContainsFunc(next.Allow, func(host string) bool { return !slices.Contains(n.Allow, host) })
}

// within is the part of next that n allows as well.
func (n Net) within(next Net) Net {
	out := Net{Private: n.Private && next.Private}
	for _, host := range next.Allow {
		if slices.Contains(n.Allow, host) {
			out.Allow = append(out.Allow, host)
		}
	}
	return out
}

// complete fills empty dials from the default preset.
func (p Permissions) complete() Permissions {
	if p.Preset == "" && p.Sandbox == "" && p.Approval == "" {
		p.Preset = DefaultPreset
	}
	if p.Sandbox == "" {
		p.Sandbox = builtin[0].Sandbox
	}
	if p.Approval == "" {
		p.Approval = builtin[0].Approval
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
	if stricter(sandboxes, p.Sandbox, next.Sandbox) != next.Sandbox || stricter(approvals, p.Approval, next.Approval) != next.Approval ||
		p.Net.loosens(next.Net) {
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
