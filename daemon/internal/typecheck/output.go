package typecheck

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"tenon/daemon/internal/fault"
)

// A checker's words are kept within these, so that one mistake in a large type
// does not fill a result.
const (
	maxDiagnostics = 100
	maxWords       = 600 // bytes of one
)

// inFunction are what a checker says of statements that stand at top level for
// their author, and in a function for us: namespaces, modules and "declare".
var inFunction = map[int]bool{1184: true, 1234: true, 1235: true}

var (
	tscLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^` + stem + `\.(?:ts|js)\((\d+),(\d+)\): error TS(\d+): (.*)$`)
	})
	denoHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^TS(\d+) \[ERROR\]: (.*)$`)
	})
	denoPlace = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s+at file://.*/([^/]+):(\d+):(\d+)$`)
	})
)

// diagnostics reads what t said about p. Mistakes in other files are left out.
func (p *program) diagnostics(t *tool, output string) []Diagnostic {
	lines := strings.Split(strings.ReplaceAll(output, "\r\n", "\n"), "\n")
	var found []Diagnostic
	if t.kind == "deno" {
		found = p.ofDeno(lines)
	} else {
		found = p.ofTSC(lines)
	}
	var out []Diagnostic
	last := strings.Count(p.text, "\n") - strings.Count(head+foot, "\n") + 1 // of the author's lines
	for _, d := range found {
		if p.above > 0 && inFunction[d.Code] {
			continue
		}
		if d.Line -= p.above; p.above > 0 && d.Line > last {
			d.Line, d.Column = last, 1 // at our closing bracket: the end of the program
		}
		d.Line, d.Message = max(1, d.Line), clip(d.Message)
		if out = append(out, d); len(out) == maxDiagnostics {
			break
		}
	}
	return out
}

// ofTSC reads lines such as
//
//	program.ts(2,34): error TS2322: Type 'string' is not assignable to type 'number'.
//	  Further words about it.
func (p *program) ofTSC(lines []string) []Diagnostic {
	var out []Diagnostic
	ours := false
	for _, line := range lines {
		m := tscLine().FindStringSubmatch(line)
		switch {
		case m != nil:
			out, ours = append(out, diagnostic(m[1], m[2], m[3], m[4])), true
		case ours && strings.HasPrefix(line, "  "):
			out[len(out)-1].Message += " " + strings.TrimSpace(line)
		default:
			ours = false
		}
	}
	return out
}

// ofDeno reads blocks such as
//
//	TS2322 [ERROR]: Type 'string' is not assignable to type 'number'.
//	  Further words about it.
//	const n: number = text;
//	      ^
//	    at file:///dir/program.ts:2:7
func (p *program) ofDeno(lines []string) []Diagnostic {
	var out []Diagnostic
	for i := 0; i < len(lines); i++ {
		m := denoHead().FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		for k := i + 1; k < len(lines) && denoHead().FindString(lines[k]) == ""; k++ {
			at := denoPlace().FindStringSubmatch(lines[k])
			if at == nil {
				continue
			}
			if at[1] == p.name {
				words := append([]string{m[2]}, lines[i+1:max(i+1, k-2)]...) // two lines show the source
				for j := range words {
					words[j] = strings.TrimSpace(words[j])
				}
				out = append(out, diagnostic(at[2], at[3], m[1], strings.Join(words, " ")))
			}
			break
		}
	}
	return out
}

func diagnostic(line, column, code, words string) Diagnostic {
	d := Diagnostic{Message: words}
	d.Line, _ = strconv.Atoi(line) // digits by the expression that found them
	d.Column, _ = strconv.Atoi(column)
	d.Code, _ = strconv.Atoi(code)
	return d
}

func clip(s string) string {
	if len(s) <= maxWords {
		return s
	}
	n := maxWords
	for n > 0 && s[n]&0xc0 == 0x80 { // between characters
		n--
	}
	return s[:n] + "…"
}

// Shown is how many mistakes a failure and a result's warnings name.
const Shown = 10

// String is a diagnostic in one line, without its place.
func (d Diagnostic) String() string {
	return strings.TrimSuffix(d.Message, ".") + " (TS" + strconv.Itoa(d.Code) + ")"
}

// Warnings are the mistakes in a line each, Shown at most, and how many more
// there are.
func (r *Report) Warnings() []string {
	var out []string
	for i, d := range r.Diagnostics {
		if i == Shown {
			return append(out, more(len(r.Diagnostics)-i))
		}
		out = append(out, place(d)+": "+d.String())
	}
	return out
}

// Failure is the report as the end of a strict run; nil when nothing is wrong.
// Its place is that of the first mistake; the others follow with theirs.
func (r *Report) Failure() *fault.Error {
	if len(r.Diagnostics) == 0 {
		return nil
	}
	first := r.Diagnostics[0]
	words := []string{first.String()}
	for i, d := range r.Diagnostics[1:] {
		if i+1 == Shown {
			words = append(words, more(len(r.Diagnostics)-Shown))
			break
		}
		words = append(words, place(d)+": "+d.String())
	}
	e := fault.New(fault.TypeCheckError, "%s", strings.Join(words, "\n")).
		WithHint("nothing of the program ran; checked by %s", r.Checker)
	e.Position = &first.Position
	return e
}

func place(d Diagnostic) string {
	return strconv.Itoa(d.Line) + ":" + strconv.Itoa(d.Column)
}

func more(n int) string {
	if n >= maxDiagnostics-Shown {
		return "and " + strconv.Itoa(n) + " more, or still more than that"
	}
	return "and " + strconv.Itoa(n) + " more"
}
