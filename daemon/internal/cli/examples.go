package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples are those of the commands whose words need no more explanation, by
// their path; longer ones stand beside their command.
var examples = map[string][]string{
	"ls":               {"tenon ls", "tenon ls memory", "tenon ls memory --json"},
	"sessions":         {"tenon sessions", "tenon sessions end build"},
	"sessions end":     {"tenon sessions end build"},
	"leases":           {"tenon leases --json"},
	"release":          {"tenon release l1"},
	"restart":          {"tenon restart browser"},
	"approvals":        {"tenon approvals", "tenon approvals --watch"},
	"approve":          {"tenon approve ask_5e1f09ab", "tenon approve ask_5e1f09ab --always"},
	"deny":             {`tenon deny ask_5e1f09ab --feedback "not on the main branch"`},
	"trust":            {"tenon trust", "tenon trust ../other --yes"},
	"auth":             {"tenon auth github", "tenon auth github --device", "tenon auth status"},
	"auth login":       {"tenon auth login github"},
	"auth status":      {"tenon auth status", "tenon auth status --json"},
	"auth logout":      {"tenon auth logout github"},
	"preset":           {"tenon preset", "tenon preset use request"},
	"preset show":      {"tenon preset show", "tenon preset show request"},
	"preset use":       {"tenon preset use request"},
	"runs":             {"tenon runs --status failed --since 2h", "tenon runs --server fs --tool read_file", "tenon runs stats --since 7d"},
	"runs list":        {"tenon runs list --status failed --since 2h", "tenon runs list --live --json"},
	"runs show":        {"tenon runs show last", "tenon runs show run_01a22dad --json"},
	"runs output":      {"tenon runs output last > whole.txt", "tenon runs output last --artifact art_01a22dae > shot.png"},
	"runs rerun":       {"tenon runs rerun last"},
	"runs cancel":      {"tenon runs cancel run_01a22dad"},
	"scripts":          {"tenon scripts", "tenon scripts show report", "tenon scripts save report --run last"},
	"scripts show":     {"tenon scripts show report"},
	"resources list":   {"tenon resources list docs"},
	"prompts list":     {"tenon prompts list docs"},
	"opencode":         {"tenon opencode install", "tenon opencode status"},
	"opencode install": {"tenon opencode install", "tenon opencode install --v2"},
	"daemon":           {"tenon daemon status", "tenon daemon logs"},
	"doctor":           {"tenon doctor", "tenon doctor --json"},
}

// exemplify gives the commands below root the examples that they lack.
func exemplify(root *cobra.Command) {
	for path, lines := range examples {
		if c, rest, err := root.Find(strings.Fields(path)); err == nil && len(rest) == 0 && c.Example == "" {
			c.Example = "  " + strings.Join(lines, "\n  ")
		}
	}
}
