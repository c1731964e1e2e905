//lint:file-ignore SA1019 the protocols that clients speak today have what the newest one drops

package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// offering starts a daemon with the server fake, which offers resources and
// prompts, and whatever else is named.
func offering(t *testing.T, scope string, more map[string]any, flags ...string) *running {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]any{"fake": map[string]any{"command": append([]string{exe, "fake-server", "--material"}, flags...), "scope": scope}}
	for name, flags := range more {
		servers[name] = map[string]any{"command": append([]string{exe, "fake-server", "--name", name}, flags.([]string)...), "scope": scope}
	}
	return start(t, map[string]any{"servers": servers})
}

func (c *mcpClient) heard(what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.changes, what)
}

func (c *mcpClient) logged() (texts []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.logs {
		texts = append(texts, fmt.Sprint(l.Level, " ", l.Data))
	}
	return texts
}

func TestAProgramListsAndReadsWhatServersOffer(t *testing.T) {
	r := offering(t, "session", map[string]any{"plain": []string{}})
	res := r.exec("", `
		const two = await resources.read("demo://two");
		const failed = async f => { try { return await f() } catch (e) { return e.kind } };
		({
			listed: (await resources.list()).resources.map(r => r.server + " " + r.uri),
			templates: (await resources.templates("fake")).resourceTemplates.map(t => t.uriTemplate),
			prompts: (await prompts.list({ server: "fake" })).prompts.map(p => p.name + ":" + p.arguments.map(a => a.name)),
			text: await resources.read("demo://text"),
			json: (await resources.read("demo://json", "fake")).n,
			blob: await resources.read("demo://blob"),
			made: (await resources.read("demo://big/7")),
			two: two.map(p => p.value),
			raw: (await resources.read("demo://text", { raw: true })).contents[0].text,
			greeting: (await prompts.get("greet", { who: "Ada" })).messages[0].content.text,
			picture: typeof (await prompts.get("picture")).messages[0].content.artifact,
			plain: await failed(() => resources.list("plain")),
			nowhere: await failed(() => resources.read("demo://nowhere")),
			unnamed: await failed(() => prompts.get("nobody")),
			wrong: await failed(() => prompts.get("greet", { who: 7 })),
		})`)
	var v struct {
		Listed, Templates, Prompts         []string
		Text, Made, Raw, Greeting, Picture string
		JSON                               int
		Blob                               struct {
			Type, Artifact, MimeType string
			Bytes                    int
		}
		Two                            []any
		Plain, Nowhere, Unnamed, Wrong string
	}
	if err := json.Unmarshal(res.Value, &v); err != nil {
		t.Fatalf("%v: %+v", err, res)
	}
	if len(v.Listed) != 6 || v.Listed[0] != "fake demo://text" || len(v.Templates) != 1 || !slices.Equal(v.Prompts, []string{"greet:who", "picture:"}) {
		t.Errorf("lists: %+v", v)
	}
	if v.Text != "hello" || v.JSON != 1 || v.Made != "xxxxxxx" || v.Raw != "hello" || fmt.Sprint(v.Two) != "[a [2]]" {
		t.Errorf("contents: %+v", v)
	}
	if v.Blob.Type != "blob" || v.Blob.Bytes != 4 || v.Blob.Artifact == "" || v.Picture != "string" || v.Greeting != "Say hello to Ada" {
		t.Errorf("bytes and prompts: %+v", v)
	}
	if v.Plain != "NotFound" || v.Nowhere != "NotFound" || v.Unnamed != "NotFound" || v.Wrong != "InvalidToolInput" {
		t.Errorf("failures: %+v", v)
	}
	if len(res.Calls) < 12 || len(res.Artifacts) != 2 {
		t.Errorf("%d calls, artifacts %+v", len(res.Calls), res.Artifacts)
	}
	var reads int
	for _, c := range res.Calls {
		if c.Server == "fake" && c.Tool == "resources/read" && c.Status == "ok" {
			reads++
		}
	}
	if reads != 6 {
		t.Errorf("%d reads among the calls: %+v", reads, res.Calls)
	}
}

