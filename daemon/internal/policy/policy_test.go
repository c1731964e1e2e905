package policy

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"tenon/daemon/internal/config"
	"tenon/daemon/internal/peer"
	"tenon/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestKeyReplacesWhatTheHostReplaces(t *testing.T) {
	for _, c := range [][3]string{
		{"my.dotted/name", "slow.wait", "my_dotted_name_slow_wait"},
		{"chrome-devtools", "new_page", "chrome-devtools_new_page"},
		{"fake", "Create CIFS Share", "fake_Create_CIFS_Share"},
		{"fake", "über", "fake__ber"},
		{"fake", "a😀b", "fake_a__b"},
	} {
		if got := Key(c[0], c[1]); got != c[2] {
			t.Errorf("Key(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestMatchFollowsTheHostsWildcards(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true},
		{"srv_*", "srv_echo", true},
		{"srv_*", "xsrv_echo", false},
		{"s?v_e*", "srv_echo", true},
		{"s?v", "srrv", false},
		{"srv_echo", "srv_echo2", false},
		{"a.c", "abc", false},
		{"*_echo", "srv_x_echo", true},
		{"a*b*c", "aXbYbZc", true},
		{"a*b*c", "aXbYbZ", false},
		{"ls *", "ls", true},
		{"ls *", "ls -la", true},
		{"ls *", "lstmeval", false},
		{`a\b`, "a/b", true},
		{"a/b", `a\b`, true},
		{"x*", "*", false},
		{"one*", "one\ntwo", true},
		{"?", "é", true},
		{"?", "😀", false},
		{"??", "😀", true},
		{"ü *", "ü", true},
		{"", "", true},
		{"", "a", false},
	} {
		if got := Match(c.pattern, c.s); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.s, got, c.want)
		}
	}
}

// The table of the host's own verdicts on MCP tools, as measured on 1.18.31;
// the built-in agent's list begins with "*": allow.
func TestHostListsAreEvaluatedAsTheHostDoes(t *testing.T) {
	rule := func(permission, pattern, action string) proto.Rule {
		return proto.Rule{Permission: permission, Pattern: pattern, Action: action}
	}
	base := rule("*", "*", "allow")
	for name, c := range map[string]struct {
		rules []proto.Rule
		want  Action
	}{
		"no rules at all":              {nil, Ask},
		"built-in only":                {[]proto.Rule{base}, Allow},
		"specific after general":       {[]proto.Rule{base, rule("*", "*", "ask"), rule("srv_*", "*", "allow")}, Allow},
		"deny then specific allow":     {[]proto.Rule{base, rule("srv_*", "*", "deny"), rule("srv_echo", "*", "allow")}, Allow},
		"allow then general deny":      {[]proto.Rule{base, rule("srv_echo", "*", "allow"), rule("srv_*", "*", "deny")}, Deny},
		"later star wins":              {[]proto.Rule{base, rule("srv_*", "*", "deny"), rule("*", "*", "allow")}, Allow},
		"only a narrower pattern":      {[]proto.Rule{base, rule("srv_echo", "x*", "deny")}, Allow},
		"ask with narrower beside it":  {[]proto.Rule{base, rule("srv_echo", "*", "ask"), rule("srv_echo", "x*", "deny")}, Ask},
		"question mark":                {[]proto.Rule{base, rule("s?v_e*", "*", "deny")}, Deny},
		"unknown action counts as ask": {[]proto.Rule{base, rule("srv_echo", "*", "alow")}, Ask},
	} {
		t.Run(name, func(t *testing.T) {
			v := Decide(Input{
				View: &config.View{}, Class: peer.Agent, Server: "srv", Tool: "echo", Hosted: true,
				Host: &proto.RuleList{Confirmed: true, Rules: c.rules},
			})
			if v.Action.strictness() != c.want.strictness() {
				t.Errorf("verdict %s (%s), want %s", v.Action, v.From(), c.want)
			}
		})
	}
}

// rules are patterns and actions in turn.
func rules(pairs ...string) config.Permissions {
	var p config.Permissions
	for i := 0; i < len(pairs); i += 2 {
		p.Rules = append(p.Rules, config.Rule{Pattern: pairs[i], Action: pairs[i+1]})
	}
	return p
}

