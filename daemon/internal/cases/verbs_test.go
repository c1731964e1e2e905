package cases

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tenon/daemon/internal/fakeserver"
	"tenon/daemon/internal/rig"
)

// verb carries out one kind of line. last is the standard output of the line
// before.
type verb func(s *scene, p *plan, last []byte) (outcome, error)

var verbs map[string]verb

func init() { // a literal would refer to itself by way of parsePlan
	verbs = map[string]verb{
		"tenon": programVerb, "sh": programVerb,
		"join": joinVerb, "keys": keysVerb, "signal": signalVerb,
		"processes": processesVerb, "zombies": zombiesVerb, "memory": memoryVerb,
		"show": showVerb, "last": lastVerb, "distinct": distinctVerb, "journal": journalVerb,
		"set": setVerb, "http": httpVerb, "socket": socketVerb, "other-build": otherBuildVerb,
		"host": hostVerb, "session": sessionVerb, "bridge": bridgeVerb, "unit": unitVerb,
	}
}

func programVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Hung)
	defer cancel()
	return s.runProgram(ctx, p, nil)
}

func usage(text string) error { return errors.New("usage: " + text) }

func joinVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) != 1 {
		return outcome{}, usage("join JOB")
	}
	return s.join(p.words[0])
}

// keysVerb types into a job's terminal; Go's escapes work in the text.
func keysVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) != 2 {
		return outcome{}, usage("keys JOB TEXT")
	}
	j, err := s.job(p.words[0])
	if err != nil {
		return outcome{}, err
	}
	if j.terminal == nil {
		return outcome{}, fmt.Errorf("job %s has no terminal", p.words[0])
	}
	text, err := strconv.Unquote(`"` + p.words[1] + `"`)
	if err != nil {
		return outcome{}, err
	}
	<-j.terminal.Ready
	_, err = j.terminal.Keys.Write([]byte(text))
	return outcome{}, err
}

// signalVerb sends a signal to the case's processes that match. "for=DUR"
// after STOP lets them go on when the time is over.
func signalVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) < 2 {
		return outcome{}, usage("signal NAME PATTERN [for=DUR]")
	}
	sig := unix.SignalNum("SIG" + p.words[0])
	if sig == 0 {
		return outcome{}, fmt.Errorf("unknown signal %s", p.words[0])
	}
	found, err := s.Matching(p.words[1])
	if err != nil {
		return outcome{}, err
	}
	if len(found) == 0 {
		return rig.No("no process matches %s", p.words[1]), nil
	}
	for _, f := range found {
		if err := syscall.Kill(f.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return outcome{}, err
		}
	}
	if sig == syscall.SIGSTOP {
		// A thread that has not yet seen the signal may still answer.
		for _, f := range found {
			deadline := time.Now().Add(rig.GoneBound)
			for !fakeserver.Suspended(f.PID) && syscall.Kill(f.PID, 0) == nil {
				if time.Now().After(deadline) {
					return rig.No("process %d still runs after SIGSTOP", f.PID), nil
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
	if d, ok := options(p.words[2:])["for"]; ok {
		stopped, err := time.ParseDuration(d)
		if err != nil {
			return outcome{}, err
		}
		time.AfterFunc(stopped, func() {
			for _, f := range found {
				_ = syscall.Kill(f.PID, syscall.SIGCONT)
			}
		})
	}
	return outcome{}, nil
}

// count judges "OP N" about a number.
func count(n int, words []string, what string, detail any) (outcome, error) {
	if len(words) != 2 {
		return outcome{}, usage(what + " OP N")
	}
	ok, err := compare(json.Number(strconv.Itoa(n)), words[0], words[1])
	if err != nil {
		return outcome{}, err
	}
	if !ok {
		return rig.No("%d %s, want %s %s: %v", n, what, words[0], words[1], detail), nil
	}
	return outcome{}, nil
}

func processesVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) != 3 {
		return outcome{}, usage("processes PATTERN OP N")
	}
	found, err := s.Matching(p.words[0])
	if err != nil {
		return outcome{}, err
	}
	return count(len(found), p.words[1:], "processes", found)
}

func zombiesVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	found := s.Zombies()
	return count(len(found), p.words, "zombies", found)
}

