package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tenon/daemon/internal/client"
	"tenon/daemon/internal/local"
)

// Bounds of what doctor calls scarce.
const (
	lowSpace   = 64 << 20 // bytes free where the daemon writes
	lowNodes   = 1000     // files that may still be made there
	nearlyUsed = 0.8      // of a limit
)

// disk looks at the directories and files that the daemon needs, without making
// or opening any: a pipe in a file's place would be waited for.
func (d *doctor) disk(p local.Paths) {
	for _, dir := range []string{p.Runtime, p.State} {
		d.writable(dir)
	}
	for _, f := range []struct{ path, without string }{
		{filepath.Join(p.State, "history.db"), "history is not kept"},
		{filepath.Join(p.State, "trust.json"), "no project is trusted"},
		{filepath.Join(p.State, "approvals.json"), "remembered approvals do not count"},
		{p.LogFile(), "nothing is logged"},
		{first(d.app.configFile(), p.ConfigFile()), "the configuration is not read"},
	} {
		if why := notAFile(f.path); why != "" {
			d.say("problem", "files", "move it away, or give it back to you: ls -ld "+f.path, "%s %s: %s", f.path, why, f.without)
		}
	}
	for _, dir := range []string{"journal", "artifacts", "logs", "tokens"} {
		if at := filepath.Join(p.State, dir); exists(at) {
			d.mayWrite(at)
		}
	}
	journals, _ := filepath.Glob(filepath.Join(p.State, "journal", "*.log"))
	for _, f := range journals {
		if why := notAFile(f); why != "" {
			d.say("note", "files", "chmod 600 it, or move it away", "%s %s: what a killed daemon did there is not in history", f, why)
		}
	}
}

// aside names what was put aside in the place of history. It looks after history
// was asked for, which may find it damaged only then.
func (d *doctor) aside(p local.Paths) {
	olds, _ := filepath.Glob(filepath.Join(p.State, "history.db.old-*"))
	for _, f := range olds {
		if st, err := os.Lstat(f); err == nil && !strings.HasSuffix(f, "-wal") && !strings.HasSuffix(f, "-shm") {
			d.say("note", "history", "remove it when nobody needs it", "%s (%.1f MiB, %s) was put aside: it was damaged, no file, or of another format", f, float64(st.Size())/(1<<20), st.ModTime().Format(time.DateOnly))
		}
	}
}

// writable says what keeps the daemon from writing into a directory that it needs,
// and whether there is room.
func (d *doctor) writable(dir string) {
	at := dir
	for {
		if _, err := os.Stat(at); err == nil || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at) // it would be made there
	}
	d.mayWrite(at)
	var fs unix.Statfs_t
	if unix.Statfs(at, &fs) == nil {
		d.room(dir, fs)
	}
}

// mayWrite says why nothing can be written into what stands at a path.
func (d *doctor) mayWrite(at string) {
	if st, err := os.Stat(at); err == nil && !st.IsDir() {
		d.say("problem", "disk", "move it away: ls -ld "+at, "%s is no folder: history and logs are not kept, and no daemon starts", at)
	} else if err := unix.Access(at, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
		hint := "chmod u+rwx " + at
		if err == unix.EROFS {
			hint = "its file system is read-only: mount it writable, or set TENON_STATE_DIR and TENON_RUNTIME_DIR"
		}
		d.say("problem", "disk", hint, "%s cannot be written: %v; history and logs are not kept, and a daemon may not start", at, err)
	}
}

// room says that the disk of a directory is nearly full.
func (d *doctor) room(dir string, fs unix.Statfs_t) {
	if free := uint64(fs.Bavail) * uint64(fs.Bsize); free < lowSpace {
		d.say("problem", "disk", "free some: calls go on, but what they did is not kept once it is full", "%.0f MiB are free where %s is", float64(free)/(1<<20), dir)
	}
	if fs.Files > 0 && fs.Ffree < lowNodes {
		d.say("problem", "disk", "remove files there", "%d more files can be made where %s is", fs.Ffree, dir)
	}
}

// notAFile says why what stands at a path is no file that can be read; empty:
// it is one, or nothing is there.
func notAFile(path string) string {
	st, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		if _, err := os.Lstat(path); err == nil {
			return "is a link that leads nowhere"
		}
		return ""
	case errors.Is(err, unix.ENOTDIR): // above it: writable names that
		return ""
	case err != nil:
		return fmt.Sprintf("cannot be looked at (%v)", err)
	case st.IsDir():
		return "is a folder, not a file"
	case !st.Mode().IsRegular():
		return "is no regular file"
	case unix.Access(path, unix.R_OK) != nil:
		return "cannot be read"
	}
	return ""
}

// pulse says of a daemon that does not answer what became of it.
func (d *doctor) pulse(p local.Paths) {
	info, ok := p.Info()
	if !ok {
		return
	}
	switch state := processState(info.PID); state {
	case "T", "t":
		d.say("problem", "daemon", fmt.Sprintf("kill -CONT %d lets it go on; tenon daemon stop --force ends it", info.PID), "the daemon (pid %d) is stopped by a signal", info.PID)
	case "", "Z", "X": // dead ones may wait for their parent to look
		d.say("note", "daemon", "the next command ends what it left behind and starts a new one", "the daemon that was here (pid %d, since %s) is gone without having ended: it was killed, or crashed (tenon daemon logs)", info.PID, info.Started.Format(time.RFC3339))
	case "?":
	default:
		d.say("note", "daemon", "tenon daemon logs; tenon daemon stop --force", "its process (pid %d) is there, in state %s", info.PID, state)
	}
}

// resources compares what the daemon uses with its limits.
func (d *doctor) resources(pid int) {
	for _, u := range usages(pid) {
		if u.limit <= 0 {
			continue
		}
		share := float64(u.used) / float64(u.limit)
		if share >= nearlyUsed {
			d.say("problem", "limits", u.hint, "%d of %d %s are in use: soon servers cannot be started, and connections are refused", u.used, u.limit, u.what)
		} else if u.always {
			d.say("ok", "limits", "", "%d of %d %s are in use", u.used, u.limit, u.what)
		}
	}
}

// usage is how much of a limit is used.
type usage struct {
	what, hint  string
	used, limit int64
	always      bool // worth a line when all is well
}

// past says what history knows of faults: runs that a killed daemon lost, and a
// clock that was put back.
func (d *doctor) past(ctx context.Context, c *client.Client) {
	now := time.Now()
	lost, err := c.Runs(ctx, client.RunFilter{Status: "lost", Since: now.Add(-24 * time.Hour), Limit: 1000})
	if err == nil && len(lost) > 0 {
		d.say("note", "history", "look at the servers' own state before anything is repeated: tenon runs list --status lost",
			"%s of the last day were lost with a daemon that was killed or crashed", count(len(lost), "run"))
	}
	newest, err := c.Runs(ctx, client.RunFilter{Limit: 1})
	if err != nil || len(newest) == 0 {
		return
	}
	if at, err := time.Parse(time.RFC3339Nano, newest[0].Started); err == nil && at.After(now.Add(time.Hour)) {
		d.say("problem", "clock", "set the clock right (NTP); history removes nothing for its age meanwhile",
			"the newest run began at %s, which lies ahead: the clock was put back", at.Local().Format(time.DateTime))
	}
}
