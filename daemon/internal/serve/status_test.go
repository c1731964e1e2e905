package serve

import (
	"context"
	"slices"
	"testing"

	"tenon/daemon/internal/engine/embedded"
	"tenon/daemon/internal/engine/process"
)

// CODE-01: GET /v1/status names what executes programs, with its version.
func TestStatusNamesTheEngines(t *testing.T) {
	r := start(t, nil)
	status, err := r.client("").Status(context.Background())
	if err != nil || len(status.Engines) != 4 || status.Engines[0] != embedded.Info() {
		t.Fatalf("%+v, %v", status.Engines, err)
	}
	for i, name := range process.Names() { // installed or not: each is named, with its version or the reason
		if e := status.Engines[i+1]; e.Name != name || e.Available == (e.Reason != "") || e.Available && (e.Version == "" || e.Path == "") {
			t.Errorf("%+v", e)
		}
	}
	if status.Sandbox == nil || !slices.Contains(status.Sandbox.Modes, "full") {
		t.Errorf("%+v", status.Sandbox)
	}
}
