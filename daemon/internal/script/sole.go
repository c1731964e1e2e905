package script

// sole makes a program that is nothing but one function, which would have no
// effect and no value, call it with (input, { args }), as a default export is
// called. It reports whether that was done.
func (t *tail) sole(from, to int) bool {
	if from >= to || !t.tokens[from].first {
		return false
	}
	column := t.tokens[from].column
	for k := from + 1; k < to; k++ {
		if t.tokens[k].first && t.tokens[k].column == column && t.tokens[k].kind != closing {
			return false // a second statement
		}
		if m := t.tokens[k].match; m > k {
			k = m
		}
	}
	k := from
	if t.text(k) == "async" {
		k++
	}
	const arguments = "(globalThis.input, { args: globalThis.args })"
	if t.text(k) == "function" {
		name := k + 1
		if t.tokens[name].kind != word {
			return false // a generator
		}
		t.insert(t.tokens[to-1].end, " return "+t.text(name)+arguments+";")
		return true
	}
	if t.text(k) == "(" && k == from && t.after(k) == to-1 {
		if !t.expression(k+1, t.tokens[k].match) {
			return false
		}
	} else if !t.arrow(k, to-1) {
		return false
	}
	end := to - 1 // the semicolon
	if t.text(end) != ";" {
		return false
	}
	t.insert(t.tokens[from].pos, "return (")
	t.insert(t.tokens[end].pos, ")"+arguments)
	return true
}

// expression reports whether the tokens from k to end are one function.
func (t *tail) expression(k, end int) bool {
	if t.text(k) == "async" {
		k++
	}
	if t.text(k) != "function" {
		return t.arrow(k, end)
	}
	if k++; k < end && t.tokens[k].kind == word {
		k++ // its name
	}
	return t.text(k) == "(" && t.after(t.after(k)) == end
}

// arrow reports whether the tokens from k to end, behind any async, are one arrow
// function.
func (t *tail) arrow(k, end int) bool {
	if t.text(k) == "(" {
		k = t.after(k)
	} else {
		k++
	}
	if k+2 >= end || t.text(k) != "=" || t.text(k+1) != ">" || t.tokens[k].end != t.tokens[k+1].pos {
		return false
	}
	for k += 2; k < end; k = max(k+1, t.after(k)) {
		if t.text(k) == "," {
			return false // a list, of which the function is the first
		}
	}
	return true
}
