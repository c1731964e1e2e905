package run

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestAProgramKeepsArtifacts(t *testing.T) {
	r := newRig(t)
	data := []byte("GIF89a\x00\xff")
	res := r.exec(proto.ExecRequest{}, func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		handle, err := h.Artifact(ctx, engine.Artifact{Name: "shot", Data: data})
		if err != nil {
			t.Error(err)
		}
		return value(string(handle))
	})
	if len(res.Artifacts) != 1 || res.Artifacts[0].MimeType != "image/gif" || res.Artifacts[0].Bytes != int64(len(data)) {
		t.Fatalf("artifacts %+v", res.Artifacts)
	}
	want := `{"type":"artifact","name":"shot","mimeType":"image/gif","bytes":8,"artifact":"` + res.Artifacts[0].ID + `"}`
	if string(res.Value) != want {
		t.Errorf("handle %s, want %s", res.Value, want)
	}
	if _, got, err := r.m.Output(t.Context(), res.Artifacts[0].ID); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestArtifactsOfOneRunAreBounded(t *testing.T) {
	r := newRig(t)
	r.exec(proto.ExecRequest{}, func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		for i := range maxArtifacts + 1 {
			_, err := h.Artifact(ctx, engine.Artifact{Name: "n", MimeType: "text/plain", Data: []byte("x")})
			if (err != nil) != (i == maxArtifacts) || err != nil && fault.KindOf(err) != fault.InvalidToolInput {
				t.Fatalf("artifact %d: %v", i+1, err)
			}
		}
		return value("1")
	})
}

// by whatever way a program hands on the bytes of a picture, a model gets
// its handle.
func TestBytesThatComeBackAreTheirHandle(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("\x89PNG\r\n\x1a\n picture"), 500))
	kept := proto.Artifact{ID: "art_7", Name: "fake_image", MimeType: `image/png"x`, Bytes: 8000}
	r := newRig(t)
	r.path.call = func(context.Context, call.Request) (*call.Result, error) {
		return &call.Result{Value: json.RawMessage(`1`), Artifacts: []proto.Artifact{kept},
			Lifted: []call.Lifted{{Prefix: encoded[:call.LiftedPrefix], Length: len(encoded), Artifact: kept}}}, nil
	}
	const handle = "[image/png?x, 8000 bytes: artifact art_7]"
	res := r.exec(proto.ExecRequest{}, func(ctx context.Context, _ engine.Program, h engine.Host) *engine.Outcome {
		if _, err := h.Call(ctx, "fake", "image", []byte(`{}`), engine.CallOptions{}); err != nil {
			t.Error(err)
		}
		log := engine.LogRecord{Level: "info", Message: "it is data:image/png;base64," + encoded, Attrs: json.RawMessage(`{"b":"` + encoded + `"}`)}
		h.Log(log)
		h.Emit([]byte(`["\n` + encoded + `"]`))
		out := value(`{"whole":"` + encoded + `","part":"` + encoded[:3000] + `","other":"` + strings.Repeat("x", 3000) + `"}`)
		out.Stdout, out.Stderr = encoded+"\n", encoded
		out.Logs, out.Emits = []engine.LogRecord{log}, []json.RawMessage{[]byte(`["\n` + encoded + `"]`)}
		out.Err = fault.New(fault.ScriptError, "Error: %s", encoded)
		return out
	})
	if want := `{"whole":"` + handle + `","part":"` + handle + `","other":"` + strings.Repeat("x", 3000) + `"}`; string(res.Value) != want {
		t.Errorf("value %.300s", res.Value)
	}
	all, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(all), encoded[:100]) || strings.Count(string(all), "art_7") < 8 {
		t.Errorf("result %.2000s", all)
	}
	if text := Text(res, proto.TextLimits{}); strings.Contains(text, encoded[:100]) {
		t.Errorf("text %.500s", text)
	}
	run, err := r.m.o.History.Show(t.Context(), res.ID)
	if err != nil || run.Result == nil || strings.Contains(string(run.Result.Value), encoded[:100]) {
		t.Errorf("history %v", err)
	}
}

func TestATextNamesArtifactsThatItsValueDoesNot(t *testing.T) {
	res := &proto.RunResult{Value: json.RawMessage(`{"artifact":"art_1"}`), Artifacts: []proto.Artifact{
		{ID: "art_1", MimeType: "a/b", Bytes: 1}, {ID: "art_2", Name: "two\nlines", MimeType: "image/png", Bytes: 2},
	}}
	if got := Text(res, proto.TextLimits{}); got != "{\"artifact\":\"art_1\"}\nartifact art_2: image/png, 2 bytes, \"two\\nlines\" (tenon runs output art_2)" {
		t.Errorf("text %q", got)
	}
	for range 10 {
		res.Artifacts = append(res.Artifacts, proto.Artifact{ID: "art_x", MimeType: "image/png"})
	}
	if got := Text(res, proto.TextLimits{}); strings.Count(got, "\n") != 6 || !strings.HasSuffix(got, "and 6 more artifacts") {
		t.Errorf("text %q", got)
	}
	one := &proto.CallResult{Value: json.RawMessage(`{"a":1}`), Artifacts: res.Artifacts[1:2]}
	if got := CallText(one, proto.TextLimits{}, "run_1"); !strings.Contains(got, "art_2") {
		t.Errorf("text of a call %q", got)
	}
}
