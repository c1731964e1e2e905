package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

const (
	keepAlive  = 15 * time.Second // between signs of life on a quiet stream
	writeLimit = 30 * time.Second // for one frame: a peer that reads nothing is gone
)

// streamKind is how a client wants frames.
type streamKind int

const (
	oneDocument streamKind = iota
	ndjson
	sse
)

// wanted reads the Accept header: the first of the three kinds it names.
func wanted(r *http.Request) streamKind {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		kind, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		switch kind {
		case "application/x-ndjson":
			return ndjson
		case "text/event-stream":
			return sse
		case "application/json":
			return oneDocument
		}
	}
	return oneDocument
}

// stream writes frames to one peer.
type stream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	kind streamKind
}

func newStream(w http.ResponseWriter, kind streamKind) *stream {
	contentType := "application/x-ndjson"
	if kind == sse {
		contentType = "text/event-stream"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, rc: http.NewResponseController(w), kind: kind}
}

// send writes one frame; flush decides whether the peer sees it at once.
func (s *stream) send(kind string, seq int64, v any, flush bool) error {
	raw, err := proto.Marshal(v)
	if err != nil {
		return fault.New(fault.InternalError, "cannot write a frame: %w", err)
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeLimit))
	if s.kind == sse {
		_, err = fmt.Fprintf(s.w, "event: %s\nid: %d\ndata: %s\n\n", kind, seq, raw)
	} else {
		_, err = s.w.Write(append(raw, '\n'))
	}
	if err == nil && flush {
		err = s.rc.Flush()
	}
	return err
}

// beat shows that the stream lives.
func (s *stream) beat() error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeLimit))
	text := "\n"
	if s.kind == sse {
		text = ": alive\n\n"
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}