func TestAURIOfSeveralServersNeedsOneNamed(t *testing.T) {
	r := offering(t, "shared", map[string]any{"other": []string{"--material"}})
	_, err := r.client("").ReadResource(context.Background(), proto.ResourceRead{URI: "demo://json"}, nil)
	if fault.KindOf(err) != fault.InvalidToolInput || !strings.Contains(err.Error(), "fake, other") {
		t.Errorf("which one: %v", err)
	}
	got, err := r.client("").ReadResource(context.Background(), proto.ResourceRead{URI: "demo://json", Server: "other"}, nil)
	if err != nil || string(got.Value) != `{"n":1,"from":"other"}` {
		t.Errorf("named: %+v %v", got, err)
	}
	// A prompt of each has a name of its own in a flat list; what both have of
	// resources is left out there.
	c := r.dialMCP("http", "/mcp?codemode=false", "", nil)
	list, err := c.ListPrompts(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list.Prompts {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"fake_greet", "fake_picture", "other_greet", "other_picture"}) {
		t.Errorf("prompts %v", names)
	}
	if all, err := c.ListResources(context.Background(), nil); err != nil || len(all.Resources) != 0 {
		t.Errorf("resources of two servers: %+v %v", all, err)
	}
	p, err := c.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: "other_greet", Arguments: map[string]string{"who": "Ada"}})
	if err != nil || p.Messages[0].Content.(*mcp.TextContent).Text != "Say hello to Ada" {
		t.Errorf("prompt: %+v %v", p, err)
	}
}

func TestAServerIsPassedThroughWithAllItOffers(t *testing.T) {
	onBothWays(t, func(t *testing.T, way string) {
		r := offering(t, "session", nil, "--instructions", "Be kind.")
		// Before its first start nothing is known: every capability stands.
		first := r.dialMCP(way, "/mcp/fake", "", nil)
		if caps := first.InitializeResult().Capabilities; caps.Prompts == nil || caps.Resources == nil || caps.Completions == nil {
			t.Errorf("capabilities before the first start: %+v", caps)
		}
		ctx := context.Background()
		if _, err := first.ListTools(ctx, nil); err != nil {
			t.Fatal(err)
		}
		c := r.dialMCP(way, "/mcp/fake", "", nil)
		hello := c.InitializeResult()
		if caps := hello.Capabilities; hello.Instructions != "Be kind." || caps.Prompts == nil || caps.Resources == nil || !caps.Resources.Subscribe || caps.Completions == nil {
			t.Errorf("hello: %q %+v", hello.Instructions, caps)
		}
		list, err := c.ListResources(ctx, nil)
		if err != nil || len(list.Resources) != 6 || list.Resources[0].URI != "demo://text" {
			t.Fatalf("resources: %+v %v", list, err)
		}
		if templates, err := c.ListResourceTemplates(ctx, nil); err != nil || len(templates.ResourceTemplates) != 1 {
			t.Errorf("templates: %+v %v", templates, err)
		}
		res, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "demo://blob"})
		if err != nil || string(res.Contents[0].Blob) != "\x00\x01\x02\xff" {
			t.Errorf("blob: %+v %v", res, err)
		}
		if _, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "demo://nowhere"}); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("nowhere: %v", err)
		}
		if prompts, err := c.ListPrompts(ctx, nil); err != nil || len(prompts.Prompts) != 2 {
			t.Errorf("prompts: %+v %v", prompts, err)
		}
		p, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Ada"}})
		if err != nil || p.Description != "a greeting" {
			t.Errorf("prompt: %+v %v", p, err)
		}
		done, err := c.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "a"}})
		if err != nil || !slices.Equal(done.Completion.Values, []string{"ada", "alan"}) {
			t.Errorf("completion: %+v %v", done, err)
		}
	})
}

