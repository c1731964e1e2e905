package local

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"tenon/proto"
)

// version and commit are set when a release is linked:
// -ldflags "-X tenon/daemon/internal/local.version=1.2.3 -X ….commit=abc".
var version, commit string

// Build says which program this is. The zero-cost parts are always there; the
// commit is looked up in the executable's own build record.
var Build = sync.OnceValue(func() proto.Build {
	b := proto.Build{Version: version, Commit: commit, Go: runtime.Version(), ID: executableID()}
	if b.Version == "" {
		b.Version = "devel"
	}
	if b.Commit == "" {
		if info, ok := debug.ReadBuildInfo(); ok {
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" {
					b.Commit = s.Value
				}
			}
		}
	}
	return b
})

// executableID tells two builds of one version apart: a digest of the build id
// that the Go linker writes near the start of the executable, or of size and
// time when it was stripped. Hashing the whole file would cost every command
// more than it spends on its own work.
func executableID() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 32<<10) // where the Go tool itself looks
	n, _ := io.ReadFull(f, head)
	id := linkerID(head[:n])
	if id == nil {
		st, err := f.Stat()
		if err != nil {
			return ""
		}
		id = fmt.Appendf(nil, "%d %d", st.Size(), st.ModTime().UnixNano())
	}
	sum := sha256.Sum256(id)
	return hex.EncodeToString(sum[:6])
}

// linkerID finds the Go build id: a note named "Go" in ELF files, a marked
// string elsewhere.
func linkerID(head []byte) []byte {
	if _, rest, ok := bytes.Cut(head, []byte("\xff Go build ID: \"")); ok {
		if id, _, ok := bytes.Cut(rest, []byte("\"")); ok && len(id) > 0 {
			return id
		}
	}
	// ELF note: name size 4, content size, type 4, name "Go\0\0", content.
	mark := []byte("\x04\x00\x00\x00Go\x00\x00")
	i := bytes.Index(head, mark)
	if i < 8 {
		return nil
	}
	size := int(head[i-4]) | int(head[i-3])<<8
	start := i + len(mark)
	if size == 0 || start+size > len(head) {
		return nil
	}
	return head[start : start+size]
}

// FormatBuild writes a build for messages: "1.2.3+0123456789ab (id)".
func FormatBuild(b proto.Build) string {
	var s strings.Builder
	s.WriteString(b.Version)
	if b.Commit != "" {
		s.WriteString("+" + b.Commit[:min(12, len(b.Commit))])
	}
	if b.ID != "" {
		s.WriteString(" (" + b.ID + ")")
	}
	return s.String()
}

// Stamp is a build with the time by which two builds of one version are
// ordered: the content of the Tenon-Build header.
type Stamp struct {
	proto.Build
	Time int64 // of the executable, seconds since 1970; 0 unknown
}

// OwnStamp is the stamp of this program.
var OwnStamp = sync.OnceValue(func() Stamp {
	s := Stamp{Build: Build()}
	if path, err := os.Executable(); err == nil {
		if st, err := os.Stat(path); err == nil {
			s.Time = st.ModTime().Unix()
		}
	}
	return s
})

// String writes the header: version;commit=…;id=…;t=….
func (s Stamp) String() string {
	return s.Version + ";commit=" + s.Commit + ";id=" + s.ID + ";t=" + strconv.FormatInt(s.Time, 10)
}

// ParseStamp reads a Tenon-Build header; parts that it does not know or that
// are absent stay empty.
func ParseStamp(header string) Stamp {
	var s Stamp
	parts := strings.Split(header, ";")
	s.Version = parts[0]
	for _, p := range parts[1:] {
		k, v, _ := strings.Cut(p, "=")
		switch k {
		case "commit":
			s.Commit = v
		case "id":
			s.ID = v
		case "t":
			s.Time, _ = strconv.ParseInt(v, 10, 64)
		}
	}
	return s
}

// Newer reports whether s is a later build than old: by version, then by the
// time of the executable. Builds with the same id are the same program. One
// order for all clients keeps two builds from replacing each other in turns.
func (s Stamp) Newer(old Stamp) bool {
	if s.Version == "" || s.ID == "" || s.ID == old.ID {
		return false
	}
	if c := compareVersions(s.Version, old.Version); c != 0 {
		return c > 0
	}
	return s.Time > old.Time
}

// compareVersions orders semantic versions by their three numbers; "devel"
// and anything that does not parse counts as a build of no particular version
// and is equal to everything, which leaves the decision to the time.
func compareVersions(a, b string) int {
	x, okx := numbers(a)
	y, oky := numbers(b)
	if !okx || !oky {
		return 0
	}
	for i := range x {
		if x[i] != y[i] {
			if x[i] > y[i] {
				return 1
			}
			return -1
		}
	}
	return 0
}

func numbers(v string) (n [3]int, ok bool) {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "-")
	v, _, _ = strings.Cut(v, "+")
	parts := strings.Split(v, ".")
	if len(parts) != 3 {
		return n, false
	}
	for i, p := range parts {
		x, err := strconv.Atoi(p)
		if err != nil {
			return n, false
		}
		n[i] = x
	}
	return n, true
}
