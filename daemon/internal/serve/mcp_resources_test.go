//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package serve

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/client"
	"tenon/proto"
)

func TestResourcesAreTheCatalogueAndTheTypes(t *testing.T) {
	r := start(t, nil)
	c := r.dialMCP("lines", "/mcp", "", nil)
	for uri, want := range map[string]string{"tenon://catalog": "echo", "tenon://types/fake": "echo"} {
		res, err := c.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(res.Contents) != 1 || !strings.Contains(res.Contents[0].Text, want) {
			t.Errorf("%s: %+v, %v", uri, res, err)
		}
	}
	for _, uri := range []string{"tenon://types/nope", "file:///etc/passwd"} {
		if _, err := c.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is there", uri)
		}
	}
	list, err := c.ListResourceTemplates(context.Background(), nil)
	if err != nil || len(list.ResourceTemplates) != 2 || list.ResourceTemplates[0].URITemplate != "tenon://types/{namespace}" ||
		list.ResourceTemplates[1].URITemplate != "tenon://artifacts/{id}" {
		t.Errorf("%+v, %v", list, err)
	}
}

// What a run of a session left is read by that session, not by another.
func TestArtifactsAreResourcesOfTheirSession(t *testing.T) {
	r := start(t, nil)
	ctx := context.Background()
	as := func(id string) *mcpClient {
		made, err := r.client("").CreateSession(ctx, proto.SessionCreate{ID: id, Directory: r.paths.Home})
		if err != nil {
			t.Fatal(err)
		}
		return r.dialMCPAs(map[string]string{proto.HeaderSession: id, proto.HeaderTicket: made.Ticket, proto.HeaderDir: r.paths.Home}, nil)
	}
	mine, other := as("mine"), as("other")
	res := mine.call("exec", map[string]any{"code": `const picture = await artifact("a.bin", new Uint8Array([0, 255, 7]), { mimeType: "image/png" });
		const note = await artifact("a.txt", "words", { mimeType: "text/plain" });
		const big = await artifact("b.bin", "b".repeat(9 * 1024 * 1024), { mimeType: "image/png" });
		return [picture.artifact, note.artifact, big.artifact].join(" ")`}, nil)
	ids := strings.Fields(textOf(res))
	if res.IsError || len(ids) < 3 {
		t.Fatalf("%s", textOf(res))
	}
	read := func(c *mcpClient, id string) (*mcp.ResourceContents, error) {
		res, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "tenon://artifacts/" + id})
		if err != nil {
			return nil, err
		}
		return res.Contents[0], nil
	}
	if got, err := read(mine, ids[0]); err != nil || string(got.Blob) != "\x00\xff\x07" || got.MIMEType != "image/png" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := read(mine, ids[1]); err != nil || got.Text != "words" || got.Blob != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := read(mine, ids[2]); err == nil || !strings.Contains(err.Error(), "more than the 8388608") {
		t.Errorf("got %v", err)
	}
	run, err := r.client("").Runs(ctx, client.RunFilter{})
	if err != nil || len(run) != 1 {
		t.Fatal(run, err)
	}
	for _, id := range []string{"art_none", "", "../x", run[0].ID} {
		if _, err := read(mine, id); err == nil {
			t.Errorf("%q is there", id)
		}
	}
	for _, id := range ids[:3] {
		if _, err := read(other, id); err == nil || !strings.Contains(err.Error(), "another session") && !strings.Contains(err.Error(), "PermissionDenied") {
			t.Errorf("another session reads %s: %v", id, err)
		}
	}
}
