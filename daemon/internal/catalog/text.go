package catalog

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"crypto/sha256"

	"tenon/proto"
)

// DefaultBudget is what a catalogue may cost when nobody says otherwise, in tokens.
const DefaultBudget = 2000

// row is one tool that may get a line of the catalogue.
type row struct {
	tool      *Tool
	line      string
	cost      int
	about     string // what follows the line when the budget allows
	aboutCost int
	pinned    bool
	shown     bool
	told      bool // about is shown too
}

// space is one namespace of the catalogue.
type space struct {
	entry Entry
	rows  []*row
	cost  int  // of all lines
	also  bool // entry.Also is shown
}

// Whole is the catalogue of a view within a budget of tokens (0: DefaultBudget).
// Every namespace is named with its number of tools, whatever the budget; then
// come the signatures of pinned tools, then what servers offer besides tools,
// then the signatures of the namespaces that need least, then first lines of
// descriptions.
func Whole(entries []Entry, budget int) *proto.Catalog {
	if budget <= 0 {
		budget = DefaultBudget
	}
	spaces := spacesOf(entries)
	out := &proto.Catalog{Fingerprint: Fingerprint(entries)}
	for _, s := range spaces {
		out.Total += len(s.rows)
	}
	left := budget - Tokens(header) - exampleTokens - Tokens(footer)
	for _, s := range spaces {
		left -= Tokens(headline(s))
	}
	choose(spaces, left)
	for _, s := range spaces {
		for _, r := range s.rows {
			if r.shown {
				out.Shown++
			}
		}
	}
	out.Partial = out.Shown < out.Total
	out.Text = write(spaces, out)
	out.Tokens = Tokens(out.Text)
	return out
}

// Fingerprint is the digest of everything a catalogue says or could say.
func Fingerprint(entries []Entry) string {
	sum := sha256.New()
	for _, e := range entries {
		list := "-"
		if e.List != nil {
			list = e.List.Fingerprint
		}
		fmt.Fprintf(sum, "%q %q %q %q %q\n", e.Server, e.Namespace, list, e.Pinned, e.Also)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func spacesOf(entries []Entry) []*space {
	out := make([]*space, 0, len(entries))
	for _, e := range entries {
		s := &space{entry: e}
		if e.List != nil {
			for _, t := range e.List.Tools {
				r := &row{tool: t, line: "\n  " + t.Short(), pinned: slices.Contains(e.Pinned, t.Name) || slices.Contains(e.Pinned, t.Ident)}
				r.cost = Tokens(r.line)
				if about := brief(t.Description); about != "" {
					r.about = " // " + about
					r.aboutCost = Tokens(r.about)
				}
				s.rows, s.cost = append(s.rows, r), s.cost+r.cost
			}
		}
		out = append(out, s)
	}
	return out
}

// choose spends the budget.
func choose(spaces []*space, left int) {
	spend := func(r *row) {
		if !r.shown && r.cost <= left {
			r.shown = true
			left -= r.cost
		}
	}
	for _, s := range spaces {
		for _, r := range s.rows {
			if r.pinned {
				spend(r)
			}
		}
	}
	for _, s := range spaces {
		if cost := Tokens(s.entry.Also); cost > 0 && cost <= left {
			s.also = true
			left -= cost
		}
	}
	cheapest := slices.Clone(spaces)
	slices.SortStableFunc(cheapest, func(a, b *space) int { return cmp.Compare(a.cost, b.cost) })
	for _, s := range cheapest {
		for _, r := range s.rows {
			spend(r)
		}
	}
	for _, s := range cheapest {
		for _, r := range s.rows {
			if r.shown && r.aboutCost <= left {
				r.told = true
				left -= r.aboutCost
			}
		}
	}
}

const (
	header = "MCP tools. Their names live inside programs (tenon_exec), never as tools of their own; each returns a promise. Example: "
	footer = "\nOnly 1000 of 1000 tools are shown. Inside a program search(\"words\") finds the others and describe(\"ns.tool\") explains one.\n"
)

func write(spaces []*space, c *proto.Catalog) string {
	var b strings.Builder
	b.WriteString(header)
	fmt.Fprintf(&b, "`%s`", example(spaces))
	for _, s := range spaces {
		b.WriteString(headline(s))
		if s.also {
			b.WriteString(s.entry.Also)
		}
		for _, r := range s.rows {
			if r.shown {
				b.WriteString(r.line)
			}
			if r.told {
				b.WriteString(r.about)
			}
		}
	}
	if c.Partial {
		fmt.Fprintf(&b, "\nOnly %d of %d tools are shown. Inside a program search(\"words\") finds the others and describe(\"ns.tool\") explains one.", c.Shown, c.Total)
	}
	b.WriteByte('\n')
	return b.String()
}

// headline names a namespace and how many tools it has.
func headline(s *space) string {
	name := "\ntools." + s.entry.Namespace
	switch {
	case s.entry.List == nil:
		return name + ": not listed yet"
	case len(s.rows) == 1:
		return name + ": 1 tool"
	}
	return fmt.Sprintf("%s: %d tools", name, len(s.rows))
}

// example is one call as a program makes it, the shortest of a tool that is
// shown and needs something.
func example(spaces []*space) string {
	best := ""
	for _, s := range spaces {
		for _, r := range s.rows {
			if !r.shown {
				continue
			}
			if call, needed := r.tool.example(s.entry.Namespace); needed > 0 && (best == "" || len(call) < len(best)) {
				best = call
			}
		}
	}
	if best == "" || len(best) > 4*exampleTokens {
		return "await tools.<namespace>.<tool>({ … })"
	}
	return best
}

// exampleTokens is what the example may cost.
const exampleTokens = 30
