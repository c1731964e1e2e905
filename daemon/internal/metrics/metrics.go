// Package metrics counts what happens and writes the numbers in the text format
// of Prometheus. It knows the format, the Go runtime and this process, and
// nothing of what is counted. Counting costs no lock and no allocation once a
// series is there; every label has a bounded set of values (see Names).
//
// It is a package of ours because the usual client library costs every start of
// the program 6 ms of processor time, and each command line is such a start.
package metrics

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// ContentType is that of what WriteTo writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// The types of the format.
const (
	counterType   = "counter"
	gaugeType     = "gauge"
	histogramType = "histogram"
)

// Registry is a set of metrics. It is safe for concurrent use once its metrics
// are declared. Declaring a name twice, or one that the format does not know, is
// a mistake of the program and panics.
type Registry struct {
	mu       sync.Mutex
	families map[string]*family // guarded by mu
}

// New makes an empty registry.
func New() *Registry { return &Registry{families: map[string]*family{}} }

// family is one metric with all its series.
type family struct {
	name, kind, help string
	labels           []string
	collect          func(emit emitter) // called at each scrape
}

// emitter takes one series: a suffix of the name, more labels, a value.
type emitter func(suffix string, values []string, le string, value float64)

func (r *Registry) add(f *family) {
	if f.name == "" || f.help == "" || strings.ToLower(f.name) != f.name {
		panic(fmt.Sprintf("metric %q has no name or help as they should be", f.name))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.families[f.name] != nil {
		panic(fmt.Sprintf("metric %s is declared twice", f.name))
	}
	r.families[f.name] = f
}

// Gauge declares numbers that are looked up at each scrape: read gives each with
// the values of the labels. It must not block for long.
func (r *Registry) Gauge(name, help string, labels []string, read func(give func(value float64, values ...string))) {
	r.looked(gaugeType, name, help, labels, read)
}

// Total is Gauge for what only grows and is counted elsewhere.
func (r *Registry) Total(name, help string, labels []string, read func(give func(value float64, values ...string))) {
	r.looked(counterType, name, help, labels, read)
}

func (r *Registry) looked(kind, name, help string, labels []string, read func(give func(value float64, values ...string))) {
	r.add(&family{name: name, kind: kind, help: help, labels: labels, collect: func(emit emitter) {
		// What falls together, because a label was bounded, is one series.
		sums := map[string]float64{}
		given := map[string][]string{}
		read(func(value float64, values ...string) {
			key := strings.Join(values, "\x00")
			sums[key] += value
			given[key] = values
		})
		for key, value := range sums {
			emit("", given[key], "", value)
		}
	}})
}

// ServeHTTP writes the numbers.
func (r *Registry) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var out bytes.Buffer
	_, _ = r.WriteTo(&out) // a buffer takes everything
	w.Header().Set("Content-Type", ContentType)
	w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	_, _ = w.Write(out.Bytes()) // the peer may be gone
}

// WriteTo writes every metric, sorted by name and labels. Metrics without a
// series are left out.
func (r *Registry) WriteTo(w io.Writer) (int64, error) {
	r.mu.Lock()
	families := make([]*family, 0, len(r.families))
	for _, f := range r.families {
		families = append(families, f)
	}
	r.mu.Unlock()
	sort.Slice(families, func(i, j int) bool { return families[i].name < families[j].name })
	counted := &counting{w: w}
	b := bufio.NewWriter(counted)
	for _, f := range families {
		f.write(b)
	}
	err := b.Flush()
	return counted.n, err
}

// counting counts what passes.
type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// write writes a family as the format has it; errors stay in b.
func (f *family) write(b *bufio.Writer) {
	type series struct {
		order []string
		lines []string
	}
	var all []series
	f.collect(func(suffix string, values []string, le string, value float64) {
		line := f.name + suffix + f.labelled(values, le) + " " + number(value) + "\n"
		// The lines of one histogram come one after the other and stay together.
		if n := len(all); suffix != "" && n > 0 && equal(all[n-1].order, values) {
			all[n-1].lines = append(all[n-1].lines, line)
			return
		}
		all = append(all, series{append([]string(nil), values...), []string{line}})
	})
	if len(all) == 0 {
		return
	}
	sort.SliceStable(all, func(i, j int) bool {
		return strings.Join(all[i].order, "\x00") < strings.Join(all[j].order, "\x00")
	})
	_, _ = fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", f.name, helpEscapes.Replace(f.help), f.name, f.kind)
	for _, s := range all {
		for _, line := range s.lines {
			_, _ = b.WriteString(line)
		}
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// labelled is {name="value",…}, or nothing.
func (f *family) labelled(values []string, le string) string {
	var parts []string
	for i, name := range f.labels {
		parts = append(parts, name+`="`+labelEscapes.Replace(strings.ToValidUTF8(values[i], "\uFFFD"))+`"`)
	}
	if le != "" {
		parts = append(parts, `le="`+le+`"`)
	}
	if parts == nil {
		return ""
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