func TestSubscriptionsAndLevelsAreEachClientsOwn(t *testing.T) {
	r := offering(t, "shared", nil)
	ctx := context.Background()
	one, two := r.dialMCP("http", "/mcp/fake", "", nil), r.dialMCP("lines", "/mcp/fake", "", nil)
	if err := one.Subscribe(ctx, &mcp.SubscribeParams{URI: "demo://text"}); err != nil {
		t.Fatal(err)
	}
	if err := two.Subscribe(ctx, &mcp.SubscribeParams{URI: "demo://json"}); err != nil {
		t.Fatal(err)
	}
	update := func(args map[string]any) string { return textOf(one.call("update", args, nil)) }
	for _, uri := range []string{"demo://text", "demo://json"} {
		if got := update(map[string]any{"text": uri, "n": 200}); got != "true" {
			t.Errorf("the server knows of %s: %s", uri, got)
		}
	}
	eventually(t, "each hears of its own", func() bool { return one.heard("demo://text") && two.heard("demo://json") })
	if one.heard("demo://json") || two.heard("demo://text") {
		t.Error("one client heard of what another subscribed to")
	}
	if err := one.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "demo://text"}); err != nil {
		t.Fatal(err)
	}
	if got := update(map[string]any{"text": "demo://text"}); got != "false" {
		t.Error("the server was not told of the end of the last subscription")
	}
	// A client that leaves takes its subscriptions along.
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server is told with the next use", func() bool { return update(map[string]any{"text": "demo://json"}) == "false" })

	// Lists that change are told to all, storms once or a few times.
	three := r.dialMCP("http", "/mcp/fake", "", nil)
	if _, err := three.ListResources(ctx, nil); err != nil {
		t.Fatal(err)
	}
	update(map[string]any{"text": "", "n": 500, "add": true})
	eventually(t, "both hear that the list changed", func() bool { return one.heard("resources") && three.heard("resources") })
	three.mu.Lock()
	if n := len(three.changes); n > 50 {
		t.Errorf("500 changes were told %d times", n)
	}
	three.mu.Unlock()

	// What the server logs during a call is the caller's, from its level on.
	if err := one.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "warning"}); err != nil {
		t.Fatal(err)
	}
	if err := three.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
		t.Fatal(err)
	}
	three.call("log", map[string]any{"text": "fine", "level": "debug"}, nil)
	one.call("log", map[string]any{"text": "mine", "level": "info"}, nil)
	one.call("log", map[string]any{"text": "bad", "level": "error"}, nil)
	eventually(t, "each hears its own", func() bool {
		return slices.Equal(three.logged(), []string{"debug fine"}) && slices.Equal(one.logged(), []string{"error bad"})
	})
}

func TestASubscriptionOutlivesItsInstance(t *testing.T) {
	r := offering(t, "session", nil)
	ctx := context.Background()
	c := r.dialMCP("http", "/mcp/fake", "", nil)
	if err := c.Subscribe(ctx, &mcp.SubscribeParams{URI: "demo://text"}); err != nil {
		t.Fatal(err)
	}
	c.call("exit", map[string]any{"code": 3}, nil)
	eventually(t, "a crash is news of what was subscribed to", func() bool { return c.heard("demo://text") })
	if got := textOf(c.call("update", map[string]any{"text": "demo://text"}, nil)); got != "true" {
		t.Errorf("the new instance was not told: %s", got)
	}
}

func TestAListIsBoundedWhateverTheServerGives(t *testing.T) {
	for _, flags := range [][]string{
		{"--resources", "100000", "--pages", "5000"},
		{"--pages", "3", "--cursor", "repeat"},
		{"--pages", "3", "--cursor", "endless"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			r := offering(t, "shared", nil, append(flags, "--tools", emptyTools(t))...)
			began := time.Now()
			page, err := r.client("").Resources(context.Background(), proto.OfferQuery{Server: "fake"})
			if err != nil || len(page.Resources) == 0 || len(page.Resources) > 1000 || len(page.Problems) != 1 {
				t.Fatalf("%d resources, %+v, %v after %s", len(page.Resources), page.Problems, err, time.Since(began))
			}
		})
	}
}

func emptyTools(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAReadTakesTheWayOfACall(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, map[string]any{
		"servers":     map[string]any{"fake": map[string]any{"command": []string{exe, "fake-server", "--material", "--delay", "read", "60000"}, "callTimeout": "300ms"}},
		"permissions": map[string]any{"rules": map[string]any{"fake_prompts_get": "deny"}},
	})
	if _, err := r.client("").GetPrompt(context.Background(), proto.PromptGet{Name: "picture"}, nil); fault.KindOf(err) != fault.PermissionDenied || !strings.Contains(err.Error(), "fake_prompts_get") {
		t.Errorf("denied: %v", err)
	}
	if _, err := r.client("").ReadResource(context.Background(), proto.ResourceRead{URI: "demo://text"}, nil); fault.KindOf(err) != fault.TimeoutExceeded {
		t.Errorf("timeout: %v", err)
	}
	c := r.dialMCP("http", "/mcp/fake", "", nil)
	_, err = c.Complete(context.Background(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: mcp.CompleteParamsArgument{Name: "who"}})
	if err == nil || !strings.Contains(err.Error(), "PermissionDenied") {
		t.Errorf("a completion of what is denied: %v", err)
	}
	runs, err := r.client("").Runs(context.Background(), client.RunFilter{})
	if err != nil || len(runs) < 2 {
		t.Errorf("history has %+v, %v", runs, err)
	}
}
