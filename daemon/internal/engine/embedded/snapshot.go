package embedded

import (
	_ "embed"
	"errors"
	"fmt"
)

// The prelude runs once, into the snapshot, in this order; see prelude/core.js.
var (
	//go:embed prelude/core.js
	coreJS string
	//go:embed prelude/console.js
	consoleJS string
	//go:embed prelude/timers.js
	timersJS string
)

const (
	pageSize = 64 << 10
	// firstPages is the module's own initial memory: 1 MiB of shadow stack at
	// address 0, so that an overflow traps, and static data.
	firstPages = 18
	stackSize  = 960 << 10 // what QuickJS may use of the shadow stack
	// fixedMemory is what a realm has beside what QuickJS counts.
	fixedMemory = 2 << 20
	// gcThreshold keeps the collector quiet in short programs.
	gcThreshold = 4 << 20
)

// snapshot is a realm after its prelude: all of it is linear memory and three
// globals, which always have their first values between calls.
type snapshot struct {
	low  int // where memory starts to be not zero
	data []byte
	size int // length of the memory
	rt   int32
	ctx  int32
	fn   functions
}

// functions are handles of the prelude's functions, the same in every copy.
type functions struct{ start, settle, run, tick, failure int32 }

func takeSnapshot() (*snapshot, error) {
	r, err := newRealm((64<<20 + fixedMemory) &^ (pageSize - 1))
	if err != nil {
		return nil, err
	}
	defer r.free()
	r.mod.Reset(r.memory[: firstPages*pageSize : len(r.memory)])
	r.mod.InitMemory()
	s := &snapshot{}
	if err := r.guard(func() error { return s.prelude(r) }); err != nil {
		return nil, fmt.Errorf("prelude: %w", err)
	}
	s.rt, s.ctx = r.mod.Xqjs_get_runtime_ptr(), r.mod.Xqjs_get_context_ptr()
	m := r.mem()
	s.size = len(m)
	end := len(m)
	for end > 0 && m[end-1] == 0 {
		end--
	}
	for s.low < end && m[s.low] == 0 {
		s.low++
	}
	s.data = append([]byte(nil), m[s.low:end]...)
	return s, nil
}

func (s *snapshot) prelude(r *realm) error {
	r.mod.X_initialize()
	if r.mod.Xqjs_init() != 0 {
		return errors.New("the engine does not start")
	}
	r.mod.Xqjs_set_max_stack_size(stackSize)
	r.mod.Xqjs_set_interrupt_handler(1)
	r.mod.Xqjs_set_promise_rejection_handler(1)
	r.mod.Xqjs_set_module_loader(1)
	core, err := r.eval(coreJS, "core.js")
	if err != nil {
		return err
	}
	name, n := r.cstring("host")
	shared, err := r.call(core, r.mod.Xqjs_new_host_function(name, n, 0))
	r.mod.Xwasm_free(name)
	if err != nil {
		return err
	}
	for _, part := range []struct{ name, source string }{
		{"console.js", consoleJS}, {"timers.js", timersJS},
	} {
		f, err := r.eval(part.source, part.name)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		v, err := r.call(f, r.mod.Xqjs_dup_value(shared))
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		r.mod.Xqjs_free_value(v)
		r.mod.Xqjs_free_value(f)
	}
	s.fn = functions{
		start: r.property(shared, "start"), settle: r.property(shared, "settle"), run: r.property(shared, "run"),
		tick: r.property(shared, "tick"), failure: r.property(shared, "failure"),
	}
	r.mod.Xqjs_free_value(core)
	r.mod.Xqjs_free_value(shared)
	r.mod.Xqjs_run_gc()
	r.mod.Xqjs_set_gc_threshold(gcThreshold)
	return nil
}
