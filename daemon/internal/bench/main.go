// Command bench measures tenon against the direct way in one run: a go-sdk
// client on the server's stdio, and the least that a Go command line with a
// warm Go daemon costs. Ratios are what counts: absolute numbers belong to the
// machine. Usage: bench --tenon bin/tenon [--rounds 15] [--json]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
)

// sdkServerArg makes this program the go-sdk server that is measured against.
const sdkServerArg = "sdk-server"

func main() {
	if len(os.Args) == 2 && os.Args[1] == sdkServerArg {
		if err := sdkServer(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	tenon := flag.String("tenon", "bin/tenon", "the binary to measure, as it is shipped")
	rounds := flag.Int("rounds", 15, "interleaved rounds; medians are reported")
	asJSON := flag.Bool("json", false, "one JSON document instead of the table")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var say io.Writer = io.Discard
	if st, err := os.Stderr.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		say = os.Stderr
	}
	report, err := measure(ctx, *tenon, *rounds, restFor, say)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(report)
	} else {
		err = report.print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// Report is what one run of the benchmark found.
type Report struct {
	OS     string `json:"os"`
	CPUs   int    `json:"cpus"`
	Go     string `json:"go"`
	Rounds int    `json:"rounds"`
	Rows   []Row  `json:"rows"`
}

// Row is one measured path. Values are medians.
type Row struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Base     string  `json:"base,omitempty"`      // what it is compared with
	BaseIs   float64 `json:"baseValue,omitempty"` // in the same unit
	Ratio    float64 `json:"ratio,omitempty"`
	Target   float64 `json:"target"` // upper bound of the ratio, or of the value where there is no base
	Reached  bool    `json:"reached"`
	Loudness float64 `json:"spread"` // (p75 − p25) ÷ median: how quiet the machine was
}

func newReport(rounds int) *Report {
	return &Report{OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Rounds: rounds}
}
