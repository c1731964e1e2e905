package config

import (
	"fmt"
	"slices"
	"strings"
)

// check holds a document of our own shape against the reference: unknown keys,
// wrong types, values outside a closed list. It returns the first mistake.
func check(doc *node) error {
	if doc.kind != objectNode {
		return badAt(doc, "the document must be an object, not a %s", doc.kind)
	}
	return checkBelow(doc, "", "")
}

// checkBelow checks the members of n, whose key is path (with * for names) and
// whose written name is shown.
func checkBelow(n *node, path, shown string) error {
	for _, m := range n.members {
		childPath, childShown := joinKey(path, m.name), joinKey(shown, m.name)
		key, ok := keyAt(childPath)
		if !ok {
			return unknownKey(m, path, shown)
		}
		if err := checkValue(m.value, key, childShown); err != nil {
			return err
		}
	}
	return nil
}

func joinKey(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func checkValue(n *node, key *Key, shown string) error {
	switch key.Type {
	case TypeOAuth:
		return checkOAuth(n, key, shown)
	case TypeSection:
		if n.kind != objectNode {
			return wrongType(n, key, shown)
		}
		return checkBelow(n, key.Path, shown)
	case TypeNamed:
		if n.kind != objectNode {
			return wrongType(n, key, shown)
		}
		entry, _ := keyAt(key.Path + ".*")
		for _, m := range n.members {
			if err := checkValue(m.value, entry, joinKey(shown, m.name)); err != nil {
				return err
			}
		}
		return nil
	}
	return checkScalar(n, key, shown)
}

func checkScalar(n *node, key *Key, shown string) error {
	switch key.Type {
	case TypeString:
		if n.kind != stringNode {
			return wrongType(n, key, shown)
		}
		return checkListed(n, key, shown)
	case TypeHook:
		return checkHook(n, key, shown)
	case TypeStrings, TypeCommand:
		if n.kind == stringNode && key.Type == TypeCommand {
			return nil
		}
		if _, ok := n.strings(); !ok {
			return wrongType(n, key, shown)
		}
		for _, item := range n.items {
			if err := checkListed(item, key, shown); err != nil {
				return err
			}
			if key.Check == nil {
				continue
			}
			if err := key.Check(item.text); err != nil {
				return badAt(item, "%s: %s", shown, err)
			}
		}
	case TypeMap:
		if n.kind != objectNode {
			return wrongType(n, key, shown)
		}
		for _, m := range n.members {
			if m.value.kind != stringNode {
				return badAt(m.value, "%s.%s must be a string, not a %s; put it in quotes", shown, m.name, m.value.kind)
			}
		}
	case TypeDuration:
		if n.kind == numberNode {
			return &placed{at: n.at, message: fmt.Sprintf("%s has no unit: durations are strings", shown),
				hint: fmt.Sprintf("write %q for seconds or %q for milliseconds", n.text+"s", n.text+"ms")}
		}
		if n.kind != stringNode {
			return wrongType(n, key, shown)
		}
		if _, err := ParseDuration(n.text); err != nil {
			return badAt(n, "%s: %s", shown, err)
		}
	case TypeSize:
		if n.kind != stringNode && n.kind != numberNode {
			return wrongType(n, key, shown)
		}
		if _, err := ParseSize(n.text); err != nil {
			return badAt(n, "%s: %s", shown, err)
		}
		if key.Check != nil {
			if err := key.Check(n.text); err != nil {
				return badAt(n, "%s: %s", shown, err)
			}
		}
	case TypeCount:
		if i, ok := n.integer(); !ok || i < 0 || i > 1<<20 {
			return badAt(n, "%s must be a whole number from 0 to %d", shown, 1<<20)
		}
	case TypeCounts:
		if n.kind != arrayNode {
			return wrongType(n, key, shown)
		}
		for _, item := range n.items {
			if i, ok := item.integer(); !ok || i < 0 || i > 255 {
				return badAt(item, "%s: an exit code is a whole number from 0 to 255", shown)
			}
		}
	case TypeBool:
		if n.kind != boolNode {
			return wrongType(n, key, shown)
		}
	case TypeForeign:
		if n.kind != objectNode {
			return wrongType(n, key, shown)
		}
	}
	return nil
}

func checkListed(n *node, key *Key, shown string) error {
	if len(key.Values) == 0 || slices.Contains(key.Values, n.text) {
		return nil
	}
	p := badAt(n, "%s: %q is none of %s", shown, n.text, strings.Join(key.Values, ", "))
	if near := nearest(n.text, key.Values); near != "" {
		p.hint = fmt.Sprintf("did you mean %q?", near)
	}
	return p
}

func wrongType(n *node, key *Key, shown string) error {
	return badAt(n, "%s must be a %s, not a %s", shown, key.Type, n.kind)
}

func unknownKey(m member, path, shown string) error {
	where := ""
	if shown != "" {
		where = " in " + shown
	}
	p := &placed{at: m.at, message: fmt.Sprintf("unknown key %q%s", m.name, where)}
	known := below(path)
	if near := nearest(m.name, known); near != "" {
		p.message += fmt.Sprintf("; the nearest known key is %q", near)
		return p
	}
	p.hint = "known keys here: " + strings.Join(known, ", ")
	return p
}

// nearest returns the candidate with the fewest edits from name, compared
// without case, or "" when even the best one differs in most of its letters.
func nearest(name string, candidates []string) string {
	best, bestDistance := "", len(name)/2+2
	for _, c := range candidates {
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is Levenshtein's: insertions, deletions and replacements of bytes.
func distance(a, b string) int {
	const longest = 64 // longer names are not misspelt keys
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
