package script

import (
	"sort"
	"strings"
)

// change replaces the output between two offsets; it stays on one line.
type change struct {
	from, to int
	text     string
}

// tail rewrites the last statement of a program so that its value is returned:
//
//	expr;                        return (expr);
//	{ … }                        its last statement
//	if (c) … else …              the last statement of each branch
//	try { … } catch { … }        the last statement of both, awaited inside
//
// Everything else (declarations, loops, switch, labels) yields undefined. A last
// statement that esbuild has left out is put in again; see [tail.lost].
type tail struct {
	code   string
	tokens []token
	out    []change
	again  *again // nil: what esbuild has left out is not looked for
}

// list rewrites the statement list of tokens from..to; its statements start at
// the column of the first one.
func (t *tail) list(from, to int, await bool) {
	end := to // before empty statements
	for end > from && t.tokens[end-1].first && t.text(end-1) == ";" {
		end--
	}
	if constant, ok := t.lost(end, to); ok {
		at := len(t.code)
		if end < len(t.tokens) {
			at = t.tokens[end].pos
		}
		t.insert(at, "return ("+constant+");")
		return
	}
	if from >= to || !t.tokens[from].first {
		return
	}
	column := t.tokens[from].column
	for k := to - 1; k >= from; k-- {
		if m := t.tokens[k].match; m >= 0 && m < k {
			k = m
		}
		tok := t.tokens[k]
		if !tok.first || tok.column != column || tok.kind == closing || t.text(k) == "else" {
			continue
		}
		if t.text(k) == ";" {
			continue
		}
		t.statement(k, to, await, true)
		return
	}
}

// statement rewrites the statement at index i when edit is set, and returns the
// index after it.
func (t *tail) statement(i, to int, await, edit bool) int {
	switch t.text(i) {
	case ";": // an empty statement
		if edit {
			if constant, ok := t.lost(i, i+1); ok {
				t.insert(t.tokens[i].pos, "return ("+constant+")")
			}
		}
		return i + 1
	case "{":
		if edit {
			t.list(i+1, t.tokens[i].match, await)
		}
		return t.tokens[i].match + 1
	case "if":
		i = t.statement(t.after(i+1), to, await, edit)
		if t.text(i) == "else" {
			i = t.statement(i+1, to, await, edit)
		}
		return i
	case "try":
		return t.try(i, to, await, edit)
	case "for", "while", "with":
		if t.text(i+1) == "await" {
			i++
		}
		return t.statement(t.after(i+1), to, await, false)
	case "do":
		i = t.statement(i+1, to, await, false) // at while
		return t.after(i+1) + 1
	case "switch":
		return t.after(t.after(i + 1))
	}
	if t.tokens[i].kind == word && t.text(i+1) == ":" {
		return t.statement(i+2, to, await, false)
	}
	end := i
	for end < to && t.text(end) != ";" {
		if m := t.tokens[end].match; m > end {
			end = m
		}
		end++
	}
	if edit && end < to && t.isExpression(i) {
		open := "return ("
		if await {
			open = "return await ("
		}
		t.insert(t.tokens[i].pos, open)
		t.insert(t.tokens[end].pos, ")")
	}
	return end + 1
}

// try rewrites a try statement. The value is awaited inside, so that a promise
// that rejects reaches the catch of the statement that made it.
func (t *tail) try(i, to int, await, edit bool) int {
	block := i + 1
	i = t.after(block)
	handler := -1
	if t.text(i) == "catch" {
		handler = i + 1
		if t.text(handler) == "(" {
			handler = t.after(handler)
		}
		i = t.after(handler)
	}
	finally := t.text(i) == "finally"
	if finally {
		i = t.after(i + 1)
	}
	if edit {
		t.statement(block, to, true, true)
		if handler >= 0 {
			t.statement(handler, to, await || finally, true)
		}
	}
	return i
}

// after returns the index behind the bracket pair that starts at i.
func (t *tail) after(i int) int {
	if i < len(t.tokens) && t.tokens[i].match > i {
		return t.tokens[i].match + 1
	}
	return i
}

func (t *tail) text(i int) string {
	if i >= len(t.tokens) {
		return ""
	}
	return t.code[t.tokens[i].pos:t.tokens[i].end]
}

// isExpression reports whether the statement at index i is an expression.
func (t *tail) isExpression(i int) bool {
	if t.tokens[i].kind != word {
		return true
	}
	next := t.text(i + 1)
	nextIsWord := i+1 < len(t.tokens) && t.tokens[i+1].kind == word && next != "in" && next != "instanceof"
	switch t.text(i) {
	case "const", "var", "function", "class", "return", "throw", "break", "continue", "debugger":
		return false
	case "let":
		return !nextIsWord && next != "[" && next != "{"
	case "async":
		return next != "function"
	case "using":
		return !nextIsWord
	case "await":
		return next != "using" || i+2 >= len(t.tokens) || t.tokens[i+2].kind != word
	case "import":
		return next == "(" || next == "."
	case "export":
		return false
	}
	return true
}

func (t *tail) insert(at int, text string) {
	t.out = append(t.out, change{at, at, text})
}

// apply makes the changes and says which columns they moved.
func apply(code string, changes []change) (string, []Edit) {
	sort.SliceStable(changes, func(i, j int) bool { return changes[i].from < changes[j].from })
	var b strings.Builder
	var edits []Edit
	last, line, lineStart := 0, 0, 0
	moved := 0 // on this line
	for _, c := range changes {
		part := code[last:c.from]
		if n := strings.Count(part, "\n"); n > 0 {
			line += n
			lineStart = last + strings.LastIndexByte(part, '\n') + 1
			moved = 0
		}
		b.WriteString(part)
		b.WriteString(c.text)
		edits = append(edits, Edit{Line: line, Column: c.from - lineStart + moved, Old: c.to - c.from, New: len(c.text)})
		moved += len(c.text) - (c.to - c.from)
		last = c.to
	}
	b.WriteString(code[last:])
	return b.String(), edits
}
