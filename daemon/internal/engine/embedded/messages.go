package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"

	"tenon/daemon/internal/engine/guest"
)

// The operations of host(operation, …) beside those of package guest; the files of
// the prelude that use them have the same numbers.
const (
	opRandom = iota + guest.OpOwn
	opEncode
	opDecode
	opZone
	opFetch
	opAbort
)

// message handles one host(operation, …) of the prelude.
func (r *run) message(op int, a args) int32 {
	switch op {
	case guest.OpCall:
		r.callMessage(a)
	case guest.OpSearch:
		if !r.calls.Search(r.host, int64(a.number(0)), []byte(guest.Valid(a.text(1)))) {
			panic(errMemory)
		}
	case guest.OpDescribe:
		if !r.calls.Describe(r.host, int64(a.number(0)), a.text(1)) {
			panic(errMemory)
		}
	case guest.OpResource:
		if !r.calls.Resource(r.host, int64(a.number(0)), a.text(1), []byte(guest.Valid(a.text(2)))) {
			panic(errMemory)
		}
	case guest.OpRun:
		if !r.calls.RunScript(r.host, r.program.Limits.Depth, int64(a.number(0)), a.text(1), optional(a, 2)) {
			panic(errMemory)
		}
	case guest.OpArtifact:
		if !r.calls.Artifact(r.host, int64(a.number(0)), guest.Valid(a.text(1)), guest.Valid(a.text(2)), guest.Valid(a.text(3)), a.truth(4)) {
			panic(errMemory)
		}
	case guest.OpLog:
		r.keep.Log(a.text(0), a.text(1), a.text(2), a.text(3))
	case guest.OpEmit:
		if !r.keep.Emit(guest.Valid(a.text(0))) {
			panic(errDeep)
		}
	case guest.OpTimer:
		if r.timers.len() < r.program.Limits.Timers {
			r.timers.add(int64(a.number(0)), guest.Milliseconds(a.number(1)), a.truth(2), a.truth(3), time.Now())
		} else {
			panic(errTimers)
		}
	case guest.OpUntimer:
		r.timers.remove(int64(a.number(0)))
	case guest.OpWarn:
		r.keep.Warn(a.text(0), a.text(1))
	case guest.OpDone:
		r.done = true
		if a.has(0) {
			r.failure = r.keep.Value(guest.Valid(a.text(0)))
		}
	case guest.OpFail:
		r.failure = guest.ParseFailure(a.text(0))
	case guest.OpNames:
		list, _ := json.Marshal(r.names.Tools(a.text(0)))
		return r.realm.newString(string(list))
	case guest.OpStdin:
		if r.program.Stdin != nil {
			return r.realm.newString(guest.Valid(*r.program.Stdin))
		}
	case opRandom:
		b := make([]byte, min(65536, max(0, int(a.number(0)))))
		_, _ = rand.Read(b)
		return r.realm.newString(hex.EncodeToString(b))
	case opEncode:
		return r.realm.newBytes(guest.Valid(a.text(0)))
	case opDecode:
		return r.realm.newString(decode(a.bytes(0), a.text(1)))
	case opFetch:
		r.fetch(int64(a.number(0)), a.text(1), a.has(2), func() []byte { return a.bytes(2) })
	case opAbort:
		r.abort(int64(a.number(0)))
	case opZone:
		return r.realm.newString(zone(a.text(0), a.number(1)))
	}
	return r.realm.undefined()
}

// optional is JSON that may have been left out.
func optional(a args, i int) []byte {
	if !a.has(i) {
		return nil
	}
	return []byte(guest.Valid(a.text(i)))
}

// callMessage is CALL: id, space, tool, arguments, raw, timeout.
func (r *run) callMessage(a args) {
	ask := guest.Ask{ID: int64(a.number(0)), Space: a.text(1), Tool: a.text(2), Args: []byte(guest.Valid(a.text(3))), Raw: a.truth(4)}
	if a.has(5) {
		ask.Timeout = func() (time.Duration, error) { return guest.Timeout(a.text(5), a.isString(5), a.number(5)) }
	}
	if !r.calls.Call(r.host, r.names, r.program.Limits.Depth, ask) {
		panic(errMemory)
	}
}
