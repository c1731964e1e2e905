package mcpserver

import (
	"bytes"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/proto"
)

func TestAPictureIsContentOfItsOwn(t *testing.T) {
	res := outcome{text: "see", images: []proto.Image{{Artifact: "art_1", MimeType: "image/png", Data: "iVBORw=="}}}.result()
	if len(res.Content) != 2 {
		t.Fatalf("content %+v", res.Content)
	}
	text, _ := res.Content[0].(*mcp.TextContent)
	picture, _ := res.Content[1].(*mcp.ImageContent)
	if text == nil || text.Text != "see" || picture == nil || picture.MIMEType != "image/png" || !bytes.Equal(picture.Data, []byte("\x89PNG")) {
		t.Errorf("content %+v", res.Content)
	}
}