func TestVerdict(t *testing.T) {
	allowAll := &proto.RuleList{Confirmed: true, Rules: []proto.Rule{{Permission: "*", Pattern: "*", Action: "allow"}}}
	askAll := &proto.RuleList{Confirmed: true, Rules: []proto.Rule{{Permission: "*", Pattern: "*", Action: "ask"}}}
	denyAll := &proto.RuleList{Confirmed: true, Rules: []proto.Rule{{Permission: "*", Pattern: "*", Action: "deny"}}}
	stale := &proto.RuleList{Rules: allowAll.Rules}
	never := func(p config.Permissions) config.Permissions { p.Approval = Never; return p }
	for _, c := range []struct {
		name       string
		perm       config.Permissions
		class      peer.Class
		host       *proto.RuleList
		noHost     bool
		remembered bool
		want       Action
		from       string
	}{
		{name: "user, no rule", class: peer.User, want: Allow, from: "preset request"},
		{name: "user, explicit ask", perm: rules("srv_*", "ask"), class: peer.User, want: Ask, from: `rule "srv_*"`},
		{name: "user, ask under never", perm: never(rules("srv_*", "ask")), class: peer.User, want: Allow, from: "never"},
		{name: "user, deny under never", perm: never(rules("srv_*", "deny")), class: peer.User, want: Deny},
		{name: "user, deny under yolo", perm: func() config.Permissions { p := rules("srv_*", "deny"); p.Preset = "yolo"; return p }(), class: peer.User, want: Deny},
		{name: "longest pattern wins", perm: rules("srv_echo", "allow", "srv_*", "deny"), class: peer.User, want: Allow},
		{name: "longest pattern wins, other order", perm: rules("srv_*", "deny", "srv_echo", "allow"), class: peer.User, want: Allow},
		{name: "wildcards do not count", perm: rules("srv_e???", "allow", "srv_ec*", "deny"), class: peer.User, want: Deny},
		{name: "tie goes to the stricter", perm: rules("srv_*", "allow", "*_echo", "deny", "*rv_e*", "ask"), class: peer.User, want: Deny},
		{name: "session: default leaves it to the host", class: peer.Agent, host: allowAll, want: Allow, from: "host rule"},
		{name: "session: host asks", class: peer.Agent, host: askAll, want: Ask, from: "host rule"},
		{name: "session: host denies", class: peer.Agent, host: denyAll, want: Deny, from: "host rule"},
		{name: "session: daemon stricter", perm: rules("srv_echo", "deny"), class: peer.Agent, host: allowAll, want: Deny, from: "rule \"srv_echo\""},
		{name: "session: host stricter", perm: rules("srv_echo", "allow"), class: peer.Agent, host: denyAll, want: Deny, from: "host rule"},
		{name: "session: daemon ask over host allow", perm: rules("srv_echo", "ask"), class: peer.Agent, host: allowAll, want: Ask, from: "rule"},
		{name: "session: list not confirmed", class: peer.Agent, host: stale, want: Ask, from: "not confirmed"},
		{name: "session: no list", class: peer.Agent, want: Ask, from: "not confirmed"},
		{name: "session: never does not open the host's ask", perm: never(rules()), class: peer.Agent, host: askAll, want: Ask, from: "host rule"},
		{name: "session without a host", class: peer.Agent, noHost: true, want: Ask, from: "preset"},
		{name: "session without a host under never", perm: never(rules()), class: peer.Agent, noHost: true, want: Allow},
		{name: "remembered turns ask", class: peer.Agent, host: askAll, remembered: true, want: Allow, from: "remembered"},
		{name: "remembered never turns the host's deny", class: peer.Agent, host: denyAll, remembered: true, want: Deny},
		{name: "remembered never turns our deny", perm: rules("*", "deny"), class: peer.User, remembered: true, want: Deny},
		{name: "stranger, no rule", class: peer.Stranger, want: Deny, from: "ticket"},
		{name: "stranger, ask", perm: rules("srv_*", "ask"), class: peer.Stranger, want: Deny, from: "ticket"},
		{name: "stranger, explicit allow", perm: rules("srv_*", "allow"), class: peer.Stranger, want: Allow, from: "rule"},
		{name: "stranger, ask under never", perm: never(rules("srv_*", "ask")), class: peer.Stranger, want: Deny},
		{name: "stranger, remembered", class: peer.Stranger, remembered: true, want: Deny},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Decide(Input{
				View: &config.View{Permissions: c.perm}, Class: c.class, Server: "srv", Tool: "echo",
				Hosted: !c.noHost, Host: c.host, Remembered: c.remembered,
			})
			if v.Action != c.want || !strings.Contains(v.From(), c.from) {
				t.Errorf("got %s from %q, want %s from %q", v.Action, v.From(), c.want, c.from)
			}
		})
	}
}

