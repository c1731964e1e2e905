package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// section is the file of an archive that holds its note; it is the last.
const section = "mutation"

// fileLine begins a file in an archive.
var fileLine = regexp.MustCompile(`(?m)^-- .+ --$`)

// note is the mutation of one case: what is broken, where the case must notice
// it, and how to break it.
type note struct {
	name   string   // of the archive, without its ending
	script string   // the lines of the case
	raw    []byte   // the whole archive
	why    string   // what the broken build does, in a sentence
	caught []string // lines of the case, one of which must be the first to fail
	edits  []edit
}

// edit replaces text that stands exactly once in a file. Both texts are whole
// lines and end with a line end, unless they are empty.
type edit struct {
	file     string // from the top of the repository, with slashes
	old, new string
}

const (
	caughtBy = "caught by: "
	fileMark = "--- "
	nextMark = "@@"
)

// readNote reads the note of an archive.
func readNote(path string) (*note, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n := &note{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), script: string(raw), raw: raw}
	if at := fileLine.FindIndex(raw); at != nil {
		n.script = string(raw[:at[0]])
	}
	_, text, found := strings.Cut(string(raw), "\n-- "+section+" --\n")
	if !found {
		return nil, fmt.Errorf("%s: it has no file %q that says how to break what it is about", n.name, section)
	}
	if err := n.parse(text); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", n.name, section, err)
	}
	return n, nil
}

func (n *note) parse(text string) error {
	var at *edit
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case at == nil && strings.HasPrefix(line, "# "):
			n.why = strings.TrimSpace(n.why + " " + line[2:])
		case at == nil && strings.HasPrefix(line, caughtBy):
			n.caught = append(n.caught, line[len(caughtBy):])
		case strings.HasPrefix(line, fileMark):
			n.edits = append(n.edits, edit{file: line[len(fileMark):]})
			at = &n.edits[len(n.edits)-1]
		case at != nil && line == nextMark:
			n.edits = append(n.edits, edit{file: at.file})
			at = &n.edits[len(n.edits)-1]
		case at != nil && line == "":
			at.old, at.new = at.old+"\n", at.new+"\n"
		case at != nil && line[0] == ' ':
			at.old, at.new = at.old+line[1:]+"\n", at.new+line[1:]+"\n"
		case at != nil && line[0] == '-':
			at.old += line[1:] + "\n"
		case at != nil && line[0] == '+':
			at.new += line[1:] + "\n"
		default:
			return fmt.Errorf("cannot read the line %q", line)
		}
	}
	switch {
	case n.why == "":
		return errors.New("a line that begins with # must say what is broken")
	case len(n.edits) == 0:
		return errors.New("it changes nothing")
	}
	return nil
}

// check tells what is wrong with the note's lines of the case.
func (n *note) check() error {
	if len(n.caught) == 0 {
		return fmt.Errorf("%s: no line %q says where the case notices it", n.name, caughtBy)
	}
	lines := strings.Split(n.script, "\n")
	for _, c := range n.caught {
		found := 0
		for _, line := range lines {
			if line == c {
				found++
			}
		}
		if found != 1 {
			return fmt.Errorf("%s: the case has the line %q %d times, not once", n.name, c, found)
		}
	}
	return nil
}

// record writes down in the archive where the case notices its mutation, and
// gives the note anew.
func (n *note) record(dir, line string) (*note, error) {
	path := filepath.Join(dir, n.name+".txtar")
	mark := []byte("\n" + fileMark + n.edits[0].file + "\n")
	at := bytes.LastIndex(n.raw, []byte("\n-- "+section+" --\n"))
	at += bytes.Index(n.raw[at:], mark)
	raw := slices.Concat(n.raw[:at+1], []byte(caughtBy+line+"\n"), n.raw[at+1:])
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		return nil, err
	}
	return readNote(path)
}

// apply gives the changed files below top, by their names from there.
func (n *note) apply(top string) (map[string][]byte, error) {
	changed := map[string][]byte{}
	for _, e := range n.edits {
		data, ok := changed[e.file]
		if !ok {
			var err error
			if data, err = os.ReadFile(filepath.Join(top, filepath.FromSlash(e.file))); err != nil {
				return nil, fmt.Errorf("%s: %w", n.name, err)
			}
		}
		switch found := bytes.Count(append([]byte("\n"), data...), []byte("\n"+e.old)); {
		case e.old == "" || e.old == e.new:
			return nil, fmt.Errorf("%s: an edit of %s changes nothing", n.name, e.file)
		case found != 1:
			return nil, fmt.Errorf("%s: what its mutation replaces stands %d times in %s, not once:\n%s", n.name, found, e.file, e.old)
		}
		whole := bytes.Replace(append([]byte("\n"), data...), []byte("\n"+e.old), []byte("\n"+e.new), 1)
		changed[e.file] = whole[1:]
	}
	return changed, nil
}

// key tells whether a result that was kept is still one of this note: of this
// case, and of these files as they are.
func (n *note) key(changed map[string][]byte) string {
	h := sha256.New()
	_, _ = h.Write(n.raw)
	names := make([]string, 0, len(changed))
	for name := range changed {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		_, _ = fmt.Fprintf(h, "\x00%s\x00%s", name, changed[name])
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}

// notes reads those of all archives whose name holds part, in order; the error
// names all that cannot be read.
func notes(dir, part string) ([]*note, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var all []*note
	var wrong []error
	for _, file := range files {
		if !strings.Contains(filepath.Base(file), part) {
			continue
		}
		n, err := readNote(file)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all = append(all, n)
	}
	if len(all)+len(wrong) == 0 {
		return nil, fmt.Errorf("no case is called like %q", part)
	}
	return all, errors.Join(wrong...)
}
