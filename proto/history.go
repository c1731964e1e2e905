package proto

// RunLimits are the limits that a run was asked for; what is absent was left to
// the settings.
type RunLimits struct {
	TimeoutMS      *int64 `json:"timeoutMs,omitempty"` // 0: none
	CallTimeoutMS  int64  `json:"callTimeoutMs,omitempty"`
	MaxOutputBytes int64  `json:"maxOutputBytes,omitempty"`
	MaxToolCalls   int    `json:"maxToolCalls,omitempty"`
	MemoryBytes    int64  `json:"memoryBytes,omitempty"`
}

// RunStats is GET /v1/runs/stats: what came of the calls, or runs, that history
// keeps.
type RunStats struct {
	By    string     `json:"by"`              // tool, server, script, kind
	Since string     `json:"since,omitempty"` // RFC 3339; absent: all that is kept
	Rows  []StatsRow `json:"rows"`            // most calls first
}

// StatsRow is what came of one tool, server, script or kind of failure.
type StatsRow struct {
	Name    string         `json:"name"`             // server/tool, server, script or kind; of runs without a script: empty
	Server  string         `json:"server,omitempty"` // of a tool or server
	Tool    string         `json:"tool,omitempty"`
	Count   int            `json:"count"`             // calls; runs by script
	OK      int            `json:"ok"`                // of them without a failure
	Rate    float64        `json:"rate"`              // ok / count
	Kinds   map[string]int `json:"kinds,omitempty"`   // failures by kind
	Where   map[string]int `json:"where,omitempty"`   // by kind: the tools that failed so
	P50MS   float64        `json:"p50Ms"`             // half took no longer
	P95MS   float64        `json:"p95Ms"`             // 95 % took no longer
	Repairs []Repair       `json:"repairs,omitempty"` // of a tool: what followed InvalidToolInput and worked; the commonest first
}

// Repair is how arguments were mended: the next call of the same tool in the same
// session that worked, held against the one that was refused.
type Repair struct {
	Change string `json:"change"` // in words, such as: pathh is path; head is number, was string
	Count  int    `json:"count"`
}

// MarshalJSON writes absent lists as empty arrays.
func (s RunStats) MarshalJSON() ([]byte, error) {
	type plain RunStats
	s.Rows = list(s.Rows)
	return Marshal(plain(s))
}
