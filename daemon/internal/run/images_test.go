package run

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"math/rand/v2"
	"testing"

	"tenon/daemon/internal/call"
	"tenon/proto"
)

// picture is a PNG of a square that does not compress.
func picture(t *testing.T, side int) []byte {
	t.Helper()
	square := image.NewNRGBA(image.Rect(0, 0, side, side))
	for i := range square.Pix {
		square.Pix[i] = byte(rand.Uint32())
	}
	var b bytes.Buffer
	if err := png.Encode(&b, square); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAModelIsShownThePicturesOfOneCall(t *testing.T) {
	r := newRig(t)
	small, large := picture(t, 16), picture(t, 700)
	if len(large) <= maxImageBytes {
		t.Fatalf("%d bytes are no large picture", len(large))
	}
	var kept []proto.Artifact
	for _, one := range []struct {
		mimeType string
		data     []byte
	}{
		{"image/png", large}, {"image/png", []byte("\x89PNG\r\n\x1a\n and no picture")}, {"image/jpeg", small}, {"image/svg+xml", []byte("<svg/>")},
		{"application/pdf", small}, {"image/png", small}, {"image/png", small}, {"image/png", small}, {"image/png", small},
	} {
		a, err := r.m.o.History.Put("", "shot", one.mimeType, one.data)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, a)
	}
	r.path.call = func(context.Context, call.Request) (*call.Result, error) {
		return &call.Result{Value: json.RawMessage(`[]`), Artifacts: kept}, nil
	}
	res, err := r.m.Call(t.Context(), CallSpec{Spec: r.spec(proto.ExecRequest{}), Server: "fake", Tool: "shot", Text: proto.TextLimits{Bytes: 48 << 10, Lines: 1900}})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Images) != maxImages {
		t.Fatalf("%d pictures, want %d", len(res.Images), maxImages)
	}
	for i, shown := range res.Images {
		if shown.Artifact != kept[5+i].ID || shown.MimeType != "image/png" || shown.Data != base64.StdEncoding.EncodeToString(small) {
			t.Errorf("picture %d: %+v", i, shown)
		}
	}
	// a caller that is no model has the artifacts
	res, err = r.m.Call(t.Context(), CallSpec{Spec: r.spec(proto.ExecRequest{}), Server: "fake", Tool: "shot"})
	if err != nil || len(res.Images) != 0 || len(res.Artifacts) != len(kept) {
		t.Errorf("%+v, %v", res, err)
	}
}
