package run

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif"  // their heads are read
	_ "image/jpeg" // their heads are read
	_ "image/png"  // their heads are read
	"slices"

	"tenon/proto"
)

// What a model is shown of the pictures that one call gave. More, and larger
// ones, are artifacts only: a host would refuse them, or shrink them unasked.
const (
	maxImages     = 3
	maxImageBytes = 1536 << 10 // of all together
	maxImageSide  = 8000       // pixels; no model takes more
)

// shownTypes are those that every model with eyes takes.
var shownTypes = []string{"image/png", "image/jpeg", "image/gif"}

// images are the pictures among artifacts, for a host to show to its model: the
// one way in which bytes reach it, and as a picture, not as text. Bytes that are
// no such picture are left out: a host would put them into its transcript, which
// the model's provider then refuses for good.
func (r *Run) images(artifacts []proto.Artifact) (out []proto.Image) {
	if r.m.o.History == nil {
		return nil
	}
	left := int64(maxImageBytes)
	for _, a := range artifacts {
		if !slices.Contains(shownTypes, a.MimeType) || a.Bytes > left || len(out) == maxImages {
			continue
		}
		_, data, err := r.m.o.History.Open(r.ctx, a.ID)
		if err != nil {
			continue // its handle is all there is
		}
		head, kind, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || "image/"+kind != a.MimeType || max(head.Width, head.Height) > maxImageSide || min(head.Width, head.Height) < 1 {
			continue
		}
		left -= a.Bytes
		out = append(out, proto.Image{Artifact: a.ID, MimeType: a.MimeType, Data: base64.StdEncoding.EncodeToString(data)})
	}
	return out
}
