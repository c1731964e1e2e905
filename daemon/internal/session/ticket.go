package session

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
)

// TicketKind says what a ticket proves.
type TicketKind string

// The kinds of tickets.
const (
	HostTicket      TicketKind = "host"      // the bearer is a plugin's host; it may name its sessions
	SessionTicket   TicketKind = "session"   // the bearer acts for one session
	RunTicket       TicketKind = "run"       // the bearer is one run of a session
	DirectoryTicket TicketKind = "directory" // the bearer is a terminal of a directory
)

// Ticket is what a verified ticket says.
type Ticket struct {
	Kind    TicketKind
	ID      string // the session's; for a host ticket the bridge's
	Run     string // run tickets
	Expires time.Time
}

// Issue makes a ticket for a session, a directory's session or a host's
// bridge; ttl 0 means the configured one.
func (m *Manager) Issue(kind TicketKind, id string, ttl time.Duration) string {
	if ttl <= 0 {
		ttl = time.Duration(m.ttl.Load())
	}
	return m.tickets.issue(Ticket{Kind: kind, ID: id}, ttl)
}

// IssueRun makes the ticket of one run of a session.
func (m *Manager) IssueRun(session, run string, ttl time.Duration) string {
	if ttl <= 0 {
		ttl = time.Duration(m.ttl.Load())
	}
	return m.tickets.issue(Ticket{Kind: RunTicket, ID: session, Run: run}, ttl)
}

// Verify checks a ticket: Unauthorized when it is not one of ours, has
// expired, or its session has ended since.
func (m *Manager) Verify(ticket string) (Ticket, error) { return m.tickets.verify(ticket) }

const (
	keyFile     = "tickets.key"
	revokedFile = "tickets.ended"
	keyBytes    = 32
	// maxTicket bounds what Verify looks at.
	maxTicket = 2048
	prefix    = "tn1"
)

// tickets signs and checks. The text form is
//
//	tn1.<kind>.<id>.<run>.<issued>.<expires>.<mac>
//
// with id, run and mac in base64url and the times in nanoseconds, base 36. The
// mac is HMAC-SHA256 over everything before it.
//
// A session that ends takes its tickets with it: what was issued before is
// refused, also after a restart of the daemon. Its id may be attached anew.
type tickets struct {
	key  []byte
	dir  string
	now  func() time.Time
	boot string // random, part of the ids of ephemeral sessions

	mu     sync.Mutex
	issued map[string]time.Time // guarded by mu; until when a session has valid tickets
	ended  map[string]ending    // guarded by mu; by session id
	lines  int                  // guarded by mu; in the file of ended sessions
}

// ending is when a session ended and until when its tickets could be valid.
type ending struct{ at, till time.Time }

func openTickets(dir string, now func() time.Time) (*tickets, error) {
	if dir == "" {
		return nil, errors.New("sessions need a runtime directory for the tickets' key")
	}
	key, err := readKey(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, fmt.Errorf("the tickets' key cannot be used: %w", err)
	}
	boot := make([]byte, 4)
	if _, err := rand.Read(boot); err != nil {
		return nil, fmt.Errorf("no random numbers: %w", err)
	}
	t := &tickets{key: key, dir: dir, now: now, boot: hex.EncodeToString(boot), issued: map[string]time.Time{}, ended: map[string]ending{}}
	if err := t.loadEnded(); err != nil {
		return nil, fmt.Errorf("the list of ended sessions cannot be used: %w", err)
	}
	return t, nil
}

