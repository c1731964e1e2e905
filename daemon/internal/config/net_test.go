package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestNetIsTheUsersAlone(t *testing.T) {
	w := newWorld(t)
	w.user(`{"net": {"allow": ["api.example.com", "http://localhost:3000"], "private": true, "maxResponse": "1MiB"}}`)
	w.projectConfig(`{"net": {"allow": ["evil.example"]}, "script": {"maxToolCalls": 5}}`)
	if _, err := w.store.Trust(w.project); err != nil {
		t.Fatal(err)
	}
	v := w.view()
	want := Net{Allow: []string{"api.example.com", "http://localhost:3000"}, Private: true, MaxResponse: 1 << 20}
	if !reflect.DeepEqual(v.Permissions.Net, want) || !hasNote(v, "net is ignored") {
		t.Errorf("%+v, notes %+v", v.Permissions.Net, v.Notes)
	}
	if d := Defaults().Permissions.Net; len(d.Allow) != 0 || d.Private || d.MaxResponse != 10<<20 {
		t.Errorf("defaults: %+v", d)
	}
}

func TestAHostThatIsNoneIsToldWhereItStands(t *testing.T) {
	w := newWorld(t)
	w.user("{\"net\": {\"allow\": [\n\"api.example.com\",\n\"https://api.example.com/v1\"]}}")
	_, err := w.store.View(w.project, "", w.env())
	if err == nil || !strings.Contains(err.Error(), ":3:1: net.allow") || !strings.Contains(err.Error(), "without a path") {
		t.Errorf("%v", err)
	}
}

// What an agent writes into the configuration while it runs opens nothing.
func TestMoreHostsWaitWhileSessionsAreAttached(t *testing.T) {
	w := newWorld(t)
	w.attached = true
	w.user(`{"net": {"allow": ["a.example", "b.example"]}}`)
	hosts := func() string {
		v := w.view()
		out := strings.Join(v.Permissions.Net.Allow, " ")
		if v.Permissions.Net.Private {
			out += " private"
		}
		if v.Held {
			out += " held"
		}
		return out
	}
	if got := hosts(); got != "a.example b.example" {
		t.Fatal(got)
	}
	w.user(`{"net": {"allow": ["b.example", "*"], "private": true}}`)
	if got := hosts(); got != "b.example held" {
		t.Errorf("looser: %s", got)
	}
	if changed, err := w.store.TrustConfig(); err != nil || !changed {
		t.Errorf("%v %v", changed, err)
	}
	if got := hosts(); got != "b.example * private" {
		t.Errorf("accepted: %s", got)
	}
	w.user(`{}`)
	if got := hosts(); got != "" {
		t.Errorf("stricter: %s", got)
	}
}
