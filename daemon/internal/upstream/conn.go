package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenon/daemon/internal/fault"
)

// firstID is where our own request ids begin. The SDK counts its few from 1,
// so the two never meet; ids stay below 2^31 for servers that read them into
// 32 bits, for a thousand million calls on one connection.
const firstID = 1_000_000

// wire carries messages to and from one server. It hands what it receives to
// conn.receive and conn.unreadable.
type wire interface {
	// send sends one message with its line end. It neither waits for the
	// server nor keeps b. The id is that of the request of ours that b is,
	// else 0. An error means that nothing was sent or will be; what fails
	// later is reported through conn.settle.
	send(b []byte, id int64) error
	// deliver sends a message of the SDK's session and returns once the server
	// has taken it, so that what follows cannot overtake it.
	deliver(ctx context.Context, b []byte) error
	// linger lets the caller of request p read for a moment in place of the
	// wire's own reader. It returns soon, answered or not.
	linger(p *pending)
	// forget tells that nobody waits for the answer to request id any more.
	forget(id int64)
	// ready is told the negotiated version once initialization is over.
	ready(version string)
	pid() int
	stderr() string
	// close ends the server and everything the wire started. It is called
	// once, also when the connection broke by itself.
	close(ctx context.Context) error
}

// unwired stands where a wire could not be made.
type unwired struct{}

func (unwired) send([]byte, int64) error              { return io.ErrClosedPipe }
func (unwired) deliver(context.Context, []byte) error { return io.ErrClosedPipe }
func (unwired) linger(*pending)                       {}
func (unwired) forget(int64)                          {}
func (unwired) ready(string)                          {}
func (unwired) pid() int                              { return 0 }
func (unwired) stderr() string                        { return "" }
func (unwired) close(context.Context) error           { return nil }

// conn is a Conn over any wire.
type conn struct {
	spec  Spec
	limit int64 // bytes of one message
	mask  mask
	noise limiter
	flood flood
	wire  wire
	next  atomic.Int64 // last request id used

	answers atomic.Int64 // results received

	info        atomic.Pointer[Info]
	sdk         atomic.Pointer[sdkLink] // where messages that are not ours go
	meta        atomic.Pointer[string]  // "_meta" members of every request, by version
	initialized atomic.Bool
	listBy      time.Time // the first Tools must end by then
	listed      atomic.Bool

	mu      sync.Mutex
	calls   map[int64]*pending
	asking  map[string]context.CancelCauseFunc // questions of the server being answered, by raw id
	visits  map[string]chan struct{}           // pages that somebody was sent to; closed when the server says they are done
	early   []string                           // pages that were said to be done before their call had read that they are wanted
	roots   []string
	session *mcp.ClientSession
	err     error // why the connection is gone
	work    sync.WaitGroup

	done     chan struct{}   // closed when err is set
	ctx      context.Context // ends with done
	cancel   context.CancelFunc
	closing  sync.Once
	closed   chan struct{}
	closeErr error // set before closed is closed
}

func newConn(s Spec) *conn {
	c := &conn{
		spec: s, roots: slices.Clone(s.Roots), limit: s.MaxMessage, mask: mask{newMask(s.Secrets), s.Login},
		calls: map[int64]*pending{}, asking: map[string]context.CancelCauseFunc{}, visits: map[string]chan struct{}{},
		done: make(chan struct{}), closed: make(chan struct{}),
		wire: unwired{},
	}
	if c.limit <= 0 {
		c.limit = DefaultMaxMessage
	}
	c.next.Store(firstID)
	c.info.Store(&Info{})
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

func (c *conn) Info() Info {
	i := *c.info.Load()
	i.PID = c.wire.pid()
	return i
}

func (c *conn) Done() <-chan struct{} { return c.done }

func (c *conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *conn) StderrTail() string { return c.wire.stderr() }

// start runs f beside; Close waits for it. It reports false when the
// connection is gone.
func (c *conn) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.work.Go(f)
	return true
}

// fail ends the connection for everybody: calls in flight get err with the
// fate it carries. Only the first failure counts.
func (c *conn) fail(err *fault.Error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	calls := c.calls
	c.calls = map[int64]*pending{}
	asking := c.asking
	c.asking = map[string]context.CancelCauseFunc{}
	c.mu.Unlock()
	for _, end := range asking {
		end(err)
	}
	for _, p := range calls {
		p.settle(nil, withFate(err, fateUnknown))
	}
	close(c.done)
	if link := c.sdk.Load(); link != nil {
		link.close()
	}
	c.cancel()
}

