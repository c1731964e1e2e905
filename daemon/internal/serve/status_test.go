package serve

import (
	"context"
	"testing"

	"tenon/daemon/internal/engine/embedded"
)

// CODE-01: GET /v1/status names what executes programs, with its version.
func TestStatusNamesTheEngines(t *testing.T) {
	r := start(t, nil)
	status, err := r.client("").Status(context.Background())
	if err != nil || len(status.Engines) != 1 || status.Engines[0] != embedded.Info() {
		t.Errorf("%+v, %v", status.Engines, err)
	}
}
