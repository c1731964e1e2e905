package metrics

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// read parses what a registry writes with the parser that Prometheus uses, and
// lints it with the one of promtool.
func read(t *testing.T, r *Registry) map[string]*dto.MetricFamily {
	t.Helper()
	var out bytes.Buffer
	n, err := r.WriteTo(&out)
	if err != nil || n != int64(out.Len()) {
		t.Fatalf("%d bytes of %d: %v", n, out.Len(), err)
	}
	problems, err := promlint.New(strings.NewReader(out.String())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&out)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func TestTheFormatIsPrometheusOwn(t *testing.T) {
	r := New()
	calls := r.Counters("tenon_calls_total", "Calls so far.", "server", "kind")
	calls.With(`we"ird\`+"\n", "").Add(3)
	calls.With("b", "x").Inc()
	r.Histograms("tenon_call_duration_seconds", "How long calls took.", []time.Duration{time.Millisecond, time.Second}, "server").With("b").Observe(2 * time.Millisecond)
	r.Gauge("tenon_sessions", "Sessions\nalive \\ now.", []string{"state"}, func(give func(float64, ...string)) {
		give(1, "attached")
		give(1, "attached")
		give(1, "named")
	})
	got := read(t, r)
	by := map[string]float64{}
	for _, m := range got["tenon_calls_total"].Metric {
		by[m.Label[0].GetValue()] = m.Counter.GetValue()
	}
	if by["we\"ird\\\n"] != 3 || by["b"] != 1 {
		t.Errorf("%v", by)
	}
	h := got["tenon_call_duration_seconds"].Metric[0].Histogram
	if h.GetSampleCount() != 1 || h.GetSampleSum() != 0.002 || h.Bucket[0].GetCumulativeCount() != 0 || h.Bucket[1].GetCumulativeCount() != 1 {
		t.Errorf("%v", h)
	}
	if g := got["tenon_sessions"].Metric; len(g) != 2 || g[0].Gauge.GetValue() != 2 || g[1].Gauge.GetValue() != 1 {
		t.Errorf("%v", g)
	}
	if help := got["tenon_sessions"].GetHelp(); help != "Sessions\nalive \\ now." {
		t.Errorf("%q", help)
	}
}

func TestTheProcessIsDescribedAsDashboardsExpect(t *testing.T) {
	r := New()
	r.Process(time.Now())
	got := read(t, r)
	for _, name := range []string{"go_goroutines", "process_cpu_seconds_total", "process_max_fds", "process_open_fds", "process_start_time_seconds"} {
		f := got[name]
		if f == nil || f.Metric[0].GetGauge().GetValue()+f.Metric[0].GetCounter().GetValue() <= 0 {
			t.Errorf("%s: %v", name, f)
		}
	}
}
