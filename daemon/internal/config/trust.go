package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/legible"
)

// TrustItem is one thing of a project that would start or widen something.
type TrustItem struct {
	Kind   string `json:"kind"` // server, import, script, hook
	Name   string `json:"name"`
	File   string `json:"file"`
	Shown  string `json:"shown"` // the command line or address, as written: variables stay names
	digest string
	texts  []string // of a hook that names a script: digests of what it may run
}

// TrustResult says what a project would start and whether that is trusted.
type TrustResult struct {
	Root    string      `json:"root"` // the repository's top, or the directory
	Trusted bool        `json:"trusted"`
	Changed bool        `json:"changed"` // by this call
	Digest  string      `json:"digest"`  // of the items: what a yes to them is a yes to
	Items   []TrustItem `json:"items"`
}

// trustItems lists what a project's files would start. Trust hangs on these
// alone, so comments, limits, disabled servers and tightening rules keep it.
// Everything that a project's script section sets is one item: it picks the
// engine and can raise limits.
func trustItems(project *layer, hosts []*layer) []TrustItem {
	var items []TrustItem
	layers := slices.Clone(hosts)
	if project != nil {
		layers = append(layers, project)
		file := project.source.file
		for _, host := range project.imports {
			items = append(items, TrustItem{Kind: "import", Name: host, File: file, Shown: "servers of " + host, digest: digest([]string{"import", file, host})})
		}
		if n := project.doc.get("script"); n != nil && len(n.members) > 0 {
			text, _ := json.Marshal(n.plain())
			items = append(items, TrustItem{Kind: "script", Name: "script", File: file, Shown: visible(string(text)), digest: digest([]string{"script", file, string(text)})})
		}
	}
	if project != nil {
		items = append(items, hookItems(project)...)
	}
	for _, l := range layers {
		for _, s := range l.servers {
			if !s.Enabled || s.Problem != "" {
				continue
			}
			parts := []any{"server", s.Origin.File, s.Name, s.Kind, s.Command, s.Env, s.Cwd, s.URL, s.Headers, reverts(s.Tools)}
			if s.Served != nil {
				parts = append(parts, s.Served) // with the content of its files
			}
			if s.OAuth != nil {
				parts = append(parts, s.OAuth)
			}
			items = append(items, TrustItem{Kind: "server", Name: s.Name, File: s.Origin.File, Shown: s.Shown(), digest: digest(parts)})
		}
	}
	return items
}

func reverts(tools map[string]ToolOptions) map[string]string {
	out := map[string]string{}
	for name, o := range tools {
		if o.Revert != "" {
			out[name] = o.Revert
		}
	}
	return out
}

// Shown is the command line or address as written, for people: variables stay
// names. Values of env and headers are never part of it. What a terminal would
// not show as it is (escape sequences, direction marks) is written out, so that
// nobody trusts a command that hides a part of itself.
func (s *Server) Shown() string {
	switch {
	case s.URL != "":
		return visible(s.URL)
	case s.Served != nil:
		return s.Served.shown()
	}
	return shownWords(s.Command)
}