// memoryVerb judges the daemon's resident memory, now or at its highest.
func memoryVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	lines := map[string]string{"now": "VmRSS", "peak": "VmHWM"}
	if len(p.words) != 3 || lines[p.words[0]] == "" {
		return outcome{}, usage("memory now|peak OP MiB")
	}
	pid, err := s.DaemonPID()
	if err != nil {
		return outcome{}, err
	}
	n, err := rig.Memory(pid, lines[p.words[0]])
	if err != nil {
		return outcome{}, err
	}
	return count(int(n>>20), p.words[1:], "MiB", lines[p.words[0]])
}

func showVerb(_ *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) != 1 {
		return outcome{}, usage("show FILE")
	}
	path := p.words[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return rig.No("no file %s", path), nil
	}
	return outcome{Stdout: data}, err
}

func lastVerb(_ *scene, _ *plan, last []byte) (outcome, error) { return outcome{Stdout: last}, nil }

// distinctVerb counts the different lines of the output before.
func distinctVerb(_ *scene, p *plan, last []byte) (outcome, error) {
	seen := map[string]bool{}
	for l := range strings.Lines(string(last)) {
		if l = strings.TrimSpace(l); l != "" {
			seen[l] = true
		}
	}
	o, err := count(len(seen), p.words, "different lines", string(last))
	o.Stdout = last
	return o, err
}

// journalVerb prints a fake server's journal as one JSON list of messages:
// those of a method, the answers to its own questions ("answers"), or all.
func journalVerb(_ *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) != 2 {
		return outcome{}, usage("journal FILE METHOD|answers|all")
	}
	path := p.words[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return outcome{}, err
	}
	list := []json.RawMessage{}
	for line := range bytes.Lines(data) {
		var entry struct {
			Message json.RawMessage `json:"message"`
		}
		var head struct {
			Method string `json:"method"`
		}
		if json.Unmarshal(line, &entry) != nil {
			continue // still being written
		}
		_ = json.Unmarshal(entry.Message, &head) // what is no message has no method
		if p.words[1] == "all" || p.words[1] == head.Method || p.words[1] == "answers" && head.Method == "" {
			list = append(list, entry.Message)
		}
	}
	out, err := json.Marshal(list)
	return outcome{Stdout: out}, err
}

// setVerb sets variables for the rest of the case. testscript's own env does
// not reach the programs of this runner.
func setVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	for _, kv := range p.words {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			return outcome{}, usage("set NAME=VALUE…")
		}
		s.Set(name, value)
	}
	return outcome{}, nil
}

// otherBuildVerb writes a copy of the program that differs in nothing but its
// build id, and is a minute younger.
func otherBuildVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) != 1 {
		return outcome{}, usage("other-build FILE")
	}
	own := filepath.Join(s.Work, "bin", "tenon")
	f, err := elf.Open(own)
	if err != nil {
		return outcome{}, err
	}
	note := f.Section(".note.go.buildid")
	_ = f.Close()
	if note == nil {
		return outcome{}, errors.New("the program has no build id")
	}
	data, err := os.ReadFile(own)
	if err != nil {
		return outcome{}, err
	}
	at := note.Offset + note.Size - 1
	for data[at] == 0 { // padding
		at--
	}
	data[at] ^= 1
	if err := os.WriteFile(p.words[0], data, 0o755); err != nil {
		return outcome{}, err
	}
	st, err := os.Stat(own)
	if err != nil {
		return outcome{}, err
	}
	younger := st.ModTime().Add(time.Minute)
	return outcome{}, os.Chtimes(p.words[0], younger, younger)
}

// options reads words of the form name=value.
func options(words []string) map[string]string {
	all := map[string]string{}
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			all[name] = value
		}
	}
	return all
}
