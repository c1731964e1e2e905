package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenon/proto"
)

// FuzzStamp: any header is a stamp; one of ours is read as it was written; of two
// builds one at most is the newer.
func FuzzStamp(f *testing.F) {
	f.Add("0.1.0;commit=abc;id=x;t=5", "1.2.3")
	f.Add(";;t=99999999999999999999;=", "v1.2")
	f.Add("-1.-2.-3;id=a", "1.2.3-devel+x")
	f.Fuzz(func(t *testing.T, header, version string) {
		s := ParseStamp(header)
		if again := ParseStamp(s.String()); again != s {
			t.Fatalf("%q is %+v, then %+v", header, s, again)
		}
		if strings.ContainsAny(version, ";") {
			return
		}
		own := Stamp{Build: proto.Build{Version: version, Commit: "c", ID: "own"}, Time: 7}
		if got := ParseStamp(own.String()); got != own {
			t.Fatalf("%+v came back as %+v", own, got)
		}
		if s.Newer(own) && own.Newer(s) || s.Newer(s) {
			t.Fatalf("%+v and %+v are each newer", s, own)
		}
	})
}

// FuzzInfo: daemon.json of anything is a hint or none, and is never an error.
func FuzzInfo(f *testing.F) {
	f.Add([]byte(`{"pid":1,"protocol":1,"build":{"version":"x"},"socket":"/s","started":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"pid":-1,"started":"x"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		dir := t.TempDir()
		p := Paths{Runtime: dir}
		if err := os.WriteFile(filepath.Join(dir, infoName), doc, 0o600); err != nil {
			t.Fatal(err)
		}
		info, ok := p.Info()
		if !ok {
			if info != (Info{}) {
				t.Fatalf("none, and yet %+v", info)
			}
			return
		}
		if err := p.WriteInfo(info); err != nil {
			return // a time that JSON cannot hold
		}
		if again, ok := p.Info(); !ok || !again.Started.Equal(info.Started) || again.PID != info.PID || again.Build != info.Build || again.Socket != info.Socket {
			t.Fatalf("%+v came back as %+v", info, again)
		}
	})
}

// FuzzPaths: directories that the environment names are absolute, or refused with
// the variable's name.
func FuzzPaths(f *testing.F) {
	f.Add("/s", "/r", "/home/me")
	f.Add("rel", "", "")
	f.Add("", "", "rel")
	f.Add("", "../x", "/h\x00")
	f.Fuzz(func(t *testing.T, state, runtime, home string) {
		env := map[string]string{"TENON_STATE_DIR": state, "TENON_RUNTIME_DIR": runtime, "HOME": home}
		p, err := Resolve(func(name string) string { return env[name] })
		if err != nil {
			if !strings.Contains(err.Error(), "TENON_") && !strings.Contains(err.Error(), "HOME") && !strings.Contains(err.Error(), "XDG_") && !strings.Contains(err.Error(), "home") {
				t.Fatalf("%v", err)
			}
			return
		}
		if !filepath.IsAbs(p.State) || !filepath.IsAbs(p.Runtime) || !filepath.IsAbs(p.Socket) {
			t.Fatalf("%+v", p)
		}
	})
}
