package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// put writes a file below a directory.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAModuleIsAServerLikeAnyOther(t *testing.T) {
	ctx := context.Background()
	r := start(t, map[string]any{"servers": map[string]any{
		"text": map[string]any{"kind": "module", "module": "./text.ts"},
	}, "permissions": map[string]any{"rules": map[string]any{"text_secret": "deny"}}})
	put(t, r.paths.Config, "text.ts", `export const up = (text: string): string => text.toUpperCase(); export const secret = () => 1; export const fails = () => { throw new Error("no") }`)
	if res := r.exec("", `await tools.text.up({text: "a"})`); string(res.Value) != `"A"` {
		t.Fatalf("got %+v", res.Error)
	}
	if res := r.exec("", `await tools.text.secret()`); res.Error == nil || res.Error.Kind != string(fault.PermissionDenied) {
		t.Errorf("got %+v", res)
	}
	if res := r.exec("", `await tools.text.up({txt: "a"})`); res.Error == nil || res.Error.Kind != string(fault.InvalidToolInput) {
		t.Errorf("got %+v", res)
	}
	// An edit reaches programs without a restart.
	put(t, r.paths.Config, "text.ts", `export const down = (text: string): string => text.toLowerCase(); export const fails = () => { throw new Error("no") }`)
	row := func() proto.Server {
		s, err := r.client("").Server(ctx, "text")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	await := func(what string, f func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !f(); <-time.After(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("never: %s; %+v", what, row())
			}
		}
	}
	await("the new function is listed", func() bool { return len(row().Tools) == 2 && row().Tools[0].Name == "down" })
	if res := r.exec("", `await tools.text.down({text: "A"})`); string(res.Value) != `"a"` {
		t.Errorf("got %+v", res)
	}
	// One that cannot be used is told, and the last good code goes on.
	put(t, r.paths.Config, "text.ts", "export const down = (text: string => 1")
	await("the mistake is told", func() bool {
		return strings.Contains(strings.Join(row().Warnings, " "), `the last change is not in use: text.ts:1:35: Expected ")"`)
	})
	if res := r.exec("", `await tools.text.down({text: "A"})`); string(res.Value) != `"a"` {
		t.Errorf("got %+v", res)
	}
	if res := r.exec("", `await tools.text.fails()`); res.Error == nil || !strings.Contains(res.Error.Message, "before its last change") {
		t.Errorf("got %+v", res.Error)
	}
	put(t, r.paths.Config, "text.ts", `export const down = (text: string): string => "new"`)
	await("the mistake is gone", func() bool { return len(row().Warnings) == 0 && len(row().Tools) == 1 })
}

func TestAProjectsModuleRunsOnceItsContentIsTrusted(t *testing.T) {
	ctx := context.Background()
	r := start(t, nil)
	dir := filepath.Join(r.paths.Home, "project")
	put(t, dir, ".tenon/config.jsonc", `{"servers": {"m": {"kind": "module", "module": "tools/m.ts"}}}`)
	put(t, dir, "tools/m.ts", `import { v } from "./lib"; export const f = () => v`)
	put(t, dir, "tools/lib.ts", `export const v = 1`)
	c := func() *client.Client {
		c := r.client("")
		c.Identity.Dir = dir
		return c
	}
	run := func() *proto.RunResult {
		t.Helper()
		res, err := c().Exec(ctx, proto.ExecRequest{Code: `await call("m", "f", {})`}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	refused := func() {
		t.Helper()
		if res := run(); res.Error == nil || !strings.Contains(res.Error.Message, "is not trusted") {
			t.Errorf("got %s, %+v", res.Value, res.Error)
		}
	}
	trust := func() {
		t.Helper()
		if _, err := c().Trust(ctx, proto.TrustRequest{Directory: dir}); err != nil {
			t.Fatal(err)
		}
	}
	refused()
	trust()
	if res := run(); string(res.Value) != "1" {
		t.Fatalf("got %s, %+v", res.Value, res.Error)
	}
	put(t, dir, "tools/lib.ts", `export const v = 2`)
	refused()
	trust()
	if res := run(); string(res.Value) != "2" {
		t.Errorf("got %s, %+v", res.Value, res.Error)
	}
}
