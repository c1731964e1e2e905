package api

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

const (
	keepAlive = 15 * time.Second // between signs of life on a quiet stream
	// DefaultPeerLimit is when a peer that sends or reads nothing is gone.
	DefaultPeerLimit = 30 * time.Second
)

// bounded are the two halves of a connection with a bound on the peer: one that
// goes on holding its end while it sends and reads nothing must not keep work
// alive, which would hold up the daemon's end.
type bounded struct {
	http.ResponseWriter
	rc    *http.ResponseController
	limit time.Duration
	body  io.ReadCloser
	begun bool
}

func bound(w http.ResponseWriter, body io.ReadCloser, limit time.Duration) *bounded {
	return &bounded{ResponseWriter: w, rc: http.NewResponseController(w), limit: limit, body: body}
}

// Unwrap is for http.ResponseController.
func (b *bounded) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// Write gives each piece the whole bound: slow is not gone.
func (b *bounded) Write(p []byte) (n int, err error) {
	const piece = 64 << 10
	for first := true; first || n < len(p) && err == nil; first = false {
		_ = b.rc.SetWriteDeadline(time.Now().Add(b.limit))
		var m int
		m, err = b.ResponseWriter.Write(p[n:min(n+piece, len(p))])
		n += m
	}
	return n, err
}

// Read reads the body, which has the bound once as a whole.
func (b *bounded) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		_ = b.rc.SetReadDeadline(time.Now().Add(b.limit))
	}
	n, err := b.body.Read(p)
	if err == io.EOF { // from here on the connection is only watched for its end
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

func (b *bounded) Close() error { return b.body.Close() }

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
	text := "\n"
	if s.kind == sse {
		text = ": alive\n\n"
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}
