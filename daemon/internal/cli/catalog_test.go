package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tenon/proto"
)

func TestTheCatalogueAndItsDelta(t *testing.T) {
	p := newPlace(t, nil)
	got := p.run("catalog", "--budget", "5000")
	if got.code != 0 || !strings.Contains(got.out, "tools.fake: ") || !strings.Contains(got.out, "\n  echo(args: { text: string })") {
		t.Fatalf("%+v", got)
	}
	var whole, delta proto.Catalog
	if err := json.Unmarshal([]byte(p.run("catalog", "--json").out), &whole); err != nil || whole.Total == 0 {
		t.Fatalf("%v: %+v", err, whole)
	}
	if !strings.Contains(got.err, "fingerprint "+whole.Fingerprint) {
		t.Errorf("how to ask for changes is said: %s", got.err)
	}
	p.run("call", "fake", "load")
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // the changed list is read 100 ms after the server told of it
		got = p.run("catalog", "--since", whole.Fingerprint, "--json")
		if err := json.Unmarshal([]byte(got.out), &delta); err != nil || !delta.Delta || time.Now().After(end) {
			t.Fatalf("%v: %+v", err, got)
		}
		if strings.Contains(delta.Text, "+ tools.fake.extra(") {
			return
		}
	}
}

func TestTypesAreDeclarations(t *testing.T) {
	p := newPlace(t, nil)
	got := p.run("types", "fake.echo")
	if got.code != 0 || !strings.Contains(got.out, "declare namespace fake {") || !strings.Contains(got.out, "function echo(args: { text: string") ||
		strings.Contains(got.out, "function pid(") {
		t.Errorf("%+v", got)
	}
	if got := p.run("types", "fkae"); got.code != 1 || !strings.Contains(got.err, "did you mean fake?") {
		t.Errorf("%+v", got)
	}
}
