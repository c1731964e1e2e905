package embedded

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"time"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/fault"
)

// The operations of host(operation, …); prelude/core.js has the same list.
const (
	opCall = iota
	opLog
	opEmit
	opTimer
	opUntimer
	opDone
	opFail
	opSearch
	opDescribe
	opNames
	opRandom
	opEncode
	opDecode
	opZone
)

// message handles one host(operation, …) of the prelude.
func (r *run) message(op int, a args) int32 {
	switch op {
	case opCall:
		r.callMessage(a)
	case opSearch:
		query := []byte(valid(a.text(1)))
		r.add(int64(a.number(0)), "search", false, 0, func(ctx context.Context) (engine.CallValue, error) {
			v, err := r.host.Search(ctx, query)
			return engine.CallValue{Value: v}, err
		})
	case opDescribe:
		path := a.text(1)
		r.add(int64(a.number(0)), "describe", false, 0, func(ctx context.Context) (engine.CallValue, error) {
			v, err := r.host.Describe(ctx, path)
			return engine.CallValue{Value: v}, err
		})
	case opLog:
		r.log(a)
	case opEmit:
		r.emit(valid(a.text(0)))
	case opTimer:
		if r.timers.len() < r.program.Limits.Timers {
			r.timers.add(int64(a.number(0)), milliseconds(a.number(1)), a.truth(2), a.truth(3), time.Now())
		} else {
			panic(errTimers)
		}
	case opUntimer:
		r.timers.remove(int64(a.number(0)))
	case opDone:
		r.done = true
		if a.has(0) {
			r.value(valid(a.text(0)))
		}
	case opFail:
		r.failure = parseFailure(a.text(0))
	case opNames:
		list, _ := json.Marshal(r.names.tools(a.text(0)))
		return r.realm.newString(string(list))
	case opRandom:
		b := make([]byte, min(65536, max(0, int(a.number(0)))))
		_, _ = rand.Read(b)
		return r.realm.newString(hex.EncodeToString(b))
	case opEncode:
		return r.realm.newBytes(valid(a.text(0)))
	case opDecode:
		return r.realm.newString(decode(a.bytes(0), a.text(1)))
	case opZone:
		return r.realm.newString(zone(a.text(0), a.number(1)))
	}
	return r.realm.undefined()
}

// callMessage is CALL: id, space, tool, arguments, raw, timeout.
func (r *run) callMessage(a args) {
	id, space, tool, text := int64(a.number(0)), a.text(1), a.text(2), []byte(valid(a.text(3)))
	server, tool := r.names.wire(space, tool)
	o := engine.CallOptions{Raw: a.truth(4)}
	var err error
	if a.has(5) {
		o.Timeout, err = a.duration(5)
	}
	if depth, _ := inspect(text); err == nil && depth > r.program.Limits.Depth {
		err = fault.New(fault.InvalidToolInput, "the arguments are nested deeper than %d levels", r.program.Limits.Depth)
	}
	if err != nil {
		err = fault.From(err).At(server, tool)
		r.add(id, server+"."+tool, false, 0, func(context.Context) (engine.CallValue, error) { return engine.CallValue{}, err })
		return
	}
	r.add(id, server+"."+tool, true, len(text), func(ctx context.Context) (engine.CallValue, error) {
		return r.host.Call(ctx, server, tool, text, o)
	})
}

// duration reads the option timeout: milliseconds, or a text like "30s".
func (a args) duration(i int) (time.Duration, error) {
	if a.isString(i) {
		d, err := time.ParseDuration(a.text(i))
		if err != nil || d <= 0 {
			return 0, fault.New(fault.InvalidToolInput, "the timeout %q is not a duration", a.text(i)).
				WithHint(`write milliseconds, or a text like "30s"`)
		}
		return d, nil
	}
	if ms := a.number(i); ms > 0 {
		return milliseconds(ms), nil
	}
	return 0, fault.New(fault.InvalidToolInput, "the timeout must be more than 0 ms")
}

// milliseconds is a JavaScript delay; NaN and negative numbers are 0.
func milliseconds(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, math.MaxInt32*1000) * float64(time.Millisecond))
}

// valid makes text of a program UTF-8: lone surrogates become U+FFFD.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
