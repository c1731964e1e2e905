package serve

import (
	"io"
	"log/slog"
	"os"
	"sync"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/history"
	"tenon/daemon/internal/local"
)

// The log of a daemon in the background: one file and one older one.
const (
	maxLog    = 5 << 20
	oldSuffix = ".1"
)

// openLog makes the daemon's logger, without secrets: text lines for who looks
// on, JSON lines in the file, which tenon daemon logs reads.
func openLog(o Options) (*slog.Logger, func(), error) {
	options := &slog.HandlerOptions{Level: o.level}
	if o.LogTo != nil {
		return slog.New(slog.NewTextHandler(masking{o.LogTo, o.secrets}, options)), func() {}, nil
	}
	f := &logFile{path: o.Paths.LogFile()}
	if err := f.open(); err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewJSONHandler(masking{f, o.secrets}, options)), f.close, nil
}

// setLevel takes daemon.logLevel, unless who started the daemon chose one.
func (d *daemon) setLevel(name string) {
	var level slog.Level
	if d.o.LogFixed || level.UnmarshalText([]byte(name)) != nil {
		return
	}
	d.o.level.Set(level)
}

// masking masks secrets in each record: a log handler writes one at a time.
type masking struct {
	to      io.Writer
	secrets *history.Redactor // nil: none are known
}

func (m masking) Write(p []byte) (int, error) {
	if m.secrets == nil {
		return m.to.Write(p)
	}
	if _, err := io.WriteString(m.to, m.secrets.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// logFile is a file that starts anew when it is full. Standard output and
// error follow it, so that a crash of the runtime is found there too.
type logFile struct {
	path        string
	keepStreams bool // standard output and error stay what they are

	mu   sync.Mutex
	f    *os.File // guarded by mu
	size int64    // guarded by mu
}

// open opens the file for appending and points the streams to it.
func (l *logFile) open() error {
	f, err := local.OpenRegular(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fault.New(fault.DaemonUnavailable, "cannot open the log: %w", err)
	}
	l.f, l.size = f, 0
	if st, err := f.Stat(); err == nil {
		l.size = st.Size()
	}
	if !l.keepStreams {
		redirect(f)
	}
	return nil
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(p)) > maxLog {
		old := l.f
		// A failed rename leaves one file that grows: better than no log.
		if os.Rename(l.path, l.path+oldSuffix) == nil && l.open() == nil {
			_ = old.Close()
		}
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	return n, err
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.f.Close()
}
