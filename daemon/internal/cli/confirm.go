package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"tenon/daemon/internal/fault"
)

// canAsk is whether somebody sees questions here and can type an answer.
func (a *app) canAsk() bool { return a.inTerminal && a.errTerminal }

// confirm asks a question that only a yes agrees to; the end of the input is a
// no. The user's interrupt is Cancelled.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(a.Err, "%s [y/N] ", clean(question))
	answer := make(chan string, 1)
	go func() { // reading ends with the line, or with this process
		line, _ := bufio.NewReader(a.In).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		word := strings.ToLower(strings.TrimSpace(line))
		return word == "y" || word == "yes", nil
	case <-ctx.Done():
		return false, fault.New(fault.Cancelled, "cancelled")
	}
}
