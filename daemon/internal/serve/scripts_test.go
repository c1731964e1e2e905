package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

// saver is a kind of caller, to whom saving scripts is allowed or not.
type saver struct {
	name string
	*client.Client
}

// savers are the user, a session of the project, and one that claims to be it.
func savers(t *testing.T, r *running) (user, agent, stranger saver) {
	t.Helper()
	user = saver{"the user", r.client("")}
	made, err := user.CreateSession(context.Background(), proto.SessionCreate{ID: "agent", Directory: r.paths.Home})
	if err != nil {
		t.Fatal(err)
	}
	agent, stranger = saver{"a session", r.client("agent")}, saver{"a stranger", r.client("agent")}
	agent.Identity.Ticket, stranger.Identity.Ticket = made.Ticket, "not one of ours"
	return user, agent, stranger
}

// keep writes a script as if it had always been there.
func (r *running) keep(file, code string) {
	r.t.Helper()
	file = filepath.Join(r.paths.Home, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(code), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func TestWhoMaySaveScripts(t *testing.T) {
	r := start(t, nil)
	user, agent, stranger := savers(t, r)
	r.keep("config/tenon/scripts/mine.ts", "'the user'")
	r.keep("config/tenon/scripts/team/deploy.mjs", "'the user'")
	r.keep(".tenon/scripts/old.js", "'the project'")
	for _, c := range []struct {
		by   saver
		save proto.ScriptSave
		kind fault.Kind // empty: it is saved
	}{
		{agent, proto.ScriptSave{Name: "added"}, ""},
		{agent, proto.ScriptSave{Name: "a/b/added"}, ""},
		{agent, proto.ScriptSave{Name: "added"}, fault.UsageError},
		{agent, proto.ScriptSave{Name: "old"}, fault.UsageError},
		{agent, proto.ScriptSave{Name: "old", Force: true}, fault.PermissionDenied},
		// It would come before the user's.
		{agent, proto.ScriptSave{Name: "mine"}, fault.UsageError},
		{agent, proto.ScriptSave{Name: "team/deploy"}, fault.UsageError},
		{agent, proto.ScriptSave{Name: "mine.ts"}, fault.UsageError},
		{agent, proto.ScriptSave{Name: "more", Where: "user"}, fault.PermissionDenied},
		{agent, proto.ScriptSave{Name: "../more"}, fault.UsageError},
		{agent, proto.ScriptSave{Name: "/tmp/more"}, fault.UsageError},
		{agent, proto.ScriptSave{Name: "a/../../more"}, fault.UsageError},
		{agent, proto.ScriptSave{Name: "m\x00re"}, fault.UsageError},
		{agent, proto.ScriptSave{Name: "m\u00f6re"}, fault.UsageError},
		{stranger, proto.ScriptSave{Name: "strange"}, fault.PermissionDenied},
		{user, proto.ScriptSave{Name: "mine"}, ""},
		{user, proto.ScriptSave{Name: "old", Force: true}, ""},
		{user, proto.ScriptSave{Name: "own", Where: "user"}, ""},
		{user, proto.ScriptSave{Name: "own", Where: "elsewhere"}, fault.UsageError},
	} {
		c.save.Code = "1"
		got, err := c.by.SaveScript(context.Background(), c.save)
		if fault.KindOf(err) != c.kind {
			t.Errorf("%s saves %+v: %v", c.by.name, c.save, err)
		}
		if err == nil && !strings.HasPrefix(got.File, r.paths.Home) {
			t.Errorf("%s saves %s", c.by.name, got.File)
		}
	}
	for file, want := range map[string]string{"config/tenon/scripts/mine.ts": "'the user'", ".tenon/scripts/mine.ts": "1", ".tenon/scripts/old.js": "1"} {
		if text, err := os.ReadFile(filepath.Join(r.paths.Home, file)); err != nil || string(text) != want {
			t.Errorf("%s: %s, %v", file, text, err)
		}
	}
}

func TestAConfigurationThatLetsASessionSaveNoScripts(t *testing.T) {
	for name, settings := range map[string]map[string]any{
		"hostOnly":  {"scripts": map[string]any{"hostOnly": true}},
		"read-only": {"permissions": map[string]any{"sandbox": "read-only"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, settings)
			user, agent, _ := savers(t, r)
			if _, err := agent.SaveScript(context.Background(), proto.ScriptSave{Name: "a", Code: "1"}); fault.KindOf(err) != fault.PermissionDenied {
				t.Errorf("a session: %v", err)
			}
			if _, err := user.SaveScript(context.Background(), proto.ScriptSave{Name: "a", Code: "1"}); err != nil {
				t.Errorf("the user: %v", err)
			}
		})
	}
}

// What a session sees of saved scripts is what its project and the user have; the
// run of another is none of its programs to keep.
func TestASessionSavesNoRunOfAnother(t *testing.T) {
	r := start(t, nil)
	user, agent, _ := savers(t, r)
	res, err := user.Exec(context.Background(), proto.ExecRequest{Code: "'of the user'"}, nil)
	if err != nil || !res.OK {
		t.Fatal(res, err)
	}
	if got, err := agent.SaveScript(context.Background(), proto.ScriptSave{Name: "theirs", Run: res.ID}); fault.KindOf(err) != fault.PermissionDenied {
		t.Errorf("%+v, %v", got, err)
	}
}
