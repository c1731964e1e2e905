package upstream

import (
	"strconv"
	"sync/atomic"
	"testing"
)

// deaf counts what it is told.
type deaf struct{ logs, notices atomic.Int64 }

func (d *deaf) ToolsChanged()            {}
func (d *deaf) Noise(string)             {}
func (d *deaf) Stderr(string)            {}
func (d *deaf) ServerLog(string, string) { d.logs.Add(1) }
func (d *deaf) Noticed(Notice)           { d.notices.Add(1) }

// BenchmarkLogMessages is what a server's log message costs: those within the bound,
// and those beyond it.
func BenchmarkLogMessages(b *testing.B) {
	line := func(i int) []byte {
		return []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"app","data":"request ` + strconv.Itoa(i) + ` took 12 ms and returned 200"}}`)
	}
	for _, within := range []bool{true, false} {
		b.Run(map[bool]string{true: "within", false: "beyond"}[within], func(b *testing.B) {
			s := stdioSpec(b)
			s.Observer = &deaf{}
			s.Secrets = []string{"a-secret-of-the-environment"}
			c := dial(b, s)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if within {
					c.flood.mu.Lock()
					c.flood.taken = 0
					c.flood.mu.Unlock()
				}
				c.receive(line(n), false, 0)
			}
		})
	}
}