// Two pairs can share a key; a rule over the key hits both, one with a slash
// names the pair.
// A project only tightens: whatever the length of its patterns, it neither
// opens what the user closed nor loses to what the user opened.
func TestRulesThatTightenAreJudgedByThemselves(t *testing.T) {
	tighten := func(pairs ...string) []config.Rule {
		out := rules(pairs...).Rules
		for i := range out {
			out[i].Tighten = true
		}
		return out
	}
	for _, c := range []struct {
		name          string
		user, project []config.Rule
		class         peer.Class
		want          Action
	}{
		{"a long ask does not outvote a short deny", rules("srv_*", "deny").Rules, tighten("srv_echo", "ask"), peer.User, Deny},
		{"a short deny holds against a long allow", rules("srv_echo", "allow").Rules, tighten("*", "deny"), peer.User, Deny},
		{"a short ask holds against a long allow", rules("srv_echo", "allow").Rules, tighten("srv_*", "ask"), peer.User, Ask},
		{"where the user says nothing", nil, tighten("srv_*", "ask"), peer.User, Ask},
		{"where it says nothing itself", rules("srv_*", "ask").Rules, tighten("other_*", "deny"), peer.User, Ask},
		{"an allow of a project opens nothing", nil, tighten("srv_echo", "allow"), peer.Stranger, Deny},
		{"among themselves the longest wins", nil, tighten("srv_*", "deny", "srv_echo", "ask"), peer.User, Ask},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := &config.View{Permissions: config.Permissions{Preset: "request", Rules: append(append([]config.Rule{}, c.project...), c.user...)}}
			got := Decide(Input{View: v, Class: c.class, Server: "srv", Tool: "echo"})
			if got.Action != c.want {
				t.Errorf("%s (%s), want %s", got.Action, got.From(), c.want)
			}
		})
	}
}

func TestPairsThatShareAKey(t *testing.T) {
	decide := func(pattern, server, tool string) Action {
		return Decide(Input{
			View:  &config.View{Permissions: config.Permissions{Rules: []config.Rule{{Pattern: pattern, Action: "deny"}}}},
			Class: peer.User, Server: server, Tool: tool,
		}).Action
	}
	if decide("foo_bar_baz", "foo", "bar_baz") != Deny || decide("foo_bar_baz", "foo_bar", "baz") != Deny {
		t.Error("a key that cannot tell two tools apart must hold for both")
	}
	if decide("foo_bar/baz", "foo", "bar_baz") != Allow {
		t.Error("a pair rule must not hit another pair with the same key")
	}
	if decide("foo_bar/baz", "foo_bar", "baz") != Deny {
		t.Error("a pair rule must hit its pair")
	}
}

// what a rule says of a server as a whole is not outvoted by a longer
// pattern that may be meant for the other one.
func TestTheStricterRuleWinsWhereAKeyIsShared(t *testing.T) {
	decide := func(shared []string, rules ...config.Rule) Action {
		return Decide(Input{
			View: &config.View{Permissions: config.Permissions{Rules: rules}}, Class: peer.User,
			Server: "foo", Tool: "bar_baz", SharedWith: shared,
		}).Action
	}
	denyFoo, allowOther := config.Rule{Pattern: "foo_*", Action: "deny"}, config.Rule{Pattern: "foo_bar_*", Action: "allow"}
	if decide(nil, denyFoo, allowOther) != Allow {
		t.Error("where nothing is shared the longest pattern wins")
	}
	if decide([]string{"foo_bar"}, denyFoo, allowOther) != Deny {
		t.Error("foo is denied as a whole")
	}
	if decide([]string{"foo_bar"}, config.Rule{Pattern: "foo_*", Action: "allow"}, config.Rule{Pattern: "foo_bar_*", Action: "deny"}) != Deny {
		t.Error("foo_bar is denied as a whole")
	}
	if decide([]string{"foo_bar"}, denyFoo, config.Rule{Pattern: "foo/bar_baz", Action: "allow"}) != Allow {
		t.Error("a rule that names the pair is not concerned")
	}
	if decide([]string{"foo_bar"}, config.Rule{Pattern: "*", Action: "deny"}, config.Rule{Pattern: "foo_bar_baz", Action: "allow"}) != Allow {
		t.Error("a rule over everything speaks of no server")
	}
	got := Collisions([][2]string{{"foo", "bar_baz"}, {"x", "y"}, {"foo_bar", "baz"}, {"foo.bar", "baz"}})
	if len(got) != 1 || got[0].Key != "foo_bar_baz" || strings.Join(got[0].Tools, " ") != "foo/bar_baz foo_bar/baz foo.bar/baz" {
		t.Errorf("collisions %+v", got)
	}
}

