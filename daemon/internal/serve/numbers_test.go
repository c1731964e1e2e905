package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"tenon/daemon/internal/call"
	"tenon/daemon/internal/fault"
	"tenon/daemon/internal/pool"
	"tenon/daemon/internal/run"
	"tenon/proto"
)

// scrape asks a daemon for its numbers as Prometheus does: it knows nothing of
// our headers.
func (r *running) scrape() (families map[string]*dto.MetricFamily, text string) {
	r.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.paths.Socket)
	}}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get("http://localhost/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		r.t.Fatalf("%s %v: %s", res.Status, err, raw)
	}
	problems, err := promlint.New(bytes.NewReader(raw)).Lint()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range problems {
		r.t.Errorf("%s: %s", p.Metric, p.Text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err = parser.TextToMetricFamilies(bytes.NewReader(raw))
	if err != nil {
		r.t.Fatal(err)
	}
	return families, string(raw)
}

// value is that of the series with these labels: name, value, name, value.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	f := families[name]
	if f == nil {
		return -1
	}
next:
	for _, m := range f.Metric {
		has := map[string]string{}
		for _, l := range m.Label {
			has[l.GetName()] = l.GetValue()
		}
		for i := 0; i < len(labels); i += 2 {
			if has[labels[i]] != labels[i+1] {
				continue next
			}
		}
		if m.Histogram != nil {
			return float64(m.Histogram.GetSampleCount())
		}
		return m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return -1
}

func TestTheNumbersSayWhatHappened(t *testing.T) {
	r := start(t, nil)
	c := r.client("numbered")
	ctx := context.Background()
	secret := `{"text":"hunter2-in-an-argument"}`
	for range 2 {
		if _, err := c.Call(ctx, proto.CallRequest{Server: "fake", Tool: "echo", Arguments: []byte(secret)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Call(ctx, proto.CallRequest{Server: "fake", Tool: "nothing-like-it"}, nil); fault.KindOf(err) != fault.UnknownTool {
		t.Fatal(err)
	}
	if res, err := c.Exec(ctx, proto.ExecRequest{Code: "(await tools.fake.pid()) > 0"}, nil); err != nil || string(res.Value) != "true" {
		t.Fatalf("%+v, %v", res, err)
	}
	got, text := r.scrape()
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"tenon_calls_total", []string{"server", "fake", "status", "ok", "kind", ""}, 3},
		{"tenon_calls_total", []string{"server", "fake", "status", "error", "kind", "UnknownTool"}, 1},
		{"tenon_call_duration_seconds", []string{"server", "fake"}, 4},
		{"tenon_lease_wait_seconds", []string{"server", "fake"}, 4},
		{"tenon_runs_total", []string{"engine", "embedded", "status", "ok", "surface", "cli"}, 1},
		{"tenon_runs_total", []string{"engine", "call", "status", "ok"}, 2},
		{"tenon_runs_total", []string{"engine", "call", "status", "failed", "kind", "UnknownTool"}, 1},
		{"tenon_run_part_seconds", []string{"part", "compute"}, 4},
		{"tenon_sessions", []string{"state", "named"}, 1},
		{"tenon_leases", []string{"server", "fake", "state", "held"}, 1},
		{"tenon_instances", []string{"server", "fake", "state", "ready"}, 1},
		{"tenon_instance_events_total", []string{"server", "fake", "event", "ready"}, 1},
		{"tenon_server_crash_loops", []string{"server", "fake"}, 0},
		{"tenon_approvals_pending", nil, 0},
		{"tenon_bridges", nil, 0},
		{"tenon_mcp_connections", nil, 0},
		{"tenon_history_dropped_total", nil, 0},
		{"tenon_history_recovered_total", []string{"what", "calls"}, 0},
		{"tenon_build_info", []string{"protocol", "1"}, 1},
		{"tenon_draining", nil, 0},
	} {
		if v := value(got, want.name, want.labels...); v != want.value {
			t.Errorf("%s%v is %v, want %v", want.name, want.labels, v, want.value)
		}
	}
	if value(got, "tenon_uptime_seconds") <= 0 || value(got, "tenon_history_bytes", "part", "journal") <= 0 || value(got, "tenon_catalog_changes_total") <= 0 {
		t.Error(text)
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "nothing-like-it") {
		t.Error("what was called with is in the numbers")
	}
}

// Names come from projects, callers and models: whatever they are, a scrape stays small.
func TestTheNumbersStayBounded(t *testing.T) {
	n := newNumbers(time.Now())
	for i := range 3000 {
		name := fmt.Sprintf("made-up-%d", i)
		n.callEnded(call.Ended{Server: name, Status: call.StatusOK})
		n.callEnded(call.Ended{Server: name, Status: call.StatusError, Kind: fault.ToolFailure})
		n.runEnded(run.Ended{Engine: name, Surface: "cli", Status: "failed"})
		n.instance(pool.Event{Server: name, Kind: pool.Ready})
	}
	var out bytes.Buffer
	if _, err := n.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines > maxServerNames*40 {
		t.Errorf("%d lines", lines)
	}
	for _, want := range []string{
		`tenon_calls_total{server="other",status="ok",kind=""} 2900`,
		`tenon_calls_total{server="other",status="error",kind="ToolFailure"} 2900`,
		`tenon_runs_total{engine="other",surface="cli",status="failed",kind=""} 3000`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestCountingACallAllocatesNothing(t *testing.T) {
	n := newNumbers(time.Now())
	e := call.Ended{Server: "browser", Status: call.StatusOK, Times: call.Times{Total: time.Second}}
	n.callEnded(e)
	if a := testing.AllocsPerRun(100, func() { n.callEnded(e) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

func BenchmarkCountingACall(b *testing.B) {
	n := newNumbers(time.Now())
	e := call.Ended{Server: "browser", Status: call.StatusOK, Times: call.Times{Total: time.Second}}
	for b.Loop() {
		n.callEnded(e)
	}
}
