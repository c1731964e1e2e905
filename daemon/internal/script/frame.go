package script

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"tenon/proto"
)

// What compiler and helper say to each other: frames of a four-byte length
// (big-endian) and that many bytes of JSON, one request, one response. Every
// request is answered; the helper leaves when its input ends.
type request struct {
	Source Source        `json:"source"`
	Target Target        `json:"target,omitempty"`
	Limit  time.Duration `json:"limit,omitempty"` // of processor time; 0: a sign of life is wanted
}

type response struct {
	Program *Program     `json:"program,omitempty"`
	Error   *proto.Error `json:"error,omitempty"`
}

// maxFrame bounds what either side reads: the source map of a source of
// MaxSource bytes is the largest thing there is.
const maxFrame = 64 << 20

func writeFrame(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err = w.Write(append(frame, body...))
	return err
}

func readFrame(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return fmt.Errorf("a frame of %d bytes is longer than %d", size, maxFrame)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}
