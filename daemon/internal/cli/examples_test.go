package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Whoever asks for the help of a command that takes words sees how they are
// written.
func TestCommandsWithArgumentsHaveExamples(t *testing.T) {
	root := (&app{}).root()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		takes := c.Use != c.Name() || c.HasLocalFlags() && c.RunE != nil && !c.HasSubCommands()
		if takes && !c.Hidden && c.Example == "" && c.HasParent() && c.Parent().Name() != "daemon" && c.Parent().Name() != "opencode" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk(root)
	for path := range examples {
		if c, rest, err := root.Find(strings.Fields(path)); err != nil || len(rest) > 0 || c.Example == "" {
			t.Errorf("examples of %s, which is no command", path)
		}
	}
}

// A flag that says itself what it takes is not talked over.
func TestATimeThatIsNoneIsToldWhatItLooksLike(t *testing.T) {
	p := newPlace(t, nil)
	if got := p.run("runs", "--since", "2x"); got.code != 2 || !strings.Contains(got.err, "such as 2h, 7d") {
		t.Errorf("%+v", got)
	}
}
