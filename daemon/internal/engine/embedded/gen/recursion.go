package main

// blindRecursions numbers, from 1, the cycles of direct calls among functions
// that never write global 0, the shadow stack pointer; 0 is a function in none.
// (Tarjan's strongly connected components.)
func blindRecursions(bodies [][]byte, imports int) []int {
	n := len(bodies)
	calls, moves := make([][]int, n), make([]bool, n)
	for i, body := range bodies {
		instructions(body, func(in instruction) {
			if in.op == opCall && int(in.index) >= imports {
				calls[i] = append(calls[i], int(in.index)-imports)
			}
			moves[i] = moves[i] || in.op == opGlobalSet && in.index == 0
		})
	}
	var (
		cycle, index, low = make([]int, n), make([]int, n), make([]int, n)
		open              = make([]bool, n)
		stack             []int
		seen, cycles      int
		visit             func(v int)
	)
	visit = func(v int) {
		seen++
		index[v], low[v], open[v] = seen, seen, true
		stack = append(stack, v)
		selfCall := false
		for _, t := range calls[v] {
			switch {
			case moves[t]:
			case index[t] == 0:
				visit(t)
				low[v] = min(low[v], low[t])
			case open[t]:
				low[v] = min(low[v], index[t])
			}
			selfCall = selfCall || t == v
		}
		if low[v] != index[v] {
			return
		}
		k := len(stack) - 1
		for stack[k] != v {
			k--
		}
		if len(stack)-k > 1 || selfCall {
			cycles++
			for _, x := range stack[k:] {
				cycle[x] = cycles
			}
		}
		for _, x := range stack[k:] {
			open[x] = false
		}
		stack = stack[:k]
	}
	for v := range n {
		if !moves[v] && index[v] == 0 {
			visit(v)
		}
	}
	return cycle
}