// readKey reads the key or makes a new one: when there is none, when it is
// damaged, and when others could have read it.
func readKey(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0 {
		key, err := os.ReadFile(path)
		if err == nil && len(key) == keyBytes {
			return key, nil
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	key := make([]byte, keyBytes)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	return key, writeFile(path, key)
}

// writeFile writes a private file whole or not at all.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// enc takes each text in one form only: a ticket has no second spelling.
var enc = base64.RawURLEncoding.Strict()

func (t *tickets) issue(k Ticket, ttl time.Duration) string {
	now := t.now()
	if k.Kind != HostTicket {
		t.noteIssued(k.ID, now.Add(ttl))
	}
	body := strings.Join([]string{
		prefix, string(k.Kind),
		enc.EncodeToString([]byte(k.ID)),
		enc.EncodeToString([]byte(k.Run)),
		strconv.FormatInt(now.UnixNano(), 36),
		strconv.FormatInt(now.Add(ttl).UnixNano(), 36),
	}, ".")
	return body + "." + enc.EncodeToString(t.mac(body))
}

func (t *tickets) mac(body string) []byte {
	h := hmac.New(sha256.New, t.key)
	h.Write([]byte(body))
	return h.Sum(nil)
}

func (t *tickets) verify(ticket string) (Ticket, error) {
	bad := func(why string) (Ticket, error) {
		return Ticket{}, fault.New(fault.Unauthorized, "the ticket is not valid: %s", why).
			WithHint("inside opencode's shell TENON_TICKET is set anew for each command; elsewhere unset TENON_TICKET and TENON_SESSION_ID")
	}
	if len(ticket) > maxTicket {
		return bad("it is too long")
	}
	cut := strings.LastIndexByte(ticket, '.')
	if cut < 0 {
		return bad("it is not one of ours")
	}
	body := ticket[:cut]
	mac, err := enc.DecodeString(ticket[cut+1:])
	if err != nil || !hmac.Equal(mac, t.mac(body)) {
		return bad("it is not one of ours")
	}
	// From here on the text is ours.
	f := strings.Split(body, ".")
	if len(f) != 6 || f[0] != prefix {
		return bad("it is of another version")
	}
	id, err1 := enc.DecodeString(f[2])
	run, err2 := enc.DecodeString(f[3])
	issued, err3 := strconv.ParseInt(f[4], 36, 64)
	expires, err4 := strconv.ParseInt(f[5], 36, 64)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return bad("it is of another version")
	}
	k := Ticket{Kind: TicketKind(f[1]), ID: string(id), Run: string(run), Expires: time.Unix(0, expires)}
	if !t.now().Before(k.Expires) {
		return bad("it has expired")
	}
	if k.Kind != HostTicket && t.endedSince(k.ID, time.Unix(0, issued)) {
		return bad("its session has ended")
	}
	if k.Kind != HostTicket {
		t.noteIssued(k.ID, k.Expires) // perhaps by this daemon's predecessor
	}
	return k, nil
}

func (t *tickets) noteIssued(id string, till time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if till.After(t.issued[id]) {
		t.issued[id] = till
	}
}

func (t *tickets) endedSince(id string, issued time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.ended[id]
	return ok && !issued.After(e.at)
}

// maxEnded is how many lines the file of ended sessions may have before it is
// written anew without what has expired.
const maxEnded = 1024

// revoke refuses all tickets of a session issued until now. The list is kept
// in a file, so that a restart does not bring them back; what cannot be
// written is still refused by this daemon. A session without tickets costs
// nothing.
func (t *tickets) revoke(id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	till, some := t.issued[id]
	if !some {
		return nil
	}
	delete(t.issued, id)
	t.ended[id] = ending{at: t.now(), till: till}
	if t.lines >= maxEnded {
		return t.rewriteLocked()
	}
	f, err := local.OpenRegular(filepath.Join(t.dir, revokedFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	t.lines++
	_, err = f.WriteString(endedLine(id, t.ended[id]))
	return errors.Join(err, f.Close())
}

// rewriteLocked drops what has expired, from memory and file.
func (t *tickets) rewriteLocked() error {
	now := t.now()
	var keep strings.Builder
	t.lines = 0
	for id, e := range t.ended {
		if !now.Before(e.till) {
			delete(t.ended, id)
			continue
		}
		keep.WriteString(endedLine(id, e))
		t.lines++
	}
	for id, till := range t.issued {
		if !now.Before(till) {
			delete(t.issued, id)
		}
	}
	return writeFile(filepath.Join(t.dir, revokedFile), []byte(keep.String()))
}

func endedLine(id string, e ending) string {
	return fmt.Sprintf("%d %d %s\n", e.at.UnixNano(), e.till.UnixNano(), enc.EncodeToString([]byte(id)))
}

// loadEnded reads the list of a predecessor.
func (t *tickets) loadEnded() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	data, err := local.ReadRegular(filepath.Join(t.dir, revokedFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		var at, till int64
		var text string
		if _, err := fmt.Sscanf(line, "%d %d %s", &at, &till, &text); err != nil {
			continue // half a line from a daemon that was killed
		}
		if id, err := enc.DecodeString(text); err == nil {
			t.ended[string(id)] = ending{time.Unix(0, at), time.Unix(0, till)}
		}
	}
	return t.rewriteLocked()
}
