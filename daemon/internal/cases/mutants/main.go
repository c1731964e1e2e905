// Command mutants proves that the cases of daemon/testdata/cases notice what
// they are about: for each it builds the program with the fault that the case's
// own note describes, runs the case on it, and demands that it fails where the
// note says. Nothing in the tree is changed: the faults are overlays of the
// build. It is test code; "make mutants" runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	top := flags.String("top", ".", "the repository's top")
	part := flags.String("case", "", "only cases whose name holds this")
	fresh := flags.Bool("fresh", false, "run also what was killed before and has not changed since")
	record := flags.Bool("record", false, "write the line that failed into notes that name none")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil // the usage is printed
	} else if err != nil {
		return err
	}
	where, err := filepath.Abs(*top)
	if err != nil {
		return err
	}
	dir := filepath.Join(where, "daemon", "testdata", "cases")
	all, unread := notes(dir, *part)
	if len(all) == 0 {
		return unread
	}
	lab, err := newLab(ctx, where)
	if err != nil {
		return err
	}
	defer lab.close()
	kept := load(filepath.Join(where, "bin", "mutants.json"), *fresh)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	survived := 0
	done := 0
	for subject := range lab.builds(ctx, all, maps.Clone(kept.Killed)) {
		began := time.Now()
		o := lab.judge(ctx, subject)
		if ctx.Err() != nil {
			break
		}
		n := subject.n
		if *record && !o.Killed && o.Line != "" && len(n.caught) == 0 {
			if written, err := n.record(dir, o.Line); err == nil {
				o, subject.key = lab.recorded(written, o)
			}
		}
		if o.Killed {
			kept.keep(subject.key, o)
		} else {
			survived++
		}
		subject.free()
		done++
		took := (subject.took + time.Since(began)).Round(time.Second).String()
		if subject.kept {
			took = "before"
		}
		fmt.Fprintf(os.Stderr, "[%d/%d] %s: %s (%s)\n", done, len(all), n.name, o, took)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", n.name, o.verdict(), took, o.Line)
	}
	if done < len(all) {
		return fmt.Errorf("stopped after %d of %d; what was killed is remembered", done, len(all))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if survived > 0 {
		return fmt.Errorf("%d of %d cases did not notice the fault of their note where they should", survived, len(all))
	}
	if unread != nil {
		return unread
	}
	fmt.Printf("%d of %d mutants killed\n", len(all), len(all))
	return nil
}
