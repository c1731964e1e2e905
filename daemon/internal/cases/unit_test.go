package cases

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"tenon/daemon/internal/rig"
)

// overlayEnv names an overlay of "go build", with which unit tests are built.
const overlayEnv = "TENON_CASES_OVERLAY"

// unitBound is far above what one package needs to be built and tested.
const unitBound = 5 * time.Minute

// unitVerb runs tests of one package, for what no case can show on this system.
// They must exist: a pattern that matches none is no success.
func unitVerb(s *scene, p *plan, _ []byte) (outcome, error) {
	if len(p.words) != 2 {
		return outcome{}, usage("unit ./PACKAGE TESTS")
	}
	ctx, cancel := context.WithTimeout(context.Background(), unitBound)
	defer cancel()
	args := []string{"test", "-run", p.words[1], "-v"}
	if overlay := os.Getenv(overlayEnv); overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, p.words[0])...)
	cmd.Dir = s.Get("TOP") // with our own environment: the case's has no build cache
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	o := outcome{Stdout: out.Bytes(), Code: cmd.ProcessState.ExitCode(), Took: time.Since(start)}
	switch {
	case ctx.Err() != nil:
		return o, fmt.Errorf("hung for %s", unitBound)
	case cmd.ProcessState == nil:
		return o, err
	case err != nil:
		o.Stderr = rig.Tail(out.Bytes(), 600)
	case !bytes.Contains(out.Bytes(), []byte("--- PASS")):
		return rig.No("no test of %s matches %s", p.words[0], p.words[1]), nil
	}
	return o, nil
}
