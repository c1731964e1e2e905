package run

import (
	"context"
	"net/http"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// What the artifacts that a program keeps itself may come to in one run. Those
// of servers' answers have the bounds of the answers.
const (
	maxArtifacts     = 1000
	maxArtifactBytes = 128 << 20
)

// kept is what the global artifact gives a program: a handle that its result can
// carry in place of the bytes.
type kept struct {
	Type     string `json:"type"` // artifact
	Name     string `json:"name"`
	MimeType string `json:"mimeType"`
	Bytes    int64  `json:"bytes"`
	Artifact string `json:"artifact"`
}

// Artifact serves artifact(name, data, options).
func (h *host) Artifact(_ context.Context, a engine.Artifact) ([]byte, error) {
	r := h.r
	if r.m.o.History == nil {
		return nil, fault.New(fault.InternalError, "nothing can be kept here").WithHint("the daemon runs without a history; return the value itself")
	}
	r.mu.Lock()
	r.ownArtifacts++
	r.ownBytes += len(a.Data)
	full := r.ownArtifacts > maxArtifacts || r.ownBytes > maxArtifactBytes
	if full {
		r.ownBytes -= len(a.Data)
	}
	r.mu.Unlock()
	if full {
		return nil, fault.New(fault.InvalidToolInput, "the artifact %s is more than a run may keep: %d, and %d bytes together", a.Name, maxArtifacts, maxArtifactBytes).
			WithHint("keep less, or split the work into several runs")
	}
	if a.MimeType == "" {
		a.MimeType = http.DetectContentType(a.Data)
	}
	put, err := r.m.o.History.Put(r.ID, a.Name, a.MimeType, a.Data)
	if err != nil {
		return nil, fault.New(fault.InternalError, "the artifact %s could not be kept", a.Name).Because(err).
			WithHint("the daemon's log has the cause: tenon daemon logs")
	}
	r.keepArtifact(put)
	return proto.Marshal(kept{Type: "artifact", Name: put.Name, MimeType: put.MimeType, Bytes: put.Bytes, Artifact: put.ID})
}

// keepArtifact adds an artifact to the run's books.
func (r *Run) keepArtifact(a proto.Artifact) {
	r.mu.Lock()
	r.artifacts = append(r.artifacts, a)
	r.mu.Unlock()
	r.event("artifact", a, 128)
}