func (c *conn) Close(ctx context.Context) error {
	c.closing.Do(func() {
		c.fail(fault.New(fault.ServerUnavailable, "connection to server %s was closed", c.spec.Name))
		c.closeErr = c.wire.close(ctx)
		c.flood.stop()
		c.work.Wait()
		// Only now, since a session may have been made meanwhile.
		if link := c.sdk.Load(); link != nil {
			link.close()
		}
		c.mu.Lock()
		session := c.session
		c.mu.Unlock()
		if session != nil {
			_ = session.Close() // its link is closed: it only ends its goroutines
		}
		close(c.closed)
	})
	<-c.closed
	return c.closeErr
}

// Ping asks for any sign of life: a server that refuses the method is alive.
func (c *conn) Ping(ctx context.Context) error {
	_, err := c.request(ctx, "ping", nil)
	if isRefusal(err) {
		return nil
	}
	return err
}

// request sends one request beneath the SDK and waits for its result.
func (c *conn) request(ctx context.Context, method string, params []byte) (json.RawMessage, error) {
	p := newPending(c.next.Add(1), nil)
	defer p.free()
	b := frame(p.id, method, params, c.requestMeta())
	if err := c.send(p, b); err != nil {
		return nil, err
	}
	c.wire.linger(p)
	select {
	case r := <-p.done:
		return r.result, r.err
	case <-ctx.Done():
		if r, answered := c.abandon(p, reason(ctx)); answered {
			return r.result, r.err
		}
		return nil, endOf(ctx, c.spec.Name, method)
	}
}

// send registers the pending call and sends its message.
func (c *conn) send(p *pending, b []byte) error {
	c.mu.Lock()
	if c.err != nil {
		err := c.err
		c.mu.Unlock()
		return withFate(fault.From(err), fateNotSent)
	}
	c.calls[p.id] = p
	c.mu.Unlock()
	if err := c.wire.send(b, p.id); err != nil {
		if c.take(p.id) == nil {
			// fail was faster and has settled it.
			<-p.done
		}
		if gone := c.goneBy(err); gone != nil {
			return withFate(fault.From(gone), fateNotSent)
		}
		return withFate(c.unavailable("cannot send to server %s: %w", c.spec.Name, err), fateNotSent)
	}
	return nil
}

// goneBy is why a connection is gone whose pipe is broken, nil where it is not:
// a write to a process that has ended fails before anybody knows how it did.
func (c *conn) goneBy(err error) error {
	if !errors.Is(err, syscall.EPIPE) {
		return nil
	}
	limit := time.NewTimer(2 * exitAfterEOF)
	defer limit.Stop()
	select {
	case <-c.done:
	case <-limit.C:
	}
	return c.Err()
}

// take removes a pending call. Whoever gets it settles it, nobody else does.
func (c *conn) take(id int64) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[id]
	delete(c.calls, id)
	return p
}

// settle ends the call with this id, if it is still waited for.
func (c *conn) settle(id int64, result []byte, err error) {
	if p := c.take(id); p != nil {
		p.settle(result, err)
	}
}

// abandon stops waiting for an answer and tells the server why, unless the
// answer came in the same moment: then it is returned.
func (c *conn) abandon(p *pending, why string) (reply, bool) {
	if c.take(p.id) == nil {
		return <-p.done, true
	}
	_ = c.wire.send(cancelled(p.id, why), 0) // best effort: a broken wire needs no cancelling
	c.wire.forget(p.id)
	return reply{}, false
}

// SetRoots keeps a copy of dirs, in order.
func (c *conn) SetRoots(dirs []string) {
	c.mu.Lock()
	same := len(dirs) == len(c.roots)
	for i := 0; same && i < len(dirs); i++ {
		same = dirs[i] == c.roots[i]
	}
	if !same {
		c.roots = append([]string(nil), dirs...)
	}
	c.mu.Unlock()
	if !same && c.initialized.Load() {
		_ = c.wire.send([]byte(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`+"\n"), 0) // as in abandon
	}
}

func (c *conn) unavailable(format string, args ...any) *fault.Error {
	err := fault.New(fault.ServerUnavailable, format, args...)
	err.Message = c.mask.Replace(err.Message)
	return err.At(c.spec.Name, "")
}
