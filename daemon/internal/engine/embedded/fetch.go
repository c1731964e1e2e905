package embedded

import (
	"context"
	"encoding/json"

	"tenon/daemon/internal/engine"
	"tenon/daemon/internal/engine/guest"
	"tenon/daemon/internal/fault"
)

// fetchHead is a request as prelude/fetch.js writes it, without its body.
type fetchHead struct {
	Method   string      `json:"method"`
	URL      string      `json:"url"`
	Header   [][2]string `json:"header"`
	Redirect string      `json:"redirect"`
}

// fetchTold is a response as prelude/fetch.js reads it, without its body.
type fetchTold struct {
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"`
	URL        string      `json:"url"`
	Redirected bool        `json:"redirected"`
	Headers    [][2]string `json:"headers"`
}

// fetch is FETCH: id, head, body. It takes a place like a call.
func (r *run) fetch(id int64, head string, hasBody bool, body func() []byte) {
	ctx, cancel := context.WithCancel(r.ctx)
	var h fetchHead
	err := json.Unmarshal([]byte(guest.Valid(head)), &h)
	if err != nil || !r.program.Fetch {
		err = fault.New(fault.PermissionDenied, "this program has no fetch")
	}
	q := engine.FetchRequest{Method: h.Method, URL: h.URL, Header: h.Header, Redirect: h.Redirect}
	if hasBody {
		q.Body = append([]byte{}, body()...) // one that is empty is one
	}
	if r.fetches == nil {
		r.fetches = map[int64]context.CancelFunc{}
	}
	r.fetches[id] = cancel
	ok := r.calls.Add(id, "fetch", true, len(head)+len(q.Body), func(context.Context) (engine.CallValue, error) {
		if err != nil {
			return engine.CallValue{}, err
		}
		if ctx.Err() != nil { // aborted while it waited for its place
			return engine.CallValue{}, fault.From(context.Cause(ctx))
		}
		res, err := r.host.Fetch(ctx, q)
		if err != nil {
			return engine.CallValue{}, err
		}
		told, err := json.Marshal(fetchTold{res.Status, res.StatusText, res.URL, res.Redirected, res.Header})
		return engine.CallValue{Value: told, Raw: res.Body}, err
	})
	if !ok {
		panic(errMemory)
	}
}

// abort is ABORT: the program does not want the answer any more.
func (r *run) abort(id int64) {
	if cancel := r.fetches[id]; cancel != nil {
		cancel()
		r.calls.Drop(id)
	}
}
