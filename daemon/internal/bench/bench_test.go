package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == sdkServerArg {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestDirectClientAgainstTheSDKServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d, err := dialDirect(context.Background(), []string{self, sdkServerArg}, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := d.sequence(t.Context(), 3); err != nil {
		t.Error(err)
	}
	if err := d.parallel(t.Context(), 8); err != nil {
		t.Error(err)
	}
}

func TestMediansIgnoreOneSlowRound(t *testing.T) {
	if m := median([]float64{3, 1000, 2, 1, 4}); m != 3 {
		t.Errorf("median %v", m)
	}
	if s := spread([]float64{10, 10, 10, 1000, 10}); s != 0 {
		t.Errorf("spread %v", s)
	}
	if m := median(nil); m != 0 {
		t.Errorf("median of nothing %v", m)
	}
}

func TestReportComparesWithTheBaseOfTheSameRun(t *testing.T) {
	got := samples{}
	for _, g := range goals {
		if have, ok := got[g.probe]; !ok || g.target < have[0] { // one probe may serve two goals
			got[g.probe] = []float64{g.target}
		}
		if g.base != "" {
			got[g.base] = []float64{1}
		}
	}
	got["parallel sdk"] = []float64{2}
	r := summarise(got, 1)
	var missed []string
	for _, row := range r.Rows {
		if !row.Reached {
			missed = append(missed, row.Name)
		}
	}
	if len(missed) != 1 || missed[0] != "50 calls in parallel, go-sdk server" {
		t.Errorf("missed: %q", missed)
	}
	var out bytes.Buffer
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != len(goals)+3 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}

func TestRoundsAreInterleavedAndTheFirstIsThrownAway(t *testing.T) {
	var order []string
	take := func(name string) probe {
		return probe{name, func(context.Context) (float64, error) {
			order = append(order, name)
			return float64(len(order)), nil
		}}
	}
	got, err := takeAll(t.Context(), []probe{take("a"), take("b")}, 2, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(order, "") != "ababab" || len(got["a"]) != 2 || got["a"][0] != 3 {
		t.Errorf("%v %v", order, got)
	}
}

// TestOneRoundMeasuresEveryGoal runs the whole benchmark once on the binary as
// it is shipped. Bounds are far beyond any machine: what is tested is that
// every path works and is measured, not how fast it is.
func TestOneRoundMeasuresEveryGoal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is read from /proc, which only Linux has")
	}
	tenon := filepath.Join(t.TempDir(), "tenon")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", tenon, "tenon/daemon/cmd/tenon")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	r, err := measure(t.Context(), tenon, 1, 0, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.Value == 0 {
			t.Errorf("%s was not measured", row.Name)
		}
		if row.Ratio > 50 || row.Base == "" && row.Value > 100*row.Target {
			t.Errorf("%s: %v %s, ratio %v", row.Name, row.Value, row.Unit, row.Ratio)
		}
	}
}
