package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tenon/daemon/internal/local"
)

const (
	recordVersion = 1
	maxRecord     = 1 << 20  // bytes of a file
	maxSecret     = 64 << 10 // bytes of a token, of a client's id or secret
	// maxScope bounds the scopes of a login, which a server names and which stand
	// in the address that the browser opens.
	maxScope = 8 << 10
)

// record is one login on disk.
type record struct {
	Version  int    `json:"version"`
	Server   string `json:"server"`
	URL      string `json:"url"`
	Resource string `json:"resource"` // that the tokens are for
	Issuer   string `json:"issuer"`
	Token    string `json:"tokenEndpoint"`
	Revoke   string `json:"revocationEndpoint,omitempty"`
	Client   client `json:"client"`

	Access  string    `json:"accessToken,omitempty"`
	Refresh string    `json:"refreshToken,omitempty"`
	Issued  time.Time `json:"issued,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // zero: not told
	Scope   string    `json:"scope,omitempty"`  // granted, or what was asked for where that was not told
	// Wants are scopes that the server asked for beyond those granted.
	Wants string `json:"wants,omitempty"`
	// Ended says why there are no tokens any more.
	Ended string `json:"ended,omitempty"`
}

// client is what the authorization server knows us as.
type client struct {
	ID       string    `json:"id"`
	Secret   string    `json:"secret,omitempty"`
	Expires  time.Time `json:"secretExpires,omitzero"`
	Method   string    `json:"method"` // none, client_secret_basic, client_secret_post
	From     string    `json:"from"`   // configured, document, registered
	Redirect string    `json:"redirect,omitempty"`
	Scope    string    `json:"scope,omitempty"`  // that it was registered for
	Device   bool      `json:"device,omitempty"` // registered for the device flow too
}

// Ways to come by a client.
const (
	configured = "configured"
	document   = "document"
	registered = "registered"
)

// due is whether the access token is at its end, or so near that it is replaced.
func (r *record) due(now time.Time) bool {
	if r.Expires.IsZero() {
		return false
	}
	return !now.Before(r.Expires.Add(-min(early, r.Expires.Sub(r.Issued)/4)))
}

func (r *record) over(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }

// end drops the tokens.
func (r *record) end(why string) { r.Access, r.Refresh, r.Expires, r.Ended = "", "", time.Time{}, why }

// secrets are the values that nobody may see.
func (r *record) secrets() []string { return []string{r.Access, r.Refresh, r.Client.Secret} }

// hide replaces the secrets in a text.
func (r *record) hide(s string) string {
	for _, secret := range r.secrets() {
		if len(secret) >= 4 {
			s = strings.ReplaceAll(s, secret, "[secret]")
		}
	}
	return s
}

// file is a record's file with what was read of it last.
type file struct {
	path string

	mu   sync.Mutex
	rec  *record     // nil: there is none; never changed once it is here
	info fs.FileInfo // of the file that rec was read from; nil: there was none
	held bool        // rec could not be written, and stands for the file as it is
}

// hold keeps a record that the disk does not take, until the file is another.
func (f *file) hold(r *record) {
	info, err := os.Lstat(f.path)
	if err != nil {
		info = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rec, f.info, f.held = r, info, true
}

// read gives the record as the file has it now, nil where there is none. The
// file is read again only when it is another: it is replaced, never written to.
func (f *file) read() (*record, error) {
	info, err := os.Lstat(f.path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && !info.Mode().IsRegular() { // a pipe would be waited for, a link leads elsewhere
		return nil, fmt.Errorf("the login cannot be read: %s is no plain file", f.path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if !f.held || f.info != nil {
			f.rec, f.info, f.held = nil, nil, false
		}
		return f.rec, nil
	}
	if err == nil {
		err = local.KeepPrivate(filepath.Dir(f.path)) // who may write there may put a login of theirs in place of ours
	}
	if err != nil {
		return nil, fmt.Errorf("the login cannot be read: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(f.path, 0o600); err != nil {
			return nil, fmt.Errorf("the login is not private: %w", err)
		}
	}
	if f.info != nil && os.SameFile(info, f.info) && info.ModTime().Equal(f.info.ModTime()) && info.Size() == f.info.Size() {
		return f.rec, nil
	}
	data, err := readBounded(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the login cannot be read: %w", err)
	}
	f.held = false
	var r record
	// A file that makes no sense is as good as none: the next login replaces it.
	if json.Unmarshal(data, &r) != nil || r.Version != recordVersion {
		f.rec, f.info = nil, info
		return nil, nil
	}
	f.rec, f.info = &r, info
	return f.rec, nil
}

func readBounded(path string) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, maxRecord))
}

// write replaces the file (0600) by one that has r, which is on the disk when it
// returns: a refresh token that was answered once is not answered again. The lock
// is held.
func (f *file) write(r *record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if len(data) >= maxRecord {
		return fmt.Errorf("the login cannot be kept: it has more than %d bytes", maxRecord)
	}
	f.sweep()
	dir := filepath.Dir(f.path)
	tmp, err := os.CreateTemp(dir, f.temporary("*")) // 0600
	if err != nil {
		return fmt.Errorf("the login cannot be kept: %w", err)
	}
	_, err = tmp.Write(append(data, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return fmt.Errorf("the login cannot be kept: %w", err)
	}
	if d, err := os.Open(dir); err == nil { // some file systems cannot sync a directory
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}

// remove forgets the record, here and on the disk, and reports whether there was
// a file. The lock is held.
func (f *file) remove() (bool, error) {
	f.sweep()
	err := os.Remove(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rec, f.info, f.held = nil, nil, false
	return err == nil, nil
}

// temporary names what a record is written to before it takes its place.
func (f *file) temporary(end string) string {
	return ".new-" + strings.TrimSuffix(filepath.Base(f.path), ".json") + "-" + end
}

// sweep removes what processes that were killed in the middle of a write have
// left: there are tokens in it. The lock is held, so nobody is writing.
func (f *file) sweep() {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(f.path), f.temporary("*")))
	if err != nil {
		return
	}
	for _, path := range left {
		_ = os.Remove(path) // the next one tries again
	}
}
