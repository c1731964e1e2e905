package typegen

// direct calls f for every reference that stands for a type itself and not for
// a part of a value: TypeScript refuses a type that is made of itself that way.
func direct(e *expr, f func(*expr)) {
	switch e.kind {
	case reference:
		f(e)
	case union, intersection:
		for _, p := range e.parts {
			direct(p, f)
		}
	}
}

// every calls f for every reference in a type.
func every(e *expr, f func(*expr)) {
	if e.kind == reference {
		f(e)
		return
	}
	for _, p := range e.parts {
		every(p, f)
	}
	for _, m := range e.members {
		every(m.typ, f)
	}
	if e.rest != nil {
		every(e.rest, f)
	}
}

// cutLoops makes references unknown by which a schema would be made of itself,
// as in {"A": {"allOf": [B]}, "B": {"allOf": [A]}}: they say nothing.
func (b *builder) cutLoops() {
	for _, d := range b.order {
		d.mark = 0
	}
	var walk func(*def)
	walk = func(d *def) {
		d.mark = 1
		direct(d.body, func(e *expr) {
			switch e.def.mark {
			case 0:
				walk(e.def)
			case 1:
				b.warn(d.at, "the schema is made of nothing but itself")
				*e = *unknown()
			}
		})
		d.mark = 2
		d.body = again(d.body)
		if d.body.kind == reference && d.body.def.body.kind == atom {
			d.body = d.body.def.body
		}
	}
	for _, d := range b.order {
		if d.mark == 0 {
			walk(d)
		}
	}
}

// again simplifies a type in which references have become unknown.
func again(e *expr) *expr {
	switch e.kind {
	case union:
		return either(e.parts...)
	case intersection:
		return both(e.parts...)
	}
	return e
}

// markCyclic finds the schemas that lead to themselves, by Tarjan's algorithm.
func (b *builder) markCyclic() {
	type state struct{ index, low int }
	states := map[*def]*state{}
	var stack []*def
	on := map[*def]bool{}
	var visit func(*def)
	visit = func(d *def) {
		s := &state{len(states), len(states)}
		states[d] = s
		stack, on[d] = append(stack, d), true
		every(d.body, func(e *expr) {
			switch o := states[e.def]; {
			case e.def == d:
				d.cyclic = true
			case o == nil:
				visit(e.def)
				s.low = min(s.low, states[e.def].low)
			case on[e.def]:
				s.low = min(s.low, o.index)
			}
		})
		if s.low != s.index {
			return
		}
		for i := len(stack) - 1; ; i-- {
			o := stack[i]
			on[o] = false
			if o != d {
				o.cyclic, d.cyclic = true, true
			}
			if o == d {
				stack = stack[:i]
				return
			}
		}
	}
	for _, d := range b.order {
		if states[d] == nil {
			visit(d)
		}
	}
}