func TestPresetIsDerivedFromTheDials(t *testing.T) {
	own := []config.Preset{{Name: "careful", Sandbox: "read-only", Approval: "ask"}, {Name: "same", Sandbox: "full", Approval: "never"}}
	for _, c := range []struct {
		p    config.Permissions
		want string
	}{
		{config.Permissions{}, "request"},
		{config.Permissions{Preset: "yolo"}, "yolo"},
		{config.Permissions{Sandbox: "full", Approval: "never"}, "yolo"},
		{config.Permissions{Preset: "yolo", Approval: "ask"}, Custom},
		{config.Permissions{Preset: "custom"}, "request"},
		{config.Permissions{Sandbox: "read-only"}, Custom},
		{config.Permissions{Sandbox: "read-only", Presets: own}, "careful"},
		{config.Permissions{Preset: "careful", Presets: own}, "careful"},
		{config.Permissions{Sandbox: "full", Approval: "never", Presets: own}, "yolo"},
	} {
		if got := Derive(c.p); got != c.want {
			t.Errorf("Derive(%+v) = %s, want %s", c.p, got, c.want)
		}
	}
}

func TestMemorySurvivesARestartAndKnowsThePair(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	m := NewMemory(dir, quiet())
	if m.Allowed("/p", "foo", "bar_baz", "f1") {
		t.Fatal("nothing was remembered yet")
	}
	if err := m.Remember(Approval{Dir: "/p", Key: "foo_bar_baz", Server: "foo", Tool: "bar_baz", Fingerprint: "f1"}); err != nil {
		t.Fatal(err)
	}
	again := NewMemory(dir, quiet())
	for _, c := range []struct {
		dir, server, tool, fp string
		want                  bool
	}{
		{"/p", "foo", "bar_baz", "f1", true},
		{"/p", "foo", "bar_baz", "f2", false}, // the tool's definition changed
		{"/p", "foo_bar", "baz", "f1", false}, // same key, other pair
		{"/q", "foo", "bar_baz", "f1", false},
	} {
		if got := again.Allowed(c.dir, c.server, c.tool, c.fp); got != c.want {
			t.Errorf("Allowed(%q, %q, %q, %q) = %v, want %v", c.dir, c.server, c.tool, c.fp, got, c.want)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "approvals.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("approvals.json: %v, %v; want mode 0600", info, err)
	}
	if len(again.List()) != 1 {
		t.Errorf("List() = %v", again.List())
	}
}

func TestAnUnreadableMemoryAsksAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "approvals.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if NewMemory(dir, quiet()).Allowed("/p", "a", "b", "") {
		t.Error("a broken file must not allow anything")
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a*b?", "aXbY")
	f.Add(" *", "")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		Match(pattern, s)
		if utf8.ValidString(pattern) && utf8.ValidString(s) && !strings.ContainsAny(pattern, `*?\`) && !strings.Contains(s, `\`) && Match(pattern, s) != (pattern == s) {
			t.Errorf("a pattern without wildcards must be literal: %q, %q", pattern, s)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	list := &proto.RuleList{Confirmed: true}
	for i := 0; i < 40; i++ {
		list.Rules = append(list.Rules, proto.Rule{Permission: "tool_" + string(rune('a'+i%26)) + "*", Pattern: "*", Action: "ask"})
	}
	list.Rules = append([]proto.Rule{{Permission: "*", Pattern: "*", Action: "allow"}}, list.Rules...)
	in := Input{View: &config.View{}, Class: peer.Agent, Server: "srv", Tool: "echo", Hosted: true, Host: list}
	b.ReportAllocs()
	for b.Loop() {
		Decide(in)
	}
}
