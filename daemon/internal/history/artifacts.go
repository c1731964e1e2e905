package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/local"
	"tenon/proto"
)

// artifact is one row: a handle, and what it belongs to.
type artifact struct {
	proto.Artifact
	run, kind string // kind: artifact, output
	created   time.Time
}

// Put keeps bytes a run or a call produced and returns their handle. They are
// kept as they are, except that secrets in text are masked, of whatever media type. An error means that
// nothing is kept; the handle is then empty.
func (s *Store) Put(run, name, mimeType string, data []byte) (proto.Artifact, error) {
	return s.keep("artifact", run, name, mimeType, data)
}

// PutOutput keeps the whole output of a run whose result had to be cut; it is
// found by the run's id as well.
func (s *Store) PutOutput(run string, data []byte) (proto.Artifact, error) {
	return s.keep("output", run, "output", "text/plain; charset=utf-8", data)
}

func (s *Store) keep(kind, run, name, mimeType string, data []byte) (proto.Artifact, error) {
	if textual(mimeType) || utf8.Valid(data) { // whatever it is called

		data = []byte(s.redact.Text(string(data)))
	}
	id, err := uuid.NewV7()
	if err != nil {
		return proto.Artifact{}, fmt.Errorf("artifact id: %w", err)
	}
	a := artifact{
		Artifact: proto.Artifact{ID: "art_" + id.String(), Name: name, MimeType: mimeType, Bytes: int64(len(data))},
		run:      run, kind: kind, created: s.now(),
	}
	if err := writeFile(s.artifactPath(a.ID), data); err != nil {
		s.lose(1)
		s.complain("artifacts", err)
		return proto.Artifact{}, fmt.Errorf("artifact: %w", err)
	}
	s.put(record{data: a})
	return a.Artifact, nil
}

// Open finds the bytes of an artifact, or of a run's whole output by the run's
// id. A run whose result was not cut has no output of its own here.
func (s *Store) Open(ctx context.Context, id string) (proto.Artifact, []byte, error) {
	if err := s.Flush(ctx); err != nil {
		return proto.Artifact{}, nil, unavailable(err)
	}
	db, err := s.database(ctx)
	if err != nil {
		return proto.Artifact{}, nil, unavailable(err)
	}
	var a proto.Artifact
	err = db.QueryRowContext(ctx, `SELECT id, name, mime, bytes FROM artifacts
		WHERE id = ?1 OR (run = ?1 AND kind = 'output') ORDER BY created DESC LIMIT 1`, id).
		Scan(&a.ID, &a.Name, &a.MimeType, &a.Bytes)
	if errors.Is(err, sql.ErrNoRows) {
		return a, nil, fault.New(fault.NotFound, "no output or artifact %q", id).
			WithHint("tenon runs list shows what is kept; retention removes old ones")
	}
	if err != nil {
		return a, nil, unavailable(err)
	}
	data, err := local.ReadRegular(s.artifactPath(a.ID))
	if err != nil {
		return a, nil, fault.New(fault.NotFound, "the bytes of %s are gone", a.ID).Because(err)
	}
	return a, data, nil
}

func unavailable(err error) error {
	return fault.New(fault.InternalError, "history cannot be read").Because(err).
		WithHint("tenon daemon logs has the cause; calls work without a history")
}

// artifactPath is where the bytes are. Ids are our own, but they may come back
// from a caller: anything but a plain name leads nowhere.
func (s *Store) artifactPath(id string) string {
	return filepath.Join(s.path("artifacts"), filepath.Base(filepath.Clean("/"+id)))
}

// textual reports whether bytes of a media type are text in which a secret
// would be readable.
func textual(mimeType string) bool {
	return strings.HasPrefix(mimeType, "text/") || strings.Contains(mimeType, "json") || strings.Contains(mimeType, "xml")
}

// writeFile writes a file of mode 0600 atomically, making its folder (0700).
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
