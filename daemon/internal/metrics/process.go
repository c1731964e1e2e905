package metrics

import (
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"
)

// Process declares the numbers of the Go runtime and of this process, under the
// names that dashboards know. Those that the system does not tell are left out.
func (r *Registry) Process(started time.Time) {
	r.Gauge("go_goroutines", "Goroutines that exist.", nil, func(give func(float64, ...string)) {
		give(float64(runtime.NumGoroutine()))
	})
	r.Gauge("go_threads", "Threads that the runtime made and did not end.", nil, func(give func(float64, ...string)) {
		n, _ := runtime.ThreadCreateProfile(nil)
		give(float64(n))
	})
	r.Gauge("go_info", "The version of Go that this was built with.", []string{"version"}, func(give func(float64, ...string)) {
		give(1, runtime.Version())
	})
	runtimeNumbers(r)
	r.Gauge("process_start_time_seconds", "When this process began, in seconds since 1970.", nil, func(give func(float64, ...string)) {
		give(float64(started.UnixMilli()) / 1000)
	})
	r.Total("process_cpu_seconds_total", "Processor time of this process, without its children.", nil, func(give func(float64, ...string)) {
		var u syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
			give(seconds(u.Utime) + seconds(u.Stime))
		}
	})
	r.Gauge("process_max_fds", "File descriptors that this process may have.", nil, func(give func(float64, ...string)) {
		var l syscall.Rlimit
		if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
			give(float64(l.Cur))
		}
	})
	r.Gauge("process_open_fds", "File descriptors that this process has.", nil, func(give func(float64, ...string)) {
		if n, ok := OpenFiles(); ok {
			give(float64(n))
		}
	})
	r.Gauge("process_resident_memory_bytes", "Memory of this process that is in RAM.", nil, func(give func(float64, ...string)) {
		if n, ok := residentBytes(); ok {
			give(float64(n))
		}
	})
	r.Gauge("process_virtual_memory_bytes", "Address space of this process.", nil, func(give func(float64, ...string)) {
		if n, ok := virtualBytes(); ok {
			give(float64(n))
		}
	})
}

func seconds(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e9 }

// runtimeNumbers are those of package runtime/metrics: reading them does not
// stop the world, as runtime.ReadMemStats does.
func runtimeNumbers(r *Registry) {
	for _, m := range []struct{ name, help, source string }{
		{"go_memstats_heap_alloc_bytes", "Bytes of objects on the heap.", "/memory/classes/heap/objects:bytes"},
		{"go_memstats_heap_released_bytes", "Bytes given back to the system.", "/memory/classes/heap/released:bytes"},
		{"go_memstats_sys_bytes", "Bytes taken from the system.", "/memory/classes/total:bytes"},
		{"go_memstats_heap_objects", "Objects on the heap.", "/gc/heap/objects:objects"},
		{"go_gc_cycles", "Garbage collections so far.", "/gc/cycles/total:gc-cycles"},
		{"go_memstats_alloc_bytes", "Bytes allocated so far.", "/gc/heap/allocs:bytes"},
	} {
		read := func(give func(float64, ...string)) {
			sample := []metrics.Sample{{Name: m.source}}
			metrics.Read(sample)
			if sample[0].Value.Kind() == metrics.KindUint64 {
				give(float64(sample[0].Value.Uint64()))
			}
		}
		if m.name == "go_gc_cycles" || m.name == "go_memstats_alloc_bytes" {
			r.Total(m.name+"_total", m.help, nil, read)
			continue
		}
		r.Gauge(m.name, m.help, nil, read)
	}
}
