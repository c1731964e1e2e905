package local

import (
	"os"
	"strings"
	"testing"

	"tenon/daemon/internal/fault"
	"tenon/proto"
)

func TestAStampSurvivesItsHeader(t *testing.T) {
	s := Stamp{Build: proto.Build{Version: "1.2.3", Commit: "abc", ID: "id1"}, Time: 42}
	if got := ParseStamp(s.String()); got != s {
		t.Errorf("got %+v", got)
	}
	if got := ParseStamp("1.2.3"); got.Version != "1.2.3" {
		t.Errorf("a bare version gave %+v", got)
	}
}

func TestBuildsHaveOneOrder(t *testing.T) {
	stamp := func(version, id string, at int64) Stamp {
		return Stamp{Build: proto.Build{Version: version, ID: id}, Time: at}
	}
	for _, c := range []struct {
		name     string
		new, old Stamp
		want     bool
	}{
		{"a later version", stamp("1.10.0", "b", 1), stamp("1.9.9", "a", 2), true},
		{"an earlier version", stamp("1.9.9", "b", 2), stamp("1.10.0", "a", 1), false},
		{"the same program elsewhere", stamp("devel", "a", 9), stamp("devel", "a", 1), false},
		{"built later", stamp("devel", "b", 2), stamp("devel", "a", 1), true},
		{"built earlier", stamp("devel", "b", 1), stamp("devel", "a", 2), false},
		{"an unknown caller", Stamp{}, stamp("devel", "a", 2), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.new.Newer(c.old); got != c.want {
				t.Errorf("newer = %v", got)
			}
			if c.want && c.old.Newer(c.new) {
				t.Error("each is newer than the other")
			}
		})
	}
}

func TestThisProgramHasAnID(t *testing.T) {
	b := Build()
	if b.ID == "" || b.Version == "" || b.Go == "" {
		t.Errorf("got %+v", b)
	}
}

func TestALinkerIDIsFoundInThisExecutable(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if id := linkerID(raw[:min(len(raw), 32<<10)]); !strings.Contains(string(id), "/") {
		t.Errorf("got %q", id)
	}
}

func TestAMismatchNamesTheOlderSide(t *testing.T) {
	old, young := proto.Build{Version: "1.0.0"}, proto.Build{Version: "2.0.0"}
	for _, c := range []struct {
		mine, theirs int
		want         string
	}{{1, 2, "this side is older"}, {2, 1, "the other side is older"}} {
		e := Mismatch(c.mine, old, c.theirs, young)
		if e.Kind != fault.ProtocolMismatch || !strings.Contains(e.Message, c.want) || e.Hint == "" {
			t.Errorf("%d to %d: %v", c.mine, c.theirs, e)
		}
	}
}

func TestInfoIsRemovedByItsDaemonOnly(t *testing.T) {
	p := places(t)
	if err := p.WriteInfo(Info{PID: os.Getpid() + 1}); err != nil {
		t.Fatal(err)
	}
	p.RemoveInfo()
	if _, ok := p.Info(); !ok {
		t.Error("another daemon's file was removed")
	}
	if err := p.WriteInfo(Info{PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	p.RemoveInfo()
	if _, ok := p.Info(); ok {
		t.Error("our own file stayed")
	}
}