func shownWords(command []string) string {
	words := make([]string, len(command))
	for i, w := range command {
		w = visible(w)
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\;&|<>()*?#~`") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

// visible writes out every character that does not print, blanks excepted.
func visible(text string) string { return legible.Line(text) }

// trustFile is the list of trusted items, by project root and file.
type trustFile struct {
	path string

	mu       sync.Mutex // guards projects
	projects map[string]map[string][]string
}

type trustDoc struct {
	Version  int                            `json:"version"`
	Projects map[string]map[string][]string `json:"projects"`
}

func openTrust(path string) (*trustFile, error) {
	t := &trustFile{path: path, projects: map[string]map[string][]string{}}
	doc, err := readCapped(path, maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	var d trustDoc
	if err := json.Unmarshal(doc, &d); err != nil {
		return t, fmt.Errorf("%s: %w", path, err)
	}
	if d.Version != 1 {
		return t, fmt.Errorf("%s: version %d is not known", path, d.Version)
	}
	if d.Projects != nil {
		t.projects = d.Projects
	}
	return t, nil
}

// covers reports whether every item is trusted.
func (t *trustFile) covers(root string, items []TrustItem) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, item := range items {
		if !slices.Contains(t.projects[root][item.File], item.digest) {
			return false
		}
	}
	return true
}

// accept replaces what is trusted of the items' files and writes the file.
func (t *trustFile) accept(root string, items []TrustItem) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := map[string][]string{}
	for file, digests := range t.projects[root] {
		fresh[file] = digests
	}
	replaced := map[string]bool{}
	for _, item := range items {
		if !replaced[item.File] {
			replaced[item.File] = true
			fresh[item.File] = nil
		}
		fresh[item.File] = append(fresh[item.File], item.digest)
	}
	next := map[string]map[string][]string{}
	for r, files := range t.projects {
		next[r] = files
	}
	next[root] = fresh
	doc, err := json.MarshalIndent(trustDoc{Version: 1, Projects: next}, "", "  ")
	if err != nil {
		return err
	}
	if err := writeAtomic(t.path, append(doc, '\n')); err != nil {
		return err
	}
	t.projects = next
	return nil
}

// writeAtomic replaces a private file: temporary file, sync, rename.
func writeAtomic(path string, doc []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, filepath.Base(path)+".*") // created 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(doc)
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error is the one to tell
	}
	return err
}

// Status says what the project around dir would start, and whether it may.
func (s *Store) Status(dir string) (*TrustResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status(dir)
}

func (s *Store) status(dir string) (*TrustResult, error) {
	b := &builder{store: s, probes: newProbes(), env: s.o.Environ, home: s.homeOf(s.o.Environ)}
	pr := b.probes.surroundings(resolveDir(dir))
	p, err := b.read(pr, "")
	if err != nil {
		return nil, err
	}
	for _, n := range b.notes {
		if n.Error && n.File != p.userFile {
			// Nobody can agree to what cannot be read.
			return nil, (&BadFile{File: n.File, Line: n.Line, Column: n.Column, Message: n.Message}).fault()
		}
	}
	items := trustItems(p.project, p.projHosts)
	digests := make([]string, len(items))
	for i, item := range items {
		digests[i] = item.digest
	}
	return &TrustResult{Root: pr.top, Items: items, Digest: digest(digests), Trusted: s.trust.covers(pr.top, items)}, nil
}

// Trust accepts what the project around dir would start, as its files are now.
// Whether the caller may is the business of the edge (only a user may).
func (s *Store) Trust(dir string) (*TrustResult, error) { return s.TrustSeen(dir, "") }

// TrustSeen is Trust for items that were shown before: when digest is not
// empty and the files ask for something else by now, nothing is trusted and
// the error is a ConfigError.
func (s *Store) TrustSeen(dir, digest string) (*TrustResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.status(dir)
	if err != nil || r.Trusted {
		return r, err
	}
	if digest != "" && digest != r.Digest {
		return nil, fault.New(fault.ConfigError, "the configuration of %s changed since it was shown", r.Root).
			WithHint("look at it again with tenon trust")
	}
	if err := s.trust.accept(r.Root, r.Items); err != nil {
		return nil, fault.New(fault.ConfigError, "trust of %s cannot be kept: %w", r.Root, err)
	}
	r.Trusted, r.Changed = true, true
	s.outdate()
	return r, nil
}

// TrustConfig accepts the permissions of the user's file as they are now, also
// where they became looser while sessions were attached. It reports whether
// anything was held back. Only a user may; the edge checks.
func (s *Store) TrustConfig() (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := newProbes()
	file, clash := s.findUserFile(p)
	if clash != nil {
		return false, badFile(file, clash).fault()
	}
	var l *layer
	if file != "" {
		var bad *BadFile
		if l, bad = s.load(source{file: file, format: FormatTenon}, p.look(file, false)); bad != nil {
			return false, bad.fault()
		}
	}
	now := permissionsOf(l).complete()
	changed = s.accepted != nil && s.accepted.loosens(now)
	s.accepted = &now
	s.outdate()
	return changed, nil
}

// outdate makes every cached view be built anew and wakes the watcher, which
// reports it as a change. Called with s.mu held.
func (s *Store) outdate() {
	s.epoch++
	s.nudge()
}
