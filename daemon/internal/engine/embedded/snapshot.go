package embedded

import (
	"embed"
	"encoding/binary"
	"errors"
	"fmt"

	"tenon/daemon/internal/engine/guest"
)

// The prelude runs once, into the snapshot, in this order; see guest/prelude/core.js.
//
//go:embed prelude/*.js
var preludeFiles embed.FS

// The first three are those of every engine.
var preludeOrder = []string{"core.js", "asks.js", "console.js", "timers.js", "text.js", "url.js", "intl.js", "form.js", "fetch.js"}

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
type functions struct{ start, settle, run, tick, show int32 }

// takeSnapshot compiles the prelude in one realm and runs it in another, whose
// memory then holds nothing of the compiler's: less to copy for every run.
func takeSnapshot() (*snapshot, error) {
	var code [][]byte
	err := inNewRealm(func(r *realm) (err error) {
		code, err = compilePrelude(r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("prelude: %w", err)
	}
	s := &snapshot{}
	err = inNewRealm(func(r *realm) error {
		if err := s.prelude(r, code); err != nil {
			return err
		}
		s.keep(r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("prelude: %w", err)
	}
	return s, nil
}

// inNewRealm calls f with an engine that has just been initialised.
func inNewRealm(f func(r *realm) error) error {
	r, err := newRealm(defaultSize)
	if err != nil {
		return err
	}
	defer r.free()
	r.mod.Reset(r.memory[: firstPages*pageSize : len(r.memory)])
	r.mod.InitMemory()
	return r.guard(func() error {
		r.mod.X_initialize()
		if r.mod.Xqjs_init() != 0 {
			return errors.New("the engine does not start")
		}
		return f(r)
	})
}

// keep copies the part of the memory that is not zero.
func (s *snapshot) keep(r *realm) {
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
}

// prelude runs the compiled files and keeps the functions that the host calls.
func (s *snapshot) prelude(r *realm, code [][]byte) error {
	r.mod.Xqjs_set_max_stack_size(stackSize)
	r.mod.Xqjs_set_interrupt_handler(1)
	r.mod.Xqjs_set_promise_rejection_handler(1)
	r.mod.Xqjs_set_module_loader(1)
	var shared int32
	for i, c := range code {
		f, err := r.evalCode(c)
		if err != nil {
			return fmt.Errorf("%s: %w", preludeOrder[i], err)
		}
		argument := shared
		if i == 0 {
			name, n := r.cstring("host")
			argument = r.mod.Xqjs_new_host_function(name, n, 0)
			r.mod.Xwasm_free(name)
		} else {
			argument = r.mod.Xqjs_dup_value(shared)
		}
		v, err := r.call(f, argument)
		if err != nil {
			return fmt.Errorf("%s: %w", preludeOrder[i], err)
		}
		if i == 0 {
			shared = v
		} else {
			r.mod.Xqjs_free_value(v)
		}
		r.mod.Xqjs_free_value(f)
	}
	s.fn = functions{
		start: r.property(shared, "start"), settle: r.property(shared, "settle"),
		run: r.property(shared, "run"), tick: r.property(shared, "tick"), show: r.property(shared, "show"),
	}
	r.mod.Xqjs_free_value(shared)
	r.mod.Xqjs_run_gc()
	r.mod.Xqjs_set_gc_threshold(gcThreshold)
	return nil
}

// Flags of compile: neither the prelude's text nor its positions are kept.
const stripSource, stripDebug = 16, 32

func compilePrelude(r *realm) ([][]byte, error) {
	var out [][]byte
	size := r.mod.Xwasm_malloc(4)
	for _, name := range preludeOrder {
		source, err := preludeSource(name)
		if err != nil {
			return nil, err
		}
		p, n := r.cstring(source)
		f, _ := r.cstring(name)
		code := r.mod.Xqjs_compile(p, n, f, 0, stripSource|stripDebug, size)
		r.mod.Xwasm_free(p)
		r.mod.Xwasm_free(f)
		if code == 0 {
			return nil, fmt.Errorf("%s: %w", name, r.exception())
		}
		length := binary.LittleEndian.Uint32(r.mem()[uint32(size):])
		out = append(out, append([]byte(nil), r.mem()[uint32(code):][:length]...))
		r.mod.Xwasm_free(code)
	}
	return out, nil
}

func preludeSource(name string) (string, error) {
	switch name {
	case "core.js":
		return guest.Core, nil
	case "asks.js":
		return guest.Asks, nil
	case "console.js":
		return guest.Console, nil
	}
	source, err := preludeFiles.ReadFile("prelude/" + name)
	return string(source), err
}

func (r *realm) evalCode(code []byte) (int32, error) {
	p, n := r.cstring(string(code))
	h := r.mod.Xqjs_eval_bytecode(p, n)
	r.mod.Xwasm_free(p)
	if r.mod.Xqjs_is_exception(h) != 0 {
		return 0, r.exception()
	}
	return h, nil
}
