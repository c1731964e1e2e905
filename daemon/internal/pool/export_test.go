package pool

// Waiting is how many starts wait for their turn.
func Waiting(p *Pool) int {
	p.starts.mu.Lock()
	defer p.starts.mu.Unlock()
	return len(p.starts.waiting)
}
