package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tenon/daemon/internal/engine/embedded/qjs"
)

// realm is one JavaScript world: a module instance and its memory. It belongs
// to one goroutine at a time; nobody else may touch its memory.
type realm struct {
	mod    *qjs.Module
	memory []byte // all it can ever have
	snap   *snapshot
	host   occupant // of the run that has the realm
}

// occupant is what a realm's imports lead to.
type occupant interface {
	// message handles host(operation, args…) and returns a handle.
	message(op int, a args) int32
	// poll is asked every few tenths of a millisecond of work: 0 to go on, 1 to
	// throw what cannot be caught, 3 to trap.
	poll() int32
	// rejected hears of a promise that nobody handles, and of one that somebody
	// handles after all.
	rejected(promise int32, reason string, handled bool)
}

// newRealm makes a module instance with size bytes of memory, not yet a realm.
func newRealm(size int) (*realm, error) {
	memory, err := newMemory(size)
	if err != nil {
		return nil, fmt.Errorf("memory for a realm: %w", err)
	}
	r := &realm{memory: memory}
	r.mod = qjs.New(env{r}, wasi{r})
	return r, nil
}

// reset makes r a fresh realm. Its memory must be zero.
func (r *realm) reset(s *snapshot) {
	r.snap = s
	copy(r.memory[s.low:], s.data)
	r.mod.Reset(r.memory[:s.size:len(r.memory)])
	r.mod.Xqjs_set_runtime_and_context(s.rt, s.ctx)
}

func (r *realm) free() {
	r.mod.Reset(nil)
	freeMemory(r.memory)
	r.memory = nil
}

func (r *realm) mem() []byte { return *r.mod.Slice() }

// errTrap is a Go panic in the translated code: the realm is lost.
var errTrap = errors.New("trap")

// jsError is an exception that reached the host.
type jsError struct{ text, stack string }

func (e *jsError) Error() string { return e.text }

var errMemory = &jsError{text: outOfMemory}

const outOfMemory = "InternalError: out of memory"

// guard runs f, the outermost call into a realm, and turns a trap into an error.
func (r *realm) guard(f func() error) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case *jsError:
			err = x
		default:
			err = fmt.Errorf("%w: %v", errTrap, x)
		}
	}()
	return f()
}

// cstring copies s into the realm; the caller frees it.
func (r *realm) cstring(s string) (p, n int32) {
	p = r.mod.Xwasm_malloc(int32(len(s) + 1))
	if p == 0 {
		panic(errMemory)
	}
	m := r.mem()[uint32(p):]
	copy(m, s)
	m[len(s)] = 0
	return p, int32(len(s))
}

// newString makes a JavaScript string of UTF-8.
func (r *realm) newString(s string) int32 {
	p, n := r.cstring(s)
	h := r.mod.Xqjs_new_string(p, n)
	r.mod.Xwasm_free(p)
	return h
}

func (r *realm) undefined() int32 { return r.mod.Xqjs_dup_value(r.mod.Xqjs_get_undefined()) }

// text converts a value to a string; for an object that runs the program's code.
func (r *realm) text(h int32) string {
	size := r.mod.Xwasm_malloc(4)
	if size == 0 {
		panic(errMemory)
	}
	p := r.mod.Xqjs_get_string_len(h, size)
	s := "[cannot be shown]"
	if p == 0 {
		r.mod.Xqjs_free_value(r.mod.Xqjs_get_exception())
	} else {
		m := r.mem()
		n := binary.LittleEndian.Uint32(m[uint32(size):])
		s = string(m[uint32(p):][:n])
		r.mod.Xqjs_free_cstring(p)
	}
	r.mod.Xwasm_free(size)
	return s
}

// shown is a value as logs show it.
func (r *realm) shown(h int32) string {
	v, err := r.call(r.snap.fn.show, r.mod.Xqjs_dup_value(h))
	if err != nil {
		return "[cannot be shown]"
	}
	defer r.mod.Xqjs_free_value(v)
	return r.text(v)
}

// property returns a handle of h[name], 0 when reading it throws.
func (r *realm) property(h int32, name string) int32 {
	p, _ := r.cstring(name)
	v := r.mod.Xqjs_get_prop_string(h, p)
	r.mod.Xwasm_free(p)
	return v
}

// exception takes the pending exception.
func (r *realm) exception() error {
	h := r.mod.Xqjs_get_exception()
	e := &jsError{text: r.text(h)}
	if stack := r.property(h, "stack"); stack != 0 {
		e.stack = r.text(stack)
		r.mod.Xqjs_free_value(stack)
	}
	r.mod.Xqjs_free_value(h)
	return e
}

// eval evaluates a script and returns a handle of its value.
func (r *realm) eval(source, file string) (int32, error) {
	p, n := r.cstring(source)
	f, _ := r.cstring(file)
	h := r.mod.Xqjs_eval(p, n, f, 0)
	r.mod.Xwasm_free(p)
	r.mod.Xwasm_free(f)
	if r.mod.Xqjs_is_exception(h) != 0 {
		return 0, r.exception()
	}
	return h, nil
}

// call calls fn and frees the arguments; 0 is out of memory.
func (r *realm) call(fn int32, arguments ...int32) (int32, error) {
	list := r.mod.Xwasm_malloc(int32(4*len(arguments) + 4))
	if list == 0 {
		return 0, errMemory
	}
	for i, a := range arguments {
		if a == 0 {
			return 0, errMemory
		}
		binary.LittleEndian.PutUint32(r.mem()[uint32(list)+uint32(4*i):], uint32(a))
	}
	v := r.mod.Xqjs_call(fn, r.mod.Xqjs_get_undefined(), int32(len(arguments)), list)
	r.mod.Xwasm_free(list)
	for _, a := range arguments {
		r.mod.Xqjs_free_value(a)
	}
	if v == 0 {
		return 0, errMemory
	}
	if r.mod.Xqjs_is_exception(v) != 0 {
		return 0, r.exception()
	}
	return v, nil
}

// do calls fn for its effect and drains the job queue.
func (r *realm) do(fn int32, arguments ...int32) error {
	v, err := r.call(fn, arguments...)
	if err != nil {
		return err
	}
	r.mod.Xqjs_free_value(v)
	return r.jobs()
}

func (r *realm) jobs() error {
	for r.mod.Xqjs_is_job_pending() != 0 {
		if r.mod.Xqjs_execute_pending_job() < 0 {
			return r.exception()
		}
	}
	return nil
}
