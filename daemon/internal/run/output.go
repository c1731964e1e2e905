package run

import (
	"context"
	"strings"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// Output is the whole output of a run, or the bytes of an artifact, by id. The
// output of a run that fitted its result is made from the result.
func (m *Manager) Output(ctx context.Context, id string) (proto.Artifact, []byte, error) {
	if m.o.History == nil {
		return proto.Artifact{}, nil, fault.New(fault.NotFound, "nothing is kept here")
	}
	a, data, err := m.o.History.Open(ctx, id)
	if err == nil || !strings.HasPrefix(id, "run_") {
		return a, data, err
	}
	row, missing := m.o.History.Show(ctx, id)
	if missing != nil {
		return a, nil, missing
	}
	if row.Result == nil {
		return a, nil, fault.New(fault.NotFound, "run %s has no output yet: it is %s", id, row.Status).
			WithHint("tenon runs show %s follows it", id)
	}
	data = wholeOf(row.Result)
	return proto.Artifact{ID: id, Name: "output", MimeType: "text/plain; charset=utf-8", Bytes: int64(len(data))}, data, nil
}
