package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"tenon/daemon/internal/rig"
)

// check looks at one place of a JSON document.
type check struct {
	path     string
	op       string
	want     string
	variable string // "=> NAME": the value is kept, not compared
	captured string
}

func parseCheck(words []string) (*check, error) {
	switch {
	case len(words) == 2 && (words[1] == "exists" || words[1] == "absent"):
		return &check{path: words[0], op: words[1]}, nil
	case len(words) == 3 && words[1] == "=>":
		return &check{path: words[0], op: "=>", variable: words[2]}, nil
	case len(words) == 3:
		return &check{path: words[0], op: words[1], want: words[2]}, nil
	}
	return nil, fmt.Errorf("a check is PATH OP VALUE, PATH exists, PATH absent or PATH => NAME, not %q", words)
}

func (c *check) judge(document []byte) error {
	var root any
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		return fmt.Errorf("output is not JSON (%v): %s", err, rig.Tail(document, 300))
	}
	if d.More() {
		return fmt.Errorf("output is more than one JSON document: %s", rig.Tail(document, 300))
	}
	got, found, err := look(root, c.path)
	if err != nil {
		return err
	}
	switch {
	case c.op == "absent" && found && got != nil:
		return fmt.Errorf("%s is %s, want nothing there", c.path, show(got))
	case c.op == "absent":
		return nil
	case !found:
		return fmt.Errorf("nothing at %s of %s", c.path, rig.Tail(document, 600))
	case c.op == "exists":
		return nil
	case c.op == "=>":
		c.captured = show(got)
		return nil
	}
	ok, err := compare(got, c.op, c.want)
	if err == nil && !ok {
		err = fmt.Errorf("%s is %s, want %s %s", c.path, show(got), c.op, c.want)
	}
	return err
}

// compare applies ==, !=, <, <=, >, >= (numbers), ~ and !~ (regular
// expressions over the value's text).
func compare(got any, op, want string) (bool, error) {
	switch op {
	case "==", "!=":
		return equal(got, want) == (op == "=="), nil
	case "~", "!~":
		re, err := regexp.Compile(want)
		if err != nil {
			return false, err
		}
		return re.MatchString(show(got)) == (op == "~"), nil
	}
	a, err := strconv.ParseFloat(show(got), 64)
	if err != nil {
		return false, fmt.Errorf("%s is not a number", show(got))
	}
	b, err := strconv.ParseFloat(want, 64)
	if err != nil {
		return false, fmt.Errorf("%s is not a number", want)
	}
	switch op {
	case "<":
		return a < b, nil
	case "<=":
		return a <= b, nil
	case ">":
		return a > b, nil
	case ">=":
		return a >= b, nil
	}
	return false, fmt.Errorf("unknown comparison %q", op)
}

// equal compares as JSON when want is JSON, else as text.
func equal(got any, want string) bool {
	if text, ok := got.(string); ok && text == want {
		return true
	}
	var w any
	d := json.NewDecoder(strings.NewReader(want))
	d.UseNumber()
	if d.Decode(&w) != nil {
		return false
	}
	return reflect.DeepEqual(got, w)
}

// show writes a value as a person would: strings bare, the rest as JSON.
func show(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// step is one part of a path: .name, [3], [-1], [*] or [name=value].
var step = regexp.MustCompile(`^(?:\.([A-Za-z0-9_$-]+)|\[(-?\d+)\]|\[(\*)\]|\[([A-Za-z0-9_.-]+)=([^\]]*)\])`)

// look follows a path from root. ".length" counts members, elements or
// characters where no member has that name, ".distinct" counts different
// elements, "[*]" goes on with each element, "[name=value]" keeps the elements
// whose member is value. "." alone is the whole document.
func look(root any, path string) (value any, found bool, err error) {
	at, rest := root, path
	if rest == "." {
		rest = ""
	}
	for rest != "" {
		m := step.FindStringSubmatch(rest)
		if m == nil {
			return nil, false, fmt.Errorf("cannot read the path %q at %q", path, rest)
		}
		rest = rest[len(m[0]):]
		switch {
		case m[1] != "":
			at, found = member(at, m[1])
			if !found {
				return nil, false, nil
			}
		case m[2] != "":
			list, _ := at.([]any)
			i, _ := strconv.Atoi(m[2])
			if i < 0 {
				i += len(list)
			}
			if i < 0 || i >= len(list) {
				return nil, false, nil
			}
			at = list[i]
		case m[3] != "":
			return each(at, rest)
		default:
			list, _ := at.([]any)
			kept := []any{}
			for _, e := range list {
				if v, ok := member(e, m[4]); ok && show(v) == m[5] {
					kept = append(kept, e)
				}
			}
			at = kept
		}
	}
	return at, true, nil
}

// each applies the rest of a path to every element; a trailing .length or
// .distinct belongs to the whole.
func each(at any, rest string) (any, bool, error) {
	list, ok := at.([]any)
	if !ok {
		return nil, false, nil
	}
	whole := ""
	for _, suffix := range []string{".length", ".distinct"} {
		if cut, ok := strings.CutSuffix(rest, suffix); ok {
			rest, whole = cut, suffix[1:]
		}
	}
	out := []any{}
	for _, e := range list {
		v, found, err := look(e, rest)
		if err != nil {
			return nil, false, err
		}
		if found {
			out = append(out, v)
		}
	}
	if whole == "" {
		return out, true, nil
	}
	v, found := member(out, whole)
	return v, found, nil
}

func member(v any, name string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if m, ok := v[name]; ok {
			return m, true
		}
		if name == "length" {
			return json.Number(strconv.Itoa(len(v))), true
		}
	case []any:
		switch name {
		case "length":
			return json.Number(strconv.Itoa(len(v))), true
		case "distinct":
			seen := map[string]bool{}
			for _, e := range v {
				seen[show(e)] = true
			}
			return json.Number(strconv.Itoa(len(seen))), true
		}
	case string:
		if name == "length" {
			return json.Number(strconv.Itoa(len([]rune(v)))), true
		}
	case nil:
		if name == "length" { // an empty list written as null
			return json.Number("0"), true
		}
	}
	return nil, false
}
