package embedded

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// env and wasi are the twelve imports of the module: all that it can reach.
// Only host_call and host_promise_rejection carry text out.
type env struct{ r *realm }

func (e env) Xhost_call(_, _, _, argc, argv int32) int32 {
	if argc < 1 || e.r.host == nil {
		return e.r.undefined()
	}
	a := args{r: e.r, n: int(argc) - 1, at: uint32(argv) + 4}
	op := int(e.r.mod.Xqjs_get_float64(int32(binary.LittleEndian.Uint32(e.r.mem()[uint32(argv):]))))
	return e.r.host.message(op, a)
}

func (e env) Xhost_interrupt() int32 {
	if e.r.host == nil {
		return 0
	}
	return e.r.host.poll()
}

// Xhost_get_timezone_offset says UTC: a program gives the same result wherever
// it runs.
func (e env) Xhost_get_timezone_offset(_, _ int32) int32 { return 0 }

// Xhost_module_load finds no module; the engine then rejects import().
func (e env) Xhost_module_load(_, _ int32) int32      { return 0 }
func (e env) Xhost_module_normalize(_, _ int32) int32 { return 0 }

func (e env) Xhost_promise_rejection(promise, reason, handled int32) {
	if e.r.host != nil {
		id := e.r.mod.Xqjs_get_value_ptr(promise)
		if handled != 0 {
			e.r.host.rejected(id, "", true)
		} else {
			e.r.host.rejected(id, e.r.shown(reason), false)
		}
	}
	e.r.mod.Xqjs_free_value(promise)
	e.r.mod.Xqjs_free_value(reason)
}

// args are the arguments of host(operation, …) after the first.
type args struct {
	r  *realm
	n  int
	at uint32
}

func (a args) handle(i int) int32 {
	if i >= a.n {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(a.r.mem()[a.at+uint32(4*i):]))
}

// has reports whether argument i is there and not undefined.
func (a args) has(i int) bool {
	h := a.handle(i)
	return h != 0 && a.r.mod.Xqjs_is_undefined(h) == 0
}

func (a args) text(i int) string {
	if !a.has(i) {
		return ""
	}
	return a.r.text(a.handle(i))
}

func (a args) number(i int) float64 {
	if !a.has(i) {
		return 0
	}
	return a.r.mod.Xqjs_get_float64(a.handle(i))
}

func (a args) truth(i int) bool { return a.has(i) && a.r.mod.Xqjs_get_bool(a.handle(i)) != 0 }

func (a args) isString(i int) bool { return a.has(i) && a.r.mod.Xqjs_is_string(a.handle(i)) != 0 }

// wasi is the little of WASI that the module imports: clock and entropy; there
// is no file that it could name.
type wasi struct{ r *realm }

func (w wasi) Xclock_time_get(_ int32, _ int64, out int32) int32 {
	binary.LittleEndian.PutUint64(w.r.mem()[uint32(out):], uint64(time.Now().UnixNano()))
	return 0
}

func (w wasi) Xrandom_get(p, n int32) int32 {
	_, _ = rand.Read(w.r.mem()[uint32(p):][:uint32(n)])
	return 0
}

const badFile = 8 // EBADF

func (w wasi) Xfd_close(int32) int32                     { return badFile }
func (w wasi) Xfd_fdstat_get(_, _ int32) int32           { return badFile }
func (w wasi) Xfd_seek(int32, int64, int32, int32) int32 { return badFile }
func (w wasi) Xfd_write(_, _, _, _ int32) int32          { return badFile }
